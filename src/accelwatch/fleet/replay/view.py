"""The devices and nodes of a recorded moment as a picture of a fleet: rows and sums. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from accelwatch.base.version import __version__
from accelwatch.fleet.names import SPEAKING, NodeState
from accelwatch.fleet.picture.model import FIELDS
from accelwatch.fleet.replay.reading.subject import Subject
from accelwatch.fleet.wire import SCHEMA, DeviceNow, DeviceTotals, FleetDocument, NodeNow
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.series import primary_value
from accelwatch.schema.timestamps import timestamp

_BYTES = "_bytes"


def candidates(key: str) -> list[Series]:
    """The series of which the first that is there is what a field means."""
    row = by_key()[key]
    return [(key, *labels) for labels in row.primary] if row.labels else [(key,)]


def field(subject: Subject, key: str) -> Number | None:
    """What a device has of a field; nothing of one that cannot be reached."""
    if subject.state == "unreachable":
        return None
    value: Number | None = primary_value(subject.values, by_key()[key])
    return int(value) if value is not None and key.endswith(_BYTES) else value


def device_now(subject: Subject) -> DeviceNow:
    """A device as the Fleet screen has it."""
    values = tuple(field(subject, key) for key in FIELDS)
    return DeviceNow(subject.device_slot.slot, subject.state, subject.health, subject.age_s, values)


def sums(
    time: float,
    nodes: Sequence[NodeNow],
    subjects: Iterable[Subject],
    problems: tuple[str, ...] = (),
) -> FleetDocument:
    """The fleet in numbers."""
    return FleetDocument(
        schema=SCHEMA,
        version=__version__,
        time=timestamp(time),
        **msgspec.structs.asdict(totals(nodes, subjects)),
        conflicts=(),
        problems=problems,
    )


def totals(nodes: Sequence[NodeNow], subjects: Iterable[Subject]) -> DeviceTotals:
    """Devices in numbers; sums are over the devices of nodes that report."""
    states: Counter[str] = Counter()
    health: Counter[str] = Counter()
    values: dict[str, list[Number]] = {}
    for subject in subjects:
        states[subject.state] += 1
        if subject.node_state not in SPEAKING or subject.state == "missing":
            continue
        health[subject.health] += 1
        for key in FIELDS[:4]:
            value = field(subject, key)
            if value is not None:
                values.setdefault(key, []).append(value)
    loads = values.get("utilization_ratio", [])
    counts = Counter(node.state for node in nodes)
    return DeviceTotals(
        nodes_total=len(nodes),
        nodes={state.value: counts.get(state.value, 0) for state in NodeState},
        devices_total=sum(states.values()),
        devices=dict(sorted(states.items())),
        health=dict(sorted(health.items())),
        power_watts=_sum(values.get("power_watts"), 3),
        memory_used_bytes=_integer_sum(values.get("memory_used_bytes")),
        memory_size_bytes=_integer_sum(values.get("memory_size_bytes")),
        utilization_ratio=round(sum(loads) / len(loads), 6) if loads else None,
    )


def _sum(values: list[Number] | None, digits: int) -> float | None:
    return None if values is None else round(float(sum(values)), digits)


def _integer_sum(values: list[Number] | None) -> int | None:
    return None if values is None else int(sum(values))
