"""Ending the vendor commands that a collector still runs, so that none outlives it."""

import contextlib
import os
import signal
from pathlib import Path


def kill_commands(pid: int) -> None:
    """Kill every child of a process, with its process group where it leads one.

    The kernel lists children by thread (/proc/PID/task/TID/children, proc(5)); where it does not, this
    does nothing.
    """
    try:
        listings = list(Path(f"/proc/{pid}/task").glob("*/children"))
    except OSError:
        return
    for listing in listings:
        try:
            children = listing.read_text().split()
        except OSError:
            continue
        for child in map(int, children):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                _kill(child)


def _kill(pid: int) -> None:
    if os.getpgid(pid) == pid:
        os.killpg(pid, signal.SIGKILL)
    else:
        os.kill(pid, signal.SIGKILL)
