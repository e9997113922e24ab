"""Each test runs on every cluster that this machine has."""

from support.backendai.clusters import cluster, real_servers, stand_in

__all__ = ["cluster", "real_servers", "stand_in"]
