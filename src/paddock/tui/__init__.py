"""The terminal dashboard, one file a screen. Knows only the client."""
