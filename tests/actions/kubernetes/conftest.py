"""Clusters for the tests of the action."""

from support.kubernetes.fixtures import cluster, real_servers, stand_in

__all__ = ["cluster", "real_servers", "stand_in"]
