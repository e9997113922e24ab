"""How busy the cores of Warboy are: the counters of the driver's `perf_regs`, read twice.

A card has a file for each core and one for cores that work as one (`npu0pe0-1`), and only what is in use
counts. The driver lets nobody read the counters of what is not in use.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from accelwatch.base.absence import Absence
from accelwatch.system.kernel import sysfs
from accelwatch_furiosa.management import WARBOY

_FILE = re.compile(r"npu(\d{1,4})pe(\d{1,3})(?:-(\d{1,3}))?")
_LINE = re.compile(r"(TaskExecutionTime|CycleCount|CycleCountHigh): *(0x[0-9a-fA-F]{1,8})")
_WRAP = 1 << 32
_MAX_CORES = 64
_FAILED, _NOTHING = "failed", "N/A"
_SLACK = 1e-3


class Counters(NamedTuple):
    """Cycles since the card was started."""

    # With a task; of 32 bits.
    busy: int
    every: int


class PerfRegs:
    """Remembers the counters that were read last; for one thread."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._before: dict[str, Counters | Absence] = {}

    def __call__(self) -> dict[int, list[dict[str, object]]]:
        """The cores of each card with their share of a hundred; without cards the first time."""
        now: dict[str, Counters | Absence] = {}
        shares: dict[int, dict[int, list[float | str]]] = {}
        for folder in sysfs.list_dir(self._root / WARBOY):
            match = _FILE.fullmatch(folder.name)
            if match is None:
                continue
            now[folder.name] = parse(sysfs.read_text(folder / "perf_regs"))
            first, last = int(match[2]), int(match[3] or match[2])
            share = share_of(self._before.get(folder.name), now[folder.name])
            for core in range(first, min(last + 1, _MAX_CORES)):
                of_core = shares.setdefault(int(match[1]), {}).setdefault(core, [])
                of_core += [] if share is None else [share]
        has_previous, self._before = bool(self._before), now
        return (
            {number: _cores(core_shares) for number, core_shares in shares.items()}
            if has_previous
            else {}
        )


def parse(text: str | Absence) -> Counters | Absence:
    """The counters of one file; `error` when one of them is not there."""
    if isinstance(text, Absence):
        return text
    registers = {
        match[1]: int(match[2], 16) for match in map(_LINE.fullmatch, text.split("\n")) if match
    }
    if len(registers) < 3:
        return Absence.ERROR
    return Counters(
        registers["TaskExecutionTime"], registers["CycleCountHigh"] << 32 | registers["CycleCount"]
    )


def share_of(before: Counters | Absence | None, now: Counters | Absence) -> float | str | None:
    """Of a hundred; None of what is not in use, or stands still, or was not known before.

    A counter that went back, as after a reset, or may have wrapped, says nothing.
    """
    if isinstance(now, Absence):
        return None if now in (Absence.PERMISSION, Absence.UNSUPPORTED) else _FAILED
    if not isinstance(before, Counters):
        return None
    passed, worked = now.every - before.every, (now.busy - before.busy) % _WRAP
    if passed == 0:
        return None
    good = 0 < passed < _WRAP and worked <= passed
    return 100.0 * worked / passed if good else _FAILED


def _cores(shares: Mapping[int, list[float | str]]) -> list[dict[str, object]]:
    return [
        {"pe_core": core, "pe_utilization": _sum(values)} for core, values in sorted(shares.items())
    ]


def _sum(shares: list[float | str]) -> float | str:
    """Of a core alone and of those that it worked with, in turn."""
    numbers = [share for share in shares if isinstance(share, float)]
    if len(numbers) < len(shares) or sum(numbers) > 100.0 * (1 + _SLACK):
        return _FAILED
    return min(sum(numbers), 100.0) if numbers else _NOTHING
