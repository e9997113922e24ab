"""Clusters whose nodes are watched."""

from support.kubernetes.fixtures import cluster, real_servers, stand_in

__all__ = ["cluster", "real_servers", "stand_in"]
