"""Prometheus-compatible servers as the source of the fleet's state, and as the store of what we see."""
