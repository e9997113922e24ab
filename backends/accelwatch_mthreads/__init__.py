"""GPUs of Moore Threads (MTT S80, S4000, S5000 and others), through mthreads-gmi."""

from accelwatch_mthreads.backend import MthreadsBackend

__all__ = ["MthreadsBackend"]
