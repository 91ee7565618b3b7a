"""What a cluster is told before agents run on it: manifests, rendered, checked, never by hand."""
