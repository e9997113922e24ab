"""Each test runs on every cluster that this machine has."""

from support.backendai.clusters import cluster, stand_in

__all__ = ["cluster", "stand_in"]
