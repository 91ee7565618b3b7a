"""ACT: where an attempt lives, one room a driver. Drivers do not decide, nor know each other."""
