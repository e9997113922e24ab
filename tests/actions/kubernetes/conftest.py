"""Clusters for the tests of the action."""

from support.kubernetes.fixtures import bare_stand_in, cluster, real_servers, stand_in

__all__ = ["bare_stand_in", "cluster", "real_servers", "stand_in"]
