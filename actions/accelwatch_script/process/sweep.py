"""Kills what a call has started and what outlived it, found by the variable CALL."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from accelwatch_script.process.command import CALL

_SWEEPS = 3


def sweep(call: str) -> None:
    """Kill whatever has the call's word in its environment, until there is nothing any more."""
    variable = f"{CALL}={call}".encode()
    for _ in range(_SWEEPS):
        if not sum(_killed(pid, variable) for pid in _pids()):
            return


def _pids() -> Iterator[int]:
    with contextlib.suppress(OSError), os.scandir("/proc") as entries:
        yield from (int(entry.name) for entry in entries if entry.name.isdecimal())


def _killed(pid: int, variable: bytes) -> bool:
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        # What is read after the descriptor was got is of that process, not of a later one.
        if variable not in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            return False
        signal.pidfd_send_signal(fd, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True
