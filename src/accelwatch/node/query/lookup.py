"""What one thing answers to a name of an expression: a device, a process, a device of a fleet.

Names with their types are tables of `accelwatch.expr`; here are the answers.
"""

from collections.abc import Callable
from functools import cache
from typing import Protocol

import msgspec

from accelwatch.expr import MISSING, Key, Missing, NameTable, Type, Value, device_names
from accelwatch.schema.device import UP, DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Process
from accelwatch.schema.snapshot import DeviceView

Lookup = Callable[[Key], Value | Missing]

# Series that no reading has: they are state and health in numbers.
STATUS_SERIES = frozenset(
    {("device_up",), ("device_suspended",), *(("health", str(health)) for health in Health)}
)

# Names that a process has besides those of its device.
PROCESS_NAMES = {
    "pid": Type.NUMBER,
    "user": Type.STRING,
    "command": Type.STRING,
    "type": Type.STRING,
    "container": Type.STRING,
    "pod": Type.STRING,
    "job": Type.STRING,
    "gpu_memory_bytes": Type.NUMBER,
    "host_memory_bytes": Type.NUMBER,
    "cpu_utilization_ratio": Type.NUMBER,
    "gpu_utilization_ratio": Type.NUMBER,
}


class HealthStatus(Protocol):
    """Anything with a state and a health, as values of DeviceState and Health or of a fleet."""

    @property
    def state(self) -> str:
        """How it stands."""
        ...

    @property
    def health(self) -> str:
        """How it is judged."""
        ...


def answers(
    subject: HealthStatus,
    number: Callable[[Series], Number | None],
    named: Callable[[str], Value | None],
) -> Lookup:
    """A lookup: series by `number`, else by what follows from state and health; names by `named`."""

    def value(key: Key) -> Value | Missing:
        if not isinstance(key, tuple):
            named_value = named(key)
            return MISSING if named_value is None else named_value
        answer = number(key)
        if answer is None:
            answer = _status_number(subject, key)
        return MISSING if answer is None else answer

    return value


def _status_number(subject: HealthStatus, series: Series) -> int | None:
    """Series of the catalogue that no reading has, because they are state and health in numbers."""
    match series:
        case ("health", health):
            return int(subject.health == health)
        case ("device_up",):
            return int(subject.state in UP)
        case ("device_suspended",):
            return int(subject.state == DeviceState.SUSPENDED)
    return None


def lookup(view: DeviceView, host: str = "") -> Lookup:
    """How an expression sees one device: identity and state by name, quantities by series."""
    return answers(view, view.reading.values.get, lambda name: _named(view, name, host))


def _named(view: DeviceView, name: str, host: str) -> Value | None:
    if name == "host":
        return host or None
    if name == "device":
        return view.device.name
    of = view if name in ("state", "health", "sample_age_s") else view.device
    value: Value | None = getattr(of, name, None)
    return value


# The catalogue is constant, so the result is never invalid.
@cache
def process_names() -> NameTable:
    """The names that a condition on processes may use."""
    names = device_names()
    return msgspec.structs.replace(names, identity={**names.identity, **PROCESS_NAMES})


def process_lookup(process: Process | None, view: DeviceView | None, host: str = "") -> Lookup:
    """How an expression sees a process: its own names, then those of its device."""
    of_device = lookup(view, host) if view else None

    def value(key: Key) -> Value | Missing:
        if isinstance(key, str) and key in PROCESS_NAMES and process is not None:
            name = "utilization_ratio" if key == "gpu_utilization_ratio" else key
            answer: Value | None = getattr(process, name)
            return MISSING if answer is None else answer
        return of_device(key) if of_device else MISSING

    return value
