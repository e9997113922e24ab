"""MetaX GPUs, through mx-smi."""

from accelwatch_metax.backend import MetaxBackend

__all__ = ["MetaxBackend"]
