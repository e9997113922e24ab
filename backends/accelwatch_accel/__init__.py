"""NPUs of the kernel's accel class that no other backend owns, such as AMD XDNA."""

from accelwatch_accel.backend import AccelBackend

__all__ = ["AccelBackend"]
