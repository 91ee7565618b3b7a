"""Reading and preparing the machine: memory, PSI, swap, cgroup roots. Does not watch agents."""
