"""PPUs of T-Head (Zhenwu 810E, M890 and others), through ppu-smi."""

from accelwatch_thead.backend import TheadBackend

__all__ = ["TheadBackend"]
