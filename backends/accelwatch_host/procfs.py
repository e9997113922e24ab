"""The /proc files that psutil does not read: one reader, pure parsers.

Lines that make no sense are left out.
"""

import re
from pathlib import Path

import msgspec

from accelwatch.schema.absence import Absence
from accelwatch.sysfs import reason_of

_MAX_BYTES = 8 << 20

_MOST_TASKS = 1 << 22
"""PID_MAX_LIMIT of include/linux/threads.h."""
_LONGEST_S = 1e10
_SWAP = re.compile(r"^(SwapTotal|SwapFree):\s*([0-9]{1,17}) kB\s*$", re.MULTILINE)
_PRESSURE = re.compile(r"(some|full) avg10=[\d.]+ avg60=([\d.]+) avg300=[\d.]+ total=(\d+)")


class Pressure(msgspec.Struct, frozen=True, kw_only=True):
    """One line of /proc/pressure/*: a ratio 0-1 over 60 seconds and seconds in all."""

    share: str
    ratio: float
    stall_s: float


class KernelStat(msgspec.Struct, frozen=True, kw_only=True):
    """What we take from /proc/stat ourselves; None where the line is missing."""

    cpus: int | None = None
    blocked: int | None = None
    """`procs_blocked`: tasks that wait for I/O uninterruptibly."""


def read_table(path: Path) -> str | Absence:
    """Whole content of a /proc file, at most 8 MiB; one read call gives only a page of a long table."""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", "replace").strip("\0 \t\r\n")
    except OSError as error:
        return reason_of(error)


def pressure(text: str) -> list[Pressure]:
    """Lines of a pressure file (kernel doc accounting/psi.rst; percent and microseconds)."""
    found = [_PRESSURE.fullmatch(line.strip()) for line in text.splitlines()]
    return [
        Pressure(share=line[1], ratio=float(line[2]) / 100, stall_s=int(line[3]) / 1e6)
        for line in found
        if line and line[2].count(".") <= 1 and float(line[2]) <= 100
    ]


def kernel_stat(text: str) -> KernelStat:
    """Number of online processors and of blocked tasks from /proc/stat, proc(5)."""
    cpus = 0
    blocked: int | None = None
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name.startswith("cpu") and name[3:].isascii() and name[3:].isdigit():
            cpus += 1
        elif name == "procs_blocked" and rest.strip().isascii() and rest.strip().isdigit():
            blocked = int(rest)
    return KernelStat(cpus=cpus or None, blocked=blocked)


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
        one, five, fifteen = (float(field) for field in fields[:3])
    except ValueError:
        return None
    loads = (one, five, fifteen)
    return loads if all(0 <= load <= _MOST_TASKS for load in loads) else None


def uptime(text: str) -> float | None:
    """Seconds since boot from /proc/uptime; None when the text is no such line."""
    try:
        seconds = float(text.split(maxsplit=1)[0])
    except (ValueError, IndexError):
        return None
    return seconds if 0 <= seconds <= _LONGEST_S else None
