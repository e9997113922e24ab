"""Clients and the servers of their tests share one loop, on which only waiting takes time."""

from support.processes.fixtures import idle_loop

__all__ = ["idle_loop"]
