"""Kubernetes as a lab's scheduler, over real servers or a stand-in for them."""
