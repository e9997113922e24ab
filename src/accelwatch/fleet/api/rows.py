"""Devices in a standing order, page by page, filtered; and the numbers of a fleet or node."""

import base64
import binascii
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from accelwatch.errors import UsageError
from accelwatch.expr import Expression
from accelwatch.fleet.api.documents import DeviceRow
from accelwatch.fleet.api.names import Column, Subject, lookup
from accelwatch.fleet.api.turns import Walk
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.node import Node, speaks_for
from accelwatch.fleet.state.snapshots import source_age_s
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

Place = tuple[str, int, str]
"""Node, index and id of the last device of a page."""

_to_json = msgspec.json.Encoder().encode

SCAN = 1500
"""Devices looked at for one page: a filter that finds little must not hold up the streams."""

_MAX_WHOLE = 2**63 - 1


def cursor_of(place: Place) -> str:
    """A place as an opaque word."""
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def place_of(cursor: str) -> Place:
    """The inverse of `cursor_of`. Raises UsageError."""
    try:
        padded = cursor[:2000] + "=" * (-len(cursor[:2000]) % 4)
        place: Place = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=Place)
    except (msgspec.DecodeError, binascii.Error, ValueError) as error:
        raise UsageError("cursor: take it from `next` of the page before") from error
    return place


def subjects(fleet: Fleet, node: Node) -> list[Subject]:
    """The devices of a node, present and missing, by index."""
    state, labels = fleet.state_of(node), node.labels
    now = fleet.clock.monotonic()
    only = next(iter(node.sources.values())) if len(node.sources) == 1 else None
    found = [
        Subject(
            node=node.name,
            node_state=state,
            labels=labels,
            device=held.device,
            held=held,
            age_s=source_age_s(only or node.origin(held), held, now),
        )
        for held in node.devices.values()
    ]
    gone = node.missing() if node.expected is not None else ()
    found += [
        Subject(
            node=node.name, node_state=state, labels=labels, device=device, held=None, age_s=None
        )
        for device in gone
    ]
    found.sort(key=_order)
    return found


def release(node: Node) -> None:
    """Let go of what was kept to find the numbers of its devices."""
    for held in node.devices.values():
        held.release()


def _order(subject: Subject) -> tuple[int, str]:
    return subject.device.index, subject.device.id


def after_place(found: Sequence[Subject], after: Place | None) -> list[Subject]:
    """Those devices of a node that stand after a place."""
    return [
        subject
        for subject in found
        if after is None or subject.node != after[0] or _order(subject) > after[1:]
    ]


async def page(
    fleet: Fleet,
    columns: Sequence[Column],
    *,
    names: Sequence[str],
    wanted: Expression | None,
    after: Place | None,
    limit: int,
    walk: Walk,
) -> tuple[list[bytes], str | None]:
    """Rows that the filter wants, each as JSON, and the cursor of the next page.

    `names` are the nodes' names, sorted.
    """
    rows: list[bytes] = []
    last: Place | None = None
    seen = 0
    for name in names[bisect_left(names, after[0]) if after else 0 :]:
        await walk.rest()
        node = fleet.nodes.get(name)
        if node is None:
            continue
        for subject in after_place(subjects(fleet, node), after):
            if len(rows) >= limit or (wanted is not None and seen >= SCAN):
                return rows, None if last is None else cursor_of(last)
            seen += 1
            last = (subject.node, subject.device.index, subject.device.id)
            if wanted is None or wanted.evaluate(lookup(subject)) is True:
                rows.append(_to_json(row(subject, columns)))
        release(node)
    return rows, None


def row(subject: Subject, columns: Sequence[Column]) -> DeviceRow:
    """One device with the values of the columns; a silent node's last values are not shown as now's."""
    return DeviceRow(
        **place(subject),
        node_state=subject.node_state,
        pci_bus_id=subject.device.pci_bus_id,
        state=subject.state,
        health=subject.health,
        sample_age_s=subject.age_s,
        values={name: value(subject, series) for name, series in columns},
    )


def place(subject: Subject) -> dict[str, Any]:
    """Who a device is, where it stands and who has it: what rows and streams have in common."""
    device: Device = subject.device
    shown = subject.occupancy.shown
    return {
        "node": subject.node,
        "labels": subject.labels,
        "id": device.id,
        "vendor": device.vendor,
        "index": device.index,
        "name": device.name,
        "kind": device.kind,
        "model": device.model,
        "uuid": device.uuid,
        "parent_id": device.parent_id,
        **shown,
    }


def value(subject: Subject, candidates: Sequence[Series]) -> Number | None:
    """The value of the first series that has one; the last known of a stale node, none of one down."""
    if subject.held is None or subject.state == "unreachable":
        return None
    for series in candidates:
        found = subject.held.number(series)
        if found is not None:
            return found
    return None


class Totals:
    """Sums over devices."""

    def __init__(self) -> None:
        self.states: Counter[str] = Counter()
        self.health: Counter[str] = Counter()
        self.kinds: Counter[tuple[str, str, str]] = Counter()
        """By vendor, model and state."""
        self._sums: dict[str, float] = {}
        self._counts: Counter[str] = Counter()

    def add(self, subject: Subject) -> None:
        """Count one device."""
        device, state = subject.device, subject.state
        self.states[state] += 1
        self.kinds[device.vendor, device.model or "", state] += 1
        if subject.held is None or not speaks_for(subject.node_state):
            return
        self.health[subject.health] += 1
        for key in ("power_watts", "memory_used_bytes", "memory_size_bytes", "utilization_ratio"):
            number = subject.held.number((key,))
            if number is not None:
                self._sums[key] = self._sums.get(key, 0) + number
                self._counts[key] += 1

    def sum(self, key: str) -> float | None:
        """The sum over the devices that have a value."""
        return self._sums.get(key)

    def mean(self, key: str) -> float | None:
        """The mean over the devices that have a value."""
        return self._sums[key] / self._counts[key] if self._counts[key] else None

    def numbers(self) -> dict[str, Any]:
        """What the documents of the fleet and of groups have in common."""
        used, size = self.sum("memory_used_bytes"), self.sum("memory_size_bytes")
        return {
            "devices_total": sum(self.states.values()),
            "devices": dict(sorted(self.states.items())),
            "health": dict(sorted(self.health.items())),
            "power_watts": rounded(self.sum("power_watts"), 3),
            "memory_used_bytes": _whole(used),
            "memory_size_bytes": _whole(size),
            "utilization_ratio": rounded(self.mean("utilization_ratio"), 6),
        }


def _whole(number: float | None) -> int | None:
    """A sum as a whole number; None for one that no reader of JSON could hold."""
    return None if number is None or number > _MAX_WHOLE else int(number)


def rounded(number: float | None, digits: int) -> float | None:
    """A number that may be none, rounded."""
    return None if number is None else round(number, digits)


async def totals(fleet: Fleet, walk: Walk) -> Totals:
    """The sums over the whole devices now."""
    found = Totals()
    for node in list(fleet.nodes.values()):
        await walk.rest()
        for subject in subjects(fleet, node):
            if subject.device.parent_id is None:
                found.add(subject)
        release(node)
    return found
