"""Rebellions NPUs (ATOM, REBEL), through rbln-smi."""

from accelwatch_rebellions.backend import RebellionsBackend

__all__ = ["RebellionsBackend"]
