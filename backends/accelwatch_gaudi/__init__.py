"""Intel Gaudi accelerators, through libhlml or hl-smi, and the driver's sysfs."""

from accelwatch_gaudi.backend import GaudiBackend

__all__ = ["GaudiBackend"]
