"""What the catalogue's column `otel` means: a metric of the semantic conventions and its attributes.

`hw.gpu.io{network.io.direction=$direction}` is the metric `hw.gpu.io` whose attribute is our label
`direction`; a value without `$` is the attribute itself. Labels that are not named keep their names. A
row without the column goes out under its Prometheus family, so that rules find it there.
"""

from enum import StrEnum
from functools import cache

import msgspec

from accelwatch.schema.device import DeviceKind
from accelwatch.schema.metrics import Kind, Metric, Scope

# Units of the catalogue as UCUM writes them; of things that are counted, `{thing}`.
_UCUM = {
    "": "",
    "amperes": "A",
    "bytes": "By",
    "bytes/s": "By/s",
    "celsius": "Cel",
    "hertz": "Hz",
    "joules": "J",
    "ratio": "1",
    "rpm": "rpm",
    "seconds": "s",
    "unix seconds": "s",
    "volts": "V",
    "watts": "W",
}
_GPU_ONLY = "hw.gpu."


class Instrument(StrEnum):
    """What a receiver may do with the numbers."""

    GAUGE = "gauge"
    # A cumulative, monotonic sum.
    COUNTER = "counter"
    # A cumulative sum that may fall.
    UP_DOWN = "updowncounter"


class Convention(msgspec.Struct, frozen=True):
    """A metric as the semantic conventions define it."""

    instrument: Instrument
    unit: str
    # Whether it is of a part of the device (a sensor, a fan), which then has a `hw.id` of its own.
    is_component: bool = False


# opentelemetry.io/docs/specs/semconv/hardware, version 1.44.
CONVENTIONS = {
    "hw.energy": Convention(Instrument.COUNTER, "J"),
    "hw.errors": Convention(Instrument.COUNTER, "{error}"),
    "hw.fan.speed": Convention(Instrument.GAUGE, "rpm", is_component=True),
    "hw.fan.speed_ratio": Convention(Instrument.GAUGE, "1", is_component=True),
    "hw.gpu.io": Convention(Instrument.COUNTER, "By"),
    "hw.gpu.memory.limit": Convention(Instrument.UP_DOWN, "By"),
    "hw.gpu.memory.usage": Convention(Instrument.UP_DOWN, "By"),
    "hw.gpu.utilization": Convention(Instrument.GAUGE, "1"),
    "hw.power": Convention(Instrument.GAUGE, "W"),
    "hw.status": Convention(Instrument.UP_DOWN, "1"),
    "hw.temperature": Convention(Instrument.GAUGE, "Cel", is_component=True),
    "hw.temperature.limit": Convention(Instrument.GAUGE, "Cel", is_component=True),
    "hw.voltage": Convention(Instrument.GAUGE, "V", is_component=True),
}

# Our words for values that the conventions have others for.
_VALUE_NAMES = {
    "hw.limit_type": {"shutdown": "high.critical", "slowdown": "high.degraded"},
}


class Outlet(msgspec.Struct, frozen=True):
    """How a row of the catalogue goes out."""

    name: str
    unit: str
    instrument: Instrument
    help: str
    # Those that are the same for every series.
    attributes: tuple[tuple[str, str], ...] = ()
    # What the row's labels are called, in their order.
    labels: tuple[str, ...] = ()
    # Other words for the values of each label.
    value_names: tuple[dict[str, str], ...] = ()
    conventional: bool = False
    is_component: bool = False


def unit_of(row: Metric) -> str:
    """The unit of a row in UCUM."""
    unit = _UCUM.get(row.unit)
    return f"{{{row.unit.removesuffix('s')}}}" if unit is None else unit


# The catalogue is constant, so the result is never invalid.
@cache
def outlet(row: Metric, kind: DeviceKind) -> Outlet:
    """The outlet of a row for a kind of device; `hw.gpu.*` is of GPUs only."""
    if not row.otel or (row.otel.startswith(_GPU_ONLY) and kind is not DeviceKind.GPU):
        return _by_family(row)
    name, attributes = parsed(row.otel)
    convention = CONVENTIONS[name]
    renamed = {value[1:]: key for key, value in attributes.items() if value.startswith("$")}
    labels = tuple(renamed.get(label, label) for label in row.labels)
    return Outlet(
        name=name,
        unit=convention.unit,
        instrument=convention.instrument,
        help=row.help,
        attributes=tuple((key, value) for key, value in attributes.items() if value[0] != "$"),
        labels=labels,
        value_names=tuple(_VALUE_NAMES.get(label, {}) for label in labels),
        conventional=row.scope is Scope.DEVICE,
        is_component=convention.is_component,
    )


def parsed(otel: str) -> tuple[str, dict[str, str]]:
    """The metric and its attributes, each with a value or `$` and one of our labels."""
    name, _, inside = otel.removesuffix("}").partition("{")
    return name, dict(pair.split("=", 1) for pair in inside.split(",") if pair)


def _by_family(row: Metric) -> Outlet:
    instrument = Instrument.COUNTER if row.kind is Kind.COUNTER else Instrument.GAUGE
    return Outlet(
        name=row.family,
        unit=unit_of(row),
        instrument=instrument,
        help=row.help,
        labels=row.labels,
        value_names=({},) * len(row.labels),
    )
