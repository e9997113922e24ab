"""NVIDIA GPUs through NVML, or through nvidia-smi where the library cannot be used."""

from accelwatch_nvidia.backend import NvidiaBackend

__all__ = ["NvidiaBackend"]
