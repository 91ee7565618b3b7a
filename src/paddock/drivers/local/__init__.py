"""Agents as processes of this machine, under its own walls. Does not schedule."""
