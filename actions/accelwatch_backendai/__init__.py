"""Backend.AI: agents are nodes, sessions are jobs, resource groups are pools."""

from accelwatch_backendai.action import BackendAiAction

__all__ = ["BackendAiAction"]
