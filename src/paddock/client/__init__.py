"""The typed Python client of the API, for the screens and for scripts."""
