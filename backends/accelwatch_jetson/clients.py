"""Processes that hold memory of nvmap, the allocator of GPU and media engines; root only, in debugfs."""

import re
from pathlib import Path

from accelwatch.backend.kit.listed_process import by_pid, listed
from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Process
from accelwatch.system.kernel import sysfs

_CLIENTS = "sys/kernel/debug/nvmap/iovmm/clients"
# Client, process, pid, size; the row of the total has no pid.
_ROW = re.compile(r"\s*\S+\s+(\S.*?)\s+(\d{1,10})\s+(\d{1,15})([KMG]?)\s*", re.ASCII)
_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def processes(root: Path, device_id: str) -> list[Process] | Absence:
    """By pid, with what nvmap gave them in bytes; why they are not known. A pid of 0 is the kernel."""
    text = sysfs.read_text(root / _CLIENTS)
    if isinstance(text, Absence):
        return text
    if not text.startswith("CLIENT"):
        return Absence.ERROR
    rows = filter(None, map(_ROW.fullmatch, text.splitlines()))
    return by_pid(
        listed(device_id, int(row[2]), row[1], int(row[3]) * _FACTORS[row[4]], is_comm=True)
        for row in rows
        if int(row[2])
    )
