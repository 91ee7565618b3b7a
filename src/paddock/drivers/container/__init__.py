"""Agents in podman, docker or Apple containers. Does not build images."""
