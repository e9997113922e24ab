"""Recall and lead over strength and length of the precursor, and recall over how slow a device is."""

import statistics
from collections.abc import Iterable, Sequence

import msgspec

from scoring.results import Result
from traces.truth import RATE

# Strengths in deviations and in times the usual rate, lengths in minutes, and shares of power lost.
_SD, _RATE = (4.0, 8.0), (10.0, 30.0, 1000.0)
_MINUTES = (10.0, 60.0, 480.0)
_SLOWER = (0.05, 0.10, 0.20)


class Cell(msgspec.Struct, frozen=True):
    """One place of the surface; the lead is the median in seconds of those that were found early."""

    faults: int
    found: int
    early: int
    lead: float | None


def precursor_surface(results: Iterable[Result]) -> dict[str, Cell]:
    """By unit, strength and length of the precursor; `none` are faults without one."""
    cells: dict[str, list[Result]] = {}
    for result in results:
        fault = result.fault
        name = "none"
        if fault.precursor_start is not None and fault.precursor_strength is not None:
            edges, unit = (_RATE, "x") if fault.precursor_unit == RATE else (_SD, "sd")
            strength = _bin(fault.precursor_strength, edges)
            minutes = _bin((fault.onset - fault.precursor_start) / 60.0, _MINUTES)
            name = f"{strength} {unit}, {minutes} min"
        cells.setdefault(name, []).append(result)
    return {name: _cell(cells[name]) for name in sorted(cells)}


def fail_slow_curve(results: Iterable[Result]) -> dict[str, Cell]:
    """By the share of power that a slow device loses."""
    cells: dict[str, list[Result]] = {}
    for result in results:
        if result.fault.kind == "slow_clock":
            cells.setdefault(_bin(result.fault.magnitude or 0.0, _SLOWER), []).append(result)
    return {name: _cell(cells[name]) for name in sorted(cells)}


def _bin(value: float, edges: Sequence[float]) -> str:
    below = [edge for edge in edges if edge <= value]
    above = [edge for edge in edges if edge > value]
    if not below:
        return f"below {edges[0]:g}"
    return f"{below[-1]:g} to {above[0]:g}" if above else f"from {edges[-1]:g}"


def _cell(results: Sequence[Result]) -> Cell:
    leads = [
        result.fault.onset - result.opened
        for result in results
        if result.is_early and result.opened is not None
    ]
    return Cell(
        len(results),
        sum(result.opened is not None for result in results),
        len(leads),
        statistics.median(leads) if leads else None,
    )
