"""The browser dashboard: a process of its own, and a client of the API like any other."""
