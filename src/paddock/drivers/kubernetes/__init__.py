"""Attempts as Jobs of a Kubernetes cluster. Which node they live on is the cluster's business."""
