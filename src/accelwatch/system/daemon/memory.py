"""Allocator settings for a process of months, where the allocator is glibc's."""

import contextlib
import ctypes

# What is raised where there is no such library, or no such function in it.
_NONE = (AttributeError, OSError, TypeError)
# malloc.h of glibc.
_M_ARENA_MAX = -8


def use_single_arena() -> None:
    """Have all threads share the memory that is free, instead of each keeping some for itself.

    They run in turn anyway, for the interpreter's lock. Call it before any start; a child has it too.
    """
    with contextlib.suppress(*_NONE):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def give_back() -> None:
    """Return to the kernel what was needed to begin, and is free since (malloc_trim(3))."""
    with contextlib.suppress(*_NONE):
        ctypes.CDLL(None).malloc_trim(0)
