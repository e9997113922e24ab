"""Signals to processes that are held by pid and start time, so that a number used again is not hit."""

import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path

import msgspec

from accelwatch.schema.reading import Process
from accelwatch.system.kernel import proc

logger = logging.getLogger(__name__)

# What the dialog offers, the mildest way to end a process first.
OFFERED = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGKILL,
    signal.SIGHUP,
    signal.SIGSTOP,
    signal.SIGCONT,
)
# Start times are compared in seconds since the boot; the boot's own time is rounded to one.
_TOLERANCE_S = 1.5


class Target(msgspec.Struct, frozen=True):
    """A process to signal."""

    pid: int
    start_time: float


def targets(processes: list[Process]) -> tuple[list[Target], str]:
    """Whom a signal would go to, and in a sentence why some or all of them cannot be signalled."""
    by_pid: dict[int, Target] = {}
    why = ""
    for process in processes:
        if process.pid_namespace != "same":
            why = (
                "These processes belong to another pid namespace (a container's or the host's): "
                "their numbers mean other processes here, so no signal is sent. "
                "Run accelwatch with the host's pid namespace (--pid=host, hostPID)."
            )
        elif process.start_time is None:
            why = "It is not known when the process began, so a signal could hit another one."
        else:
            by_pid[process.pid] = Target(process.pid, process.start_time)
    return list(by_pid.values()), why


def send(
    target: Target,
    number: signal.Signals,
    *,
    root: Path = Path("/"),
    open_pidfd: Callable[[int], int] | None = None,
) -> str:
    """Signal a process if it is still the same one; the result, in words."""
    opener = open_pidfd or getattr(os, "pidfd_open", None)
    try:
        if opener is None:
            if not _same(target, root):
                return f"{target.pid} has ended"
            os.kill(target.pid, number)
        else:
            descriptor = opener(target.pid)
            try:
                if not _same(target, root):
                    return f"{target.pid} has ended"
                signal.pidfd_send_signal(descriptor, number)
            finally:
                os.close(descriptor)
    except ProcessLookupError:
        return f"{target.pid} has ended"
    except PermissionError:
        return f"{target.pid} belongs to another user"
    except OSError as error:
        return f"{target.pid}: {error.strerror}"
    logger.warning("signal sent signal=%s pid=%d", number.name, target.pid)
    return f"{number.name} sent to {target.pid}"


def _same(target: Target, root: Path) -> bool:
    """Whether the number still means the process that was selected."""
    started = proc.start_time(root, target.pid)
    return started is not None and abs(started - target.start_time) <= _TOLERANCE_S
