"""What this process uses."""

import os
import resource


def cpu_seconds() -> float:
    """Processor time of this process, user and system."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def resident_bytes(pid: int | None = None) -> int:
    """Resident memory of a process, by default this one; 0 where /proc cannot be read."""
    path = f"/proc/{'self' if pid is None else pid}/statm"
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - every tick
            pages = int(file.read(128).split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
