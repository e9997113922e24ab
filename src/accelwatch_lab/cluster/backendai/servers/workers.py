"""Manager and agent are a supervisor and a process that it forks, which does the work."""

import functools
from pathlib import Path

from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.waiting import until

# Both import all of Backend.AI first.
_FORK_S = 120.0
_TITLE = b" worker-"


def worker_of(name: str) -> str:
    """Name of what the supervisor of that name has forked: a signal to it reaches who answers."""
    return f"{name}.worker"


def record_worker(processes: Processes, name: str) -> None:
    """Wait until a supervisor has forked, and record the worker. Raises WaitTimeoutError."""
    until(
        functools.partial(_is_recorded, processes, name),
        f"{name} has forked the process that does its work",
        _FORK_S,
    )


def _is_recorded(processes: Processes, name: str) -> bool:
    for record in processes.running():
        if record.name == name:
            for pid in _children(record.pid):
                if _is_worker(pid):
                    processes.adopt(worker_of(name), pid)
                    return True
    return False


def _children(pid: int) -> list[int]:
    try:
        return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _is_worker(pid: int) -> bool:
    """By its title, which it has from the moment at which it works."""
    try:
        return _TITLE in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
