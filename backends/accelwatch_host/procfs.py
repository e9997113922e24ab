"""The /proc files that psutil does not read: one reader, pure parsers.

Lines that make no sense are left out.
"""

import os
import re
from pathlib import Path

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.system.kernel.sysfs import reason_of

_MAX_BYTES = 8 << 20
# Read at once: a buffer of 8 MiB would be allocated and freed each time.
_PIECE_BYTES = 1 << 15

# PID_MAX_LIMIT of include/linux/threads.h.
_MOST_TASKS = 1 << 22
_LONGEST_S = 1e10
_SWAP = re.compile(r"^(SwapTotal|SwapFree):\s*([0-9]{1,17}) kB\s*$", re.MULTILINE)
_MOST_DIGITS = 20
_STAT_LINES = {
    "procs_blocked": "blocked",
    "procs_running": "runnable",
    "intr": "interrupts",
    "ctxt": "context_switches",
}
_VMSTAT_LINES = {
    "pgpgin": ("read", 1024),
    "pgpgout": ("written", 1024),
    "oom_kill": ("out_of_memory_kills", 1),
}
_PRESSURE = re.compile(r"(some|full) avg10=[\d.]+ avg60=([\d.]+) avg300=[\d.]+ total=(\d+)")


class Pressure(msgspec.Struct, frozen=True, kw_only=True):
    """One line of /proc/pressure/*: a ratio 0-1 over 60 seconds and seconds in all."""

    share: str
    ratio: float
    stall_s: float


class KernelStat(msgspec.Struct, frozen=True, kw_only=True):
    """What we read from /proc/stat ourselves; None where the line is missing."""

    cpus: int | None = None
    # `procs_blocked`: tasks that wait for I/O uninterruptibly.
    blocked: int | None = None
    # `procs_running`: tasks that run or wait for a processor.
    runnable: int | None = None
    # First number of `intr`: all kinds of interrupts together, since boot.
    interrupts: int | None = None
    # `ctxt`, since boot.
    context_switches: int | None = None


class Paging(msgspec.Struct, frozen=True, kw_only=True):
    """What we read from /proc/vmstat; a kernel that does not count it has no such line."""

    # Bytes since boot.
    read: int | Absence = Absence.UNSUPPORTED
    written: int | Absence = Absence.UNSUPPORTED
    # Linux 4.13 and newer.
    out_of_memory_kills: int | Absence = Absence.UNSUPPORTED


def read_table(path: Path) -> str | Absence:
    """Whole content of a /proc file, at most 8 MiB; one read call gives only a page of a long table."""
    pieces: list[bytes] = []
    left = _MAX_BYTES
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            while left and (piece := os.read(descriptor, min(left, _PIECE_BYTES))):
                pieces.append(piece)
                left -= len(piece)
        finally:
            os.close(descriptor)
    except OSError as error:
        return reason_of(error)
    return b"".join(pieces).decode("utf-8", "replace").strip("\0 \t\r\n")


def read_process_table(root: Path, name: str) -> str | Absence:
    """A per-process table: ours, or that of process 1 where the root is another machine's view."""
    owners = ("self",) if root == Path("/") else ("1", "self")
    text: str | Absence = Absence.UNSUPPORTED
    for owner in owners:
        text = read_table(root / "proc" / owner / name)
        if not isinstance(text, Absence):
            return text
    return text


def pressure(text: str) -> list[Pressure]:
    """Lines of a pressure file (kernel doc accounting/psi.rst; percent and microseconds)."""
    matches = [_PRESSURE.fullmatch(line.strip()) for line in text.splitlines()]
    return [
        Pressure(share=line[1], ratio=float(line[2]) / 100, stall_s=int(line[3]) / 1e6)
        for line in matches
        if line and line[2].count(".") <= 1 and float(line[2]) <= 100
    ]


def kernel_stat(text: str) -> KernelStat:
    """Online processors, tasks, interrupts and context switches from /proc/stat, proc(5)."""
    cpus = 0
    counts: dict[str, int] = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name.startswith("cpu"):
            cpus += _is_count(name[3:])
        elif name in _STAT_LINES:
            # `intr` goes on with thousands of numbers, one for each line of the machine.
            first = value.strip().partition(" ")[0]
            if _is_count(first):
                counts[_STAT_LINES[name]] = int(first)
    return KernelStat(cpus=cpus or None, **counts)


def paging(text: str) -> Paging:
    """Paging and kills from /proc/vmstat, proc(5); `pgpgin` and `pgpgout` are KiB (mm/vmstat.c)."""
    counts: dict[str, int | Absence] = {}
    for line in text.splitlines():
        name, _, count = line.partition(" ")
        if name in _VMSTAT_LINES:
            field, unit = _VMSTAT_LINES[name]
            counts[field] = int(count) * unit if _is_count(count.strip()) else Absence.ERROR
    return Paging(**counts)


def _is_count(text: str) -> bool:
    """Whether it is a number of the kernel, of 64 bits at most."""
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


class Swap(msgspec.Struct, frozen=True, kw_only=True):
    """Swap space in bytes; a machine without has a size of 0."""

    size: int
    used: int


def swap(text: str) -> Swap | None:
    """Swap space from /proc/meminfo, proc(5); None where one of its two lines is missing or damaged."""
    rows = dict(_SWAP.findall(text))
    if rows.keys() != {"SwapTotal", "SwapFree"}:
        return None
    total, free = int(rows["SwapTotal"]) * 1024, int(rows["SwapFree"]) * 1024
    return Swap(size=total, used=total - free) if free <= total else None


def load_averages(text: str) -> tuple[float, float, float] | None:
    """The three load averages of /proc/loadavg; None when the text is no such line."""
    fields = text.split()
    try:
        minute, five, fifteen = (float(field) for field in fields[:3])
    except ValueError:
        return None
    loads = (minute, five, fifteen)
    return loads if all(0 <= load <= _MOST_TASKS for load in loads) else None


def uptime(text: str) -> float | None:
    """Seconds since boot from /proc/uptime; None when the text is no such line."""
    try:
        seconds = float(text.split(maxsplit=1)[0])
    except (ValueError, IndexError):
        return None
    return seconds if 0 <= seconds <= _LONGEST_S else None
