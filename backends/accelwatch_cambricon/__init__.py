"""Cambricon MLUs (MLU370, MLU590 and others), through cnmon."""

from accelwatch_cambricon.backend import CambriconBackend

__all__ = ["CambriconBackend"]
