"""Clusters for the tests of the stand-in."""

from support.backendai.clusters import cluster, real_servers, stand_in

__all__ = ["cluster", "real_servers", "stand_in"]
