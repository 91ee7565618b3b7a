"""Which isolation this host can give, what is missing for more, and whether it holds."""
