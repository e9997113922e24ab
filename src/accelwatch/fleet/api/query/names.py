"""The names that filters, `fields` and groups may use: a device's, its owners', its node's, labels."""

from collections.abc import Iterable, Sequence

import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.base.names.nearest import nearest
from accelwatch.expr import (
    Expression,
    NameTable,
    Value,
    compile_condition,
    device_names,
)
from accelwatch.expr.vocabulary.names import Fault
from accelwatch.fleet.documents.fleet import DEFAULT_FIELDS
from accelwatch.fleet.names import GONE, NodeState, fleet_names
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.devices import FleetDevice
from accelwatch.fleet.state.nodes.node import speaks_for
from accelwatch.fleet.state.nodes.usage import NOBODY, Occupancy
from accelwatch.fleet.state.rows.groups import belonging
from accelwatch.node.query.lookup import Lookup, answers
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Series
from accelwatch.schema.series import path_of, series_of

_MAX_EXPRESSION = 2000
_MAX_FIELDS = 64
# What only a device with its node and its moment answers.
_OF_SUBJECT = frozenset({"node", "host", "device", "sample_age_s", "state", "health", "node_state"})

# A requested field, and the series of which the first present one is its value.
Column = tuple[str, tuple[Series, ...]]


class Subject(msgspec.Struct, kw_only=True):
    """A device with its node, as an expression sees it."""

    node: str
    node_state: NodeState
    labels: dict[str, str]
    device: Device
    # None when it is missing.
    present: FleetDevice | None
    age_s: float | None

    @property
    def occupancy(self) -> Occupancy:
        """Who has it, as last reported."""
        return NOBODY if self.present is None else self.present.usage.occupancy

    @property
    def state(self) -> str:
        """Its own state while its node reports."""
        if speaks_for(self.node_state):
            return self.present.state if self.present is not None else "missing"
        return GONE[self.node_state]

    @property
    def health(self) -> str:
        """Its own health while its node reports."""
        if self.present is None or not speaks_for(self.node_state):
            return "unknown"
        return self.present.health


def target_labels(fleet: Fleet) -> set[str]:
    """Names of all labels of targets."""
    nodes = fleet.nodes.values()
    return set().union(
        *(source.target.labels for node in nodes for source in node.sources.values())
    )


def condition(text: str, labels: Iterable[str]) -> Expression:
    """A filter over devices. Raises ExpressionError, UsageError."""
    return compiled(text, fleet_names(labels))


def compiled(text: str, names: NameTable) -> Expression:
    """A filter over what has these names. Raises ExpressionError, UsageError."""
    if len(text) > _MAX_EXPRESSION:
        raise UsageError(f"a filter has at most {_MAX_EXPRESSION} characters")
    return compile_condition(text, names)


def columns(fields: Sequence[str]) -> tuple[Column, ...]:
    """Fields such as `power_watts` and `temperature_celsius.memory`. Raises UsageError."""
    if len(fields) > _MAX_FIELDS:
        raise UsageError(f"at most {_MAX_FIELDS} fields")
    return tuple(_column(field) for field in fields or DEFAULT_FIELDS)


def all_series(shown: Iterable[Column]) -> list[Series]:
    """Every series that may be the value of a field."""
    return [series for _, candidates in shown for series in candidates]


def _column(field: str) -> Column:
    name, *labels = series_of(field)
    table = device_names()
    if name not in table.rows:
        near = nearest(name, list(table.rows))
        hint = f"did you mean {near}?" if near else ""
        resolved: object = Fault(message=f"no quantity {name[:60]!r}", hint=hint)
    else:
        resolved = table.resolve(name, tuple(labels))
    if isinstance(resolved, Fault):
        raise UsageError(
            f"fields: {resolved.message}" + (f"; {resolved.hint}" if resolved.hint else "")
        )
    keys = getattr(resolved, "keys", ())
    return path_of((name, *labels)), tuple(key for key in keys if isinstance(key, tuple))


def lookup(subject: Subject) -> Lookup:
    """How an expression sees a device. A silent node's quantities are unknown, not their last value."""
    device = subject.present if speaks_for(subject.node_state) else None
    number = _unknown if device is None else device.number
    return answers(subject, number, lambda name: named(subject, name))


def _unknown(_series: Series) -> None:
    return None


def named(subject: Subject, key: str) -> Value | None:
    """A field that is no quantity. What a device or its owners do not say, a label of its node may."""
    if key in ("node", "host"):
        return subject.node
    if key == "device":
        return subject.device.name
    if key == "sample_age_s":
        return subject.age_s
    if key in ("state", "health", "node_state"):
        return str(getattr(subject, key))
    shown = subject.occupancy.shown
    value: Value | None = shown.get(key) or getattr(subject.device, key, None)
    if value is None:
        value = subject.labels.get(key)
    return shown.get("queue") if value is None and key == "partition" else value


def every(subject: Subject, key: str) -> tuple[str, ...]:
    """What a device is grouped by, as texts, each owner's by itself; empty where there is nothing."""
    if key not in _OF_SUBJECT:
        return belonging(key, subject.device, subject.occupancy, subject.labels)
    value = named(subject, key)
    return () if value is None else (str(value),)
