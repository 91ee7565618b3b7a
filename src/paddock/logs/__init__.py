"""What agents say: capture, rotate, follow, search. Does not interpret it."""
