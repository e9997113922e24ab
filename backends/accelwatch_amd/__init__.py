"""AMD GPUs through amdgpu's own files; the vendor library only adds what no file has."""

from accelwatch_amd.backend import AmdBackend

__all__ = ["AmdBackend"]
