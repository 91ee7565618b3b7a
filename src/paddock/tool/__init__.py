"""Walls for single commands of an agent, and host-wide leases for heavy ones."""
