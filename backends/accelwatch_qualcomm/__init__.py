"""Qualcomm Cloud AI 100 and 80, through qaic-util."""

from accelwatch_qualcomm.backend import QualcommBackend

__all__ = ["QualcommBackend"]
