"""slurmstepd, the keeper of a job's step: its environment is overwritten, its log says whose it is."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

_NAME = "slurmstepd"


def step_daemons_of(folder: Path, node: str = "") -> Iterator[int]:
    """Pids of those whose log is of that node, or of any node, of the Slurm in a folder."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _belongs_to(int(entry.name), folder, node):
            yield int(entry.name)


def kill_step_daemons(folder: Path, node: str = "") -> None:
    """End them at once."""
    for pid in list(step_daemons_of(folder, node)):
        with contextlib.suppress(OSError):
            descriptor = os.pidfd_open(pid)
            try:
                if _belongs_to(pid, folder, node):
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            finally:
                os.close(descriptor)


def _belongs_to(pid: int, folder: Path, node: str) -> bool:
    try:
        if Path(f"/proc/{pid}/comm").read_text().strip() != _NAME:
            return False
        files = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return False
    expected = f"{folder}/slurmd.{node}.log" if node else f"{folder}/"
    return any(file == expected if node else file.startswith(expected) for file in files)
