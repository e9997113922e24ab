"""The GPU and the neural engine of Apple Silicon, through macOS' own commands and macmon."""

from accelwatch_apple.backend import AppleBackend

__all__ = ["AppleBackend"]
