"""The simulator: pretend agents on a virtual clock, scheduled by the very code of the daemon."""
