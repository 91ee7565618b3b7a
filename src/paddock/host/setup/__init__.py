"""Preparing a shared host once, as root: what to change, doing it, and taking it back."""
