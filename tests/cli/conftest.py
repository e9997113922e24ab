"""Hubs and agents of a test share one loop with what asks them, on which only waiting takes time."""

from support.processes.fixtures import idle_loop

__all__ = ["idle_loop"]
