"""Expositions of other exporters from tables: a row is a family with its value of a device."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.scenario.effects import DeviceCondition, apply
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch_simulator.fleet import Fleet, Moment
from accelwatch_simulator.nodes import Node, Unit


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """What an exporter sees of one device."""

    node: Node
    unit: Unit
    values: Mapping[Series, Number]
    rates: Mapping[Series, float]
    """Growth a second of the counters."""
    condition: DeviceCondition
    job: str
    """Id of the job on it; empty without one."""


Value = Callable[[Sight], Number | None]


class Family(msgspec.Struct, frozen=True):
    """One family of a foreign exposition."""

    name: str
    kind: str
    help: str
    value: Value


def scaled(scale: float, *series: str) -> Value:
    """A value of ours times a factor."""

    def value(sight: Sight) -> Number | None:
        number = sight.values.get(series)
        return None if number is None else number * scale

    return value


def whole(scale: float, *series: str) -> Value:
    """The same as a whole number."""

    def value(sight: Sight) -> Number | None:
        number = sight.values.get(series)
        return None if number is None else round(number * scale)

    return value


def rate(scale: float, *series: str) -> Value:
    """The growth of a counter in a second, as a whole number."""
    return lambda sight: round(sight.rates[series] * scale) if series in sight.rates else None


def sights(fleet: Fleet, node: Node, moment: Moment) -> list[Sight]:
    """Every device of a node that an exporter finds; a lost one is not found."""
    before = fleet.moment(max(0.0, moment.time_s - 1.0))
    condition = fleet.condition(node, moment)
    job, load = fleet.running(node, moment), fleet.load(node, moment)
    sights: list[Sight] = []
    for at, unit in enumerate(node.units):
        suffered = condition.devices.get(at, DeviceCondition())
        if suffered.absence is Absence.LOST:
            continue
        values = fleet.values(unit, load, moment.time_s)
        earlier = fleet.values(unit, fleet.load(node, before), before.time_s)
        growth = {
            series: float(value - earlier[series])
            for series, value in values.items()
            if series[0].endswith("_total")
        }
        if condition.booted_s is not None:
            fleet.begin_anew(values, node, unit, condition.booted_s)
        apply(values, suffered)
        sights.append(
            Sight(
                node=node,
                unit=unit,
                values=values,
                rates=growth,
                condition=suffered,
                job=job.id if job is not None else "",
            )
        )
    return sights


def label_text(labels: Mapping[str, str]) -> str:
    """Labels between braces; those without a value are left out."""
    inner = ",".join(f'{name}="{value}"' for name, value in labels.items() if value)
    return "{" + inner + "}"


def exposition(
    families: Iterable[Family],
    seen: list[tuple[Sight, str]],
    number: Callable[[Sight, Number], str | None],
) -> str:
    """Families with a line for each device; `number` writes a value, None leaves the line out."""
    parts: list[str] = []
    for family in families:
        lines: list[str] = []
        for sight, labels in seen:
            value = family.value(sight)
            text = None if value is None else number(sight, value)
            if text is not None:
                lines.append(f"{family.name}{labels} {text}\n")
        if lines:
            parts.append(f"# HELP {family.name} {family.help}\n")
            parts.append(f"# TYPE {family.name} {family.kind}\n")
            parts += lines
    return "".join(parts)
