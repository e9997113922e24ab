"""Scenarios that run on the cluster, and the observations that each phase waits for."""
