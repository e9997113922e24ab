"""The API of a Kubernetes cluster: where it is, requests to it, and copies of its collections."""
