"""REMEMBER: the fleet in SQLite, one transaction a step. Does not decide what to keep."""
