"""GPUs of Iluvatar CoreX (BI-V100, BI-V150, MR-V100 and others), through ixsmi."""

from accelwatch_iluvatar.backend import IluvatarBackend

__all__ = ["IluvatarBackend"]
