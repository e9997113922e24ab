"""MetaX GPUs, through mx-smi.

mx-smi looks like nvidia-smi and has no `-q`: of `backend.kit.smi` it shares the table of processes. Who
a GPU is, its temperatures and its error counts come from runs of their own that complete the table of
GPUs (`rounds`), which in newer releases begins with the board; a board may have two GPUs.
"""

from accelwatch_metax.backend import MetaxBackend

__all__ = ["MetaxBackend"]
