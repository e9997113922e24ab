"""What a process of months asks of its allocator: one place to take memory from, for all threads."""

import contextlib
import ctypes

_M_ARENA_MAX = -8
"""malloc.h of glibc."""


def one_arena() -> None:
    """Have all threads share the memory that is free, instead of each keeping some for itself.

    They take turns anyway, for the interpreter's lock. Call it before there are any; a child has it too.
    Only glibc has such arenas.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
