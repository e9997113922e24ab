"""Targets from the API server of a Kubernetes cluster."""
