"""paddock: runs as many coding agents as a machine can safely hold, and never loses the machine."""

__version__ = "0.1.0"
