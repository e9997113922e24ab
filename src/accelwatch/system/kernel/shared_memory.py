"""The memory of a device that has none of its own: the host's, from /proc/meminfo."""

from pathlib import Path

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch.system.kernel import sysfs


def collect_shared_memory(root: Path, collected: Collected) -> None:
    """The pool shared with the host in bytes: its total, and total less what is available."""
    content = sysfs.read_text(root / "proc/meminfo")
    rows: dict[str, int] = {}
    for line in "" if isinstance(content, Absence) else content.splitlines():
        name, _, value = line.partition(":")
        fields = value.split()
        if fields and fields[0].isdecimal():
            rows[name] = int(fields[0]) * 1024
    total, available = rows.get("MemTotal"), rows.get("MemAvailable")
    if total is None or available is None:
        collected.miss("memory_size_bytes", Absence.UNSUPPORTED)
        return
    collected.put("memory_size_bytes", total)
    if available <= total:
        collected.put("memory_used_bytes", total - available)
    else:
        collected.miss("memory_used_bytes", Absence.ERROR)
