"""Totals of nodes and devices of several hubs: added, subtracted, and marked stale. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from accelwatch.fleet.documents.fleet import GroupRow
from accelwatch.fleet.hub_client.several.merging.amounts import (
    Amount,
    sum_of_present,
    weighted_mean,
)
from accelwatch.fleet.names import GONE, SPEAKING, NodeState
from accelwatch.fleet.wire import DeviceTotals, FleetDocument
from accelwatch.schema.status.device_status import severity

_STALE = NodeState.STALE
# States of devices that hold whether or not their node reports.
_KEPT = frozenset({"lost", "missing", "unreachable", "stale"})


def added(totals: Sequence[DeviceTotals]) -> DeviceTotals:
    """The sum of at least one. The mean load counts each by its devices that answer."""
    return DeviceTotals(
        nodes_total=sum(piece.nodes_total for piece in totals),
        nodes=_added(piece.nodes for piece in totals),
        devices_total=sum(piece.devices_total for piece in totals),
        devices=_added(piece.devices for piece in totals),
        health=_added(piece.health for piece in totals),
        power_watts=sum_of_present(piece.power_watts for piece in totals),
        memory_used_bytes=sum_of_present(piece.memory_used_bytes for piece in totals),
        memory_size_bytes=sum_of_present(piece.memory_size_bytes for piece in totals),
        utilization_ratio=weighted_mean(
            (piece.utilization_ratio, _answering(piece)) for piece in totals
        ),
    )


def without(totals: DeviceTotals, pieces: Sequence[DeviceTotals]) -> DeviceTotals:
    """The totals less parts of them; never below zero, for the parts may be of another moment."""
    if not pieces:
        return totals
    less = added(pieces)
    left = _answering(totals) - _answering(less)
    load = [(totals.utilization_ratio, _answering(totals))]
    load.append((less.utilization_ratio, -_answering(less)))
    mean = weighted_mean(load) if left > 0 else None
    return DeviceTotals(
        nodes_total=max(totals.nodes_total - less.nodes_total, 0),
        nodes=_less(totals.nodes, less.nodes),
        devices_total=max(totals.devices_total - less.devices_total, 0),
        devices=_less(totals.devices, less.devices),
        health=_less(totals.health, less.health),
        power_watts=_difference(totals.power_watts, less.power_watts),
        memory_used_bytes=_difference(totals.memory_used_bytes, less.memory_used_bytes),
        memory_size_bytes=_difference(totals.memory_size_bytes, less.memory_size_bytes),
        utilization_ratio=None if mean is None else min(max(mean, 0.0), 1.0),
    )


def stale(totals: DeviceTotals) -> DeviceTotals:
    """The same of a hub that is silent: sums are of nodes that answer, and none of these does."""
    nodes: Counter[str] = Counter()
    for state, count in totals.nodes.items():
        nodes[stale_node_state(state)] += count
    devices: Counter[str] = Counter()
    for state, count in totals.devices.items():
        devices[stale_device_state(state)] += count
    return DeviceTotals(
        nodes_total=totals.nodes_total,
        nodes=dict(nodes),
        devices_total=totals.devices_total,
        devices=dict(devices),
        health={},
        power_watts=None,
        memory_used_bytes=None,
        memory_size_bytes=None,
        utilization_ratio=None,
    )


def stale_device_state(state: str) -> str:
    """What a device's state is while its hub is silent."""
    return state if state in _KEPT else GONE[_STALE]


def stale_node_state(state: str) -> str:
    """What a node's state is while its hub is silent."""
    return _STALE.value if state in SPEAKING else state


def with_totals(document: FleetDocument, totals: DeviceTotals) -> FleetDocument:
    """The document with other numbers."""
    return msgspec.structs.replace(document, **numbers_of(totals))


def numbers_of(totals: DeviceTotals) -> dict[str, Any]:
    """By name, for a document that has more besides them."""
    return {name: getattr(totals, name) for name in DeviceTotals.__struct_fields__}


def groups_added(groups: Iterable[GroupRow]) -> tuple[GroupRow, ...]:
    """Groups of the same name as one, in the order of their names, what has none last."""
    by_name: dict[str | None, list[GroupRow]] = {}
    for row in groups:
        by_name.setdefault(row.group, []).append(row)
    rows = [_group(name, rows) for name, rows in by_name.items()]
    return tuple(sorted(rows, key=lambda row: (row.group is None, row.group or "")))


def groups_without(groups: Iterable[GroupRow], pieces: Iterable[GroupRow]) -> tuple[GroupRow, ...]:
    """Groups less parts of them; one of which nothing is left is left out."""
    by_name = {row.group: row for row in groups_added(pieces)}
    rows = []
    for row in groups:
        piece = by_name.get(row.group)
        totals = row if piece is None else without(row, [piece])
        if totals.nodes_total or totals.devices_total:
            rows.append(with_name(row.group, row.worst, totals))
    return tuple(rows)


def stale_group(row: GroupRow) -> GroupRow:
    """A group of a hub that is silent."""
    totals = stale(row)
    return with_name(row.group, max(totals.devices, key=severity, default=row.worst), totals)


def _group(name: str | None, rows: Sequence[GroupRow]) -> GroupRow:
    if len(rows) == 1:
        return rows[0]
    return with_name(name, max((row.worst for row in rows), key=severity), added(rows))


def with_name(name: str | None, worst: str, totals: DeviceTotals) -> GroupRow:
    """Totals as a group."""
    return GroupRow(group=name, worst=worst, **numbers_of(totals))


def _answering(totals: DeviceTotals) -> int:
    return sum(totals.health.values())


def _added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for piece in counts:
        total.update(piece)
    return dict(total)


def _less(counts: Mapping[str, int], less: Mapping[str, int]) -> dict[str, int]:
    return {state: max(count - less.get(state, 0), 0) for state, count in counts.items()}


def _difference(value: Amount | None, less: Amount | None) -> Amount | None:
    return value if value is None or less is None else max(value - less, 0)
