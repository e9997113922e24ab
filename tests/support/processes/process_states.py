"""What the kernel says of a process; proc(5)."""

from collections.abc import Mapping
from pathlib import Path


def status_of(pid: int | str) -> Mapping[str, str] | None:
    """The lines of /proc/PID/status by their names; None of a process that is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return {name: text.strip() for name, _, text in (line.partition(":") for line in lines)}


def has_ended(pid: int | str) -> bool:
    """Whether a process is gone, or only not waited for by whoever began it."""
    status = status_of(pid)
    return status is None or status["State"][0] in "ZX"
