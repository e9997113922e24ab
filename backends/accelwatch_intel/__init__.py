"""Intel GPUs and NPUs: xe and i915 sysfs, fdinfo, and Level Zero Sysman where its loader is found."""

from accelwatch_intel.backend import IntelBackend

__all__ = ["IntelBackend"]
