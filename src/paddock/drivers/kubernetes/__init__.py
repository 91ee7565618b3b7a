"""Agents as pods of a cluster. Leaves placement to the cluster's own scheduler."""
