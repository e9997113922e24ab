"""Clusters for the tests of the stand-in."""

from support.backendai.clusters import cluster, stand_in

__all__ = ["cluster", "stand_in"]
