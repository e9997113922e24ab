"""Expositions of other exporters from tables: a row is a family with its value of a device."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch_lab.scenario.effects import DeviceCondition, apply
from accelwatch_lab.simulator.fleet import Fleet, Instant
from accelwatch_lab.simulator.nodes import Node, Unit


class DeviceSample(msgspec.Struct, frozen=True, kw_only=True):
    """What an exporter sees of one device."""

    node: Node
    unit: Unit
    values: Mapping[Series, Number]
    # Growth a second of the counters.
    rates: Mapping[Series, float]
    condition: DeviceCondition
    # Id of the job on it; empty without one.
    job: str


Value = Callable[[DeviceSample], Number | None]


class Family(msgspec.Struct, frozen=True):
    """One family of a foreign exposition."""

    name: str
    kind: str
    help: str
    value: Value


def scaled(scale: float, *series: str) -> Value:
    """A value of ours times a factor."""

    def value(sample: DeviceSample) -> Number | None:
        number = sample.values.get(series)
        return None if number is None else number * scale

    return value


def rounded(scale: float, *series: str) -> Value:
    """The same as a whole number."""

    def value(sample: DeviceSample) -> Number | None:
        number = sample.values.get(series)
        return None if number is None else round(number * scale)

    return value


def rate(scale: float, *series: str) -> Value:
    """The growth of a counter in a second, as a whole number."""
    return lambda sample: round(sample.rates[series] * scale) if series in sample.rates else None


def device_samples(fleet: Fleet, node: Node, instant: Instant) -> list[DeviceSample]:
    """Every device of a node that an exporter finds; a lost one is not found."""
    before = fleet.instant_at(max(0.0, instant.time_s - 1.0))
    condition = fleet.condition(node, instant)
    job, load = fleet.running(node, instant), fleet.load(node, instant)
    samples: list[DeviceSample] = []
    for at, unit in enumerate(node.units):
        suffered = condition.devices.get(at, DeviceCondition())
        if suffered.absence is Absence.LOST:
            continue
        values = fleet.values(unit, load, instant.time_s)
        earlier = fleet.values(unit, fleet.load(node, before), before.time_s)
        growth = {
            series: float(value - earlier[series])
            for series, value in values.items()
            if series[0].endswith("_total")
        }
        if condition.booted_s is not None:
            fleet.restart_counters(values, node, unit, condition.booted_s)
        apply(values, suffered)
        samples.append(
            DeviceSample(
                node=node,
                unit=unit,
                values=values,
                rates=growth,
                condition=suffered,
                job=job.id if job is not None else "",
            )
        )
    return samples


def label_text(labels: Mapping[str, str]) -> str:
    """Labels between braces; those without a value are left out."""
    inner = ",".join(f'{name}="{value}"' for name, value in labels.items() if value)
    return "{" + inner + "}"


def exposition(
    families: Iterable[Family],
    samples: list[tuple[DeviceSample, str]],
    number: Callable[[DeviceSample, Number], str | None],
) -> str:
    """Families with a line for each device; `number` writes a value, None leaves the line out."""
    chunks: list[str] = []
    for family in families:
        lines: list[str] = []
        for sample, labels in samples:
            value = family.value(sample)
            text = None if value is None else number(sample, value)
            if text is not None:
                lines.append(f"{family.name}{labels} {text}\n")
        if lines:
            chunks.append(f"# HELP {family.name} {family.help}\n")
            chunks.append(f"# TYPE {family.name} {family.kind}\n")
            chunks += lines
    return "".join(chunks)
