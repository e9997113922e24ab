"""Sinks and their receivers share one loop, on which only waiting takes time."""

from support.kubernetes.fixtures import cluster, real_servers, stand_in
from support.processes.fixtures import idle_loop

__all__ = ["cluster", "idle_loop", "real_servers", "stand_in"]
