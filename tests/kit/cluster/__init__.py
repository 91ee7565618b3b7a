"""A stand-in of the Kubernetes API: ours, over real HTTP on loopback, as strict as we need it."""
