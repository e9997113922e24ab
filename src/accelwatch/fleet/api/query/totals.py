"""Sums over devices by row: of the whole fleet, or of many groups at once."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from accelwatch.base.slices import YieldControl
from accelwatch.fleet.names import NodeState
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.fleet_status import AT_ONCE, FleetStatus, full_status, refresh_nodes
from accelwatch.fleet.state.rows.table import Indices, Table
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.state_codes import HEALTHS, STATE, STATES
from accelwatch.schema.metrics import Series

SUMMED: tuple[Series, ...] = (
    ("power_watts",),
    ("memory_used_bytes",),
    ("memory_size_bytes",),
    ("utilization_ratio",),
)
_MAX_INTEGER = 2**63 - 1
# Bytes are summed in halves: a sum of doubles would lose the last of them in a large fleet.
_HALF = 2.0**32


class Totals:
    """Sums over some devices."""

    def __init__(self) -> None:
        # How many are how fresh; of the whole fleet only.
        self.nodes: Counter[NodeState] = Counter()
        self.states: Counter[str] = Counter()
        self.health: Counter[str] = Counter()
        # By vendor, model and state; of the whole fleet only.
        self.kinds: Counter[tuple[str, str, str]] = Counter()
        # By key; what no device has is not there.
        self.sums: dict[str, float] = {}
        self.means: dict[str, float] = {}

    def numbers(self) -> dict[str, Any]:
        """What the documents of the fleet and of groups have in common."""
        return {
            "devices_total": sum(self.states.values()),
            "devices": dict(sorted(self.states.items())),
            "health": dict(sorted(self.health.items())),
            "power_watts": rounded(self.sums.get("power_watts"), 3),
            "memory_used_bytes": _as_integer(self.sums.get("memory_used_bytes")),
            "memory_size_bytes": _as_integer(self.sums.get("memory_size_bytes")),
            "utilization_ratio": rounded(self.means.get("utilization_ratio"), 6),
        }


def _as_integer(number: float | None) -> int | None:
    """A sum as a whole number; None for one that no reader of JSON could hold."""
    return None if number is None or number > _MAX_INTEGER else int(number)


def rounded(number: float | None, digits: int) -> float | None:
    """A number that may be none, rounded."""
    return None if number is None else round(number, digits)


async def counted(fleet: Fleet, yield_control: YieldControl) -> Totals:
    """The sums over the whole devices now, and the nodes by their state."""
    nodes = await refresh_nodes(fleet, SUMMED, yield_control)
    totals = fleet_totals(fleet.table, await full_status(fleet, nodes, yield_control))
    for at in range(0, len(nodes), AT_ONCE):
        await yield_control()
        totals.nodes.update([fleet.state_of(node) for node in nodes[at : at + AT_ONCE]])
    return totals


def fleet_totals(table: Table, now: FleetStatus) -> Totals:
    """The sums over the whole devices, partitions not counted."""
    at = np.flatnonzero(table.is_device[now.rows])
    totals = tallied(table, now, at, np.zeros(len(at), dtype=np.intp), 1)[0]
    kinds = list(table.kinds)
    kind = table.kind[now.rows[at]] * len(STATES) + now.state[at]
    for code, count in enumerate(np.bincount(kind, minlength=1).tolist()):
        if count:
            vendor, model = kinds[code // len(STATES)]
            totals.kinds[vendor, model, STATES[code % len(STATES)]] = count
    return totals


def tallied(
    table: Table, now: FleetStatus, at: Indices, group: Indices, groups: int
) -> list[Totals]:
    """Sums of so many groups: of the devices at these indices of the status, each in its group."""
    totals = [Totals() for _ in range(groups)]
    for row, counts in enumerate(_counted(group, now.state[at], groups, len(STATES))):
        totals[row].states.update({STATES[code]: n for code, n in enumerate(counts) if n})
    is_reporting = now.speaks[at] & (now.state[at] != STATE["missing"])
    at, group = at[is_reporting], group[is_reporting]
    for row, counts in enumerate(_counted(group, now.health[at], groups, len(HEALTHS))):
        totals[row].health.update({HEALTHS[code]: n for code, n in enumerate(counts) if n})
    for series in SUMMED:
        values = table.planes.column(series).values[now.rows[at]]
        has_value = ~np.isnan(values)
        _sum(totals, series[0], values[has_value], group[has_value])
    return totals


def _counted(
    group: Indices, codes: npt.NDArray[np.uint8], groups: int, kinds: int
) -> Sequence[list[int]]:
    counts = np.bincount(group * kinds + codes, minlength=groups * kinds)
    listed: list[list[int]] = counts.reshape(groups, kinds).tolist()
    return listed


def _sum(totals: list[Totals], key: str, values: Floats, group: Indices) -> None:
    counts = np.bincount(group, minlength=len(totals))
    exact = key.endswith("_bytes")
    high = np.floor(values / _HALF) if exact else np.zeros(len(values))
    above = np.bincount(group, weights=high, minlength=len(totals))
    below = np.bincount(group, weights=values - high * _HALF, minlength=len(totals))
    for row in np.flatnonzero(counts).tolist():
        total: float = float(below[row])
        if exact:
            total = int(above[row]) * int(_HALF) + int(below[row])
        totals[row].sums[key] = total
        totals[row].means[key] = float(total / counts[row])
