"""The kernel's walls, as the files they are: cgroups v1 and v2. Decides nothing, knows no run."""
