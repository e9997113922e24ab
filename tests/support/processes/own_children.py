"""The processes that this one has begun; other tests may have begun some that live on."""

import signal
from pathlib import Path

from support.processes.process_states import has_ended, status_of


def living_children() -> set[str]:
    """Process ids of this process's children, without those that were killed."""
    return {pid for pid in children() if not _ends(pid)}


def children() -> set[str]:
    """The same from the kernel, with those that have ended and were not waited for."""
    tasks = Path("/proc/self/task").iterdir()
    return {pid for task in tasks for pid in (task / "children").read_text().split()}


def _ends(pid: str) -> bool:
    """Whether a process has ended, or will as soon as a busy machine lets it."""
    if has_ended(pid) or (status := status_of(pid)) is None:
        return True
    killed = 1 << (signal.SIGKILL - 1)
    return bool((int(status["SigPnd"], 16) | int(status["ShdPnd"], 16)) & killed)
