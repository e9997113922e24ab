"""The GPU of NVIDIA's Jetson modules up to Orin, from what nvgpu and the kernel show in sysfs."""

from accelwatch_jetson.backend import JetsonBackend

__all__ = ["JetsonBackend"]
