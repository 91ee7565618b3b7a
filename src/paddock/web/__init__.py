"""The browser dashboard: a process of its own that knows only the client."""
