"""A device of a recorded moment, as filters see it and as a row needs it."""

from collections.abc import Mapping

import msgspec

from accelwatch.expr import Expression, Value
from accelwatch.fleet.names import SPEAKING
from accelwatch.fleet.wire import DeviceSlot
from accelwatch.node.query.lookup import answers
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """One device at the moment; times in seconds."""

    device_slot: DeviceSlot
    node_state: str
    state: str
    health: str
    age_s: float | None
    # Of a device that does not report, its last ones.
    values: Mapping[Series, Number]


def matches(condition: Expression, subject: Subject) -> bool:
    """Whether a filter lets a device through; a silent node's quantities are unknown."""
    speaks = subject.node_state in SPEAKING
    number = subject.values.get if speaks else lambda _: None
    lookup = answers(subject, number, lambda name: _named(subject, name))
    return condition.evaluate(lookup) is True


def _named(subject: Subject, name: str) -> Value | None:
    device_slot = subject.device_slot
    match name:
        case "host":
            return device_slot.node
        case "device":
            return device_slot.name
        case "sample_age_s":
            return subject.age_s
        case "state" | "health" | "node_state":
            return str(getattr(subject, name))
        case "partition":
            return device_slot.queue
    value: Value | None = getattr(device_slot, name, None)
    return value
