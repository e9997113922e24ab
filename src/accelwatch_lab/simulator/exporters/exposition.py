"""Our own /metrics for thousands of nodes: the exposition of one node made into a form with holes.

The text comes from the exporter that agents use, rendered once per kind of node from numbers that print
as marks; filling the holes costs a tenth of rendering. A node where a device suffers is rendered, as is
one of a pod.
"""

import re
from collections.abc import Callable
from operator import itemgetter

import msgspec

from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView, Snapshot
from accelwatch_lab.simulator.fleet import Fleet, Instant
from accelwatch_lab.simulator.nodes import Node

# An exposition of a snapshot; true is for OpenMetrics.
Render = Callable[[Snapshot, bool], str]

# Printable, because labels are rendered with what is not escaped; no name or number reads so.
_PLACEHOLDER = re.compile(r"@hole (\d+)@")
_MAX_FORMS = 256


def _placeholder(index: int) -> str:
    return f"@hole {index}@"


class _Hole(float):
    """A number that prints as the mark of its position."""

    index = 0

    def __repr__(self) -> str:
        return _placeholder(self.index)


def _hole(index: int) -> _Hole:
    hole = _Hole()
    hole.index = index
    return hole


class _Form:
    def __init__(self, text: str, numbers: frozenset[int]) -> None:
        indices = [int(index) for index in _PLACEHOLDER.findall(text)]
        self._select_values = itemgetter(*indices)
        self._text = _PLACEHOLDER.sub(
            lambda match: "%r" if int(match[1]) in numbers else "%s", text.replace("%", "%%")
        )

    def filled(self, filling: list[object]) -> str:
        text: str = self._text % self._select_values(filling)
        return text


class Expositions:
    """Renders /metrics of nodes; keeps the forms."""

    def __init__(self, fleet: Fleet, render: Render) -> None:
        self._fleet = fleet
        self._render = render
        self._forms: dict[tuple[str, str, bool], _Form] = {}

    def text(self, node: Node, instant: Instant, openmetrics: bool) -> str:
        """The exposition of a node."""
        fleet = self._fleet
        condition = fleet.condition(node, instant)
        job = fleet.running(node, instant)
        booted = condition.booted_s is not None
        if condition.devices or booted or (job is not None and job.namespace):
            return self._render(fleet.snapshot(node, instant), openmetrics)
        load = fleet.load(node, instant)
        key = (node.vendor, job.name if job is not None else "", openmetrics)
        form = self._forms.get(key)
        if form is None:
            if len(self._forms) >= _MAX_FORMS:
                self._forms.clear()
            form = self._forms[key] = self._form(fleet.snapshot(node, instant), node, openmetrics)
        filling: list[object] = [fleet.wall(instant, condition)]
        for unit in node.units:
            fractions, wholes = fleet.moving(unit, load, instant.time_s)
            filling += (unit.device.uuid, unit.device.serial, *fractions, *wholes)
        return form.filled(filling)

    def _form(self, snapshot: Snapshot, node: Node, openmetrics: bool) -> _Form:
        index = 1
        numbers = {0}
        views: list[DeviceView] = []
        for view, unit in zip(snapshot.devices, node.units, strict=True):
            moving = len(unit.plan.fractions) + len(unit.plan.wholes)
            names = unit.plan.series[:moving]
            numbers |= set(range(index + 2, index + 2 + moving))
            views.append(_holed(view, index, names))
            index += 2 + moving
        with_placeholders = msgspec.structs.replace(snapshot, devices=tuple(views))
        return _Form(self._render(with_placeholders, openmetrics), frozenset(numbers))


def _holed(view: DeviceView, index: int, moving: tuple[Series, ...]) -> DeviceView:
    """A device whose uuid, serial, sample time and moving values print as marks."""
    replace = msgspec.structs.replace
    values: dict[Series, Number] = dict(view.reading.values)
    for at, series in enumerate(moving):
        values[series] = _hole(index + 2 + at)
    placeholders = {"uuid": _placeholder(index), "serial": _placeholder(index + 1)}
    return replace(
        view,
        device=replace(view.device, **placeholders),
        sample_time=_hole(0),
        reading=replace(view.reading, values=values),
    )
