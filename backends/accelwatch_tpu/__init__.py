"""Google's TPUs: chips from the PCI bus, numbers of a running workload from tpu-info."""

from accelwatch_tpu.backend import TpuBackend

__all__ = ["TpuBackend"]
