"""A Kubernetes cluster as paddock speaks to it: client, watches, quotas, tiers. Knows no run."""
