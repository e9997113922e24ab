"""FuriosaAI NPUs: RNGD through furiosa-smi, Warboy through furiosactl."""

from accelwatch_furiosa.backend import FuriosaBackend

__all__ = ["FuriosaBackend"]
