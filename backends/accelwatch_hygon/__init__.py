"""Hygon DCUs, through hy-smi."""

from accelwatch_hygon.backend import HygonBackend

__all__ = ["HygonBackend"]
