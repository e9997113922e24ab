"""What a process that holds credentials keeps to itself: its memory, and the files it makes."""

import contextlib
import ctypes
import os
import resource

# linux/prctl.h
_PR_SET_DUMPABLE = 4
_FOR_OURSELVES = 0o077


def protect_process() -> None:
    """No core files, which would hold tokens and passwords; new files for this user only.

    A limit alone does not keep a core from a handler that the kernel pipes it to (core(5)); a process
    that is not dumpable has none, and others of its user cannot read its memory (prctl(2), Linux only).
    The collector, which holds none, stays dumpable: it starts before this, or as a program of its own.
    """
    new_files_for_ourselves()
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def new_files_for_ourselves() -> None:
    """Have files that are made from now on, by children of this process too, be for this user only."""
    os.umask(_FOR_OURSELVES)
