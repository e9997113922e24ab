"""Sinks and their receivers share one loop, on which only waiting takes time."""

from support.processes.fixtures import idle_loop

__all__ = ["idle_loop"]
