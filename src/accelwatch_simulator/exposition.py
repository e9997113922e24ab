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
from accelwatch_simulator.fleet import Fleet, Moment
from accelwatch_simulator.nodes import Node

Render = Callable[[Snapshot, bool], str]
"""An exposition of a snapshot; true asks for OpenMetrics."""

_MARK = re.compile(r"@hole (\d+)@")
"""Printable, because labels are rendered with what is not escaped; no name or number reads so."""
_MAX_FORMS = 256


def _mark(place: int) -> str:
    return f"@hole {place}@"


class _Hole(float):
    """A number that prints as the mark of its place."""

    place = 0

    def __repr__(self) -> str:
        return _mark(self.place)


def _hole(place: int) -> _Hole:
    hole = _Hole()
    hole.place = place
    return hole


class _Form:
    def __init__(self, text: str, numbers: frozenset[int]) -> None:
        places = [int(place) for place in _MARK.findall(text)]
        self._places = itemgetter(*places)
        self._text = _MARK.sub(
            lambda match: "%r" if int(match[1]) in numbers else "%s", text.replace("%", "%%")
        )

    def filled(self, filling: list[object]) -> str:
        text: str = self._text % self._places(filling)
        return text


class Expositions:
    """Renders /metrics of nodes; keeps the forms."""

    def __init__(self, fleet: Fleet, render: Render) -> None:
        self._fleet = fleet
        self._render = render
        self._forms: dict[tuple[str, str, bool], _Form] = {}

    def text(self, node: Node, moment: Moment, openmetrics: bool) -> str:
        """The exposition of a node."""
        fleet = self._fleet
        condition = fleet.condition(node, moment)
        job = fleet.running(node, moment)
        booted = condition.booted_s is not None
        if condition.devices or booted or (job is not None and job.namespace):
            return self._render(fleet.snapshot(node, moment), openmetrics)
        load = fleet.load(node, moment)
        key = (node.vendor, job.name if job is not None else "", openmetrics)
        form = self._forms.get(key)
        if form is None:
            if len(self._forms) >= _MAX_FORMS:
                self._forms.clear()
            form = self._forms[key] = self._form(fleet.snapshot(node, moment), node, openmetrics)
        filling: list[object] = [fleet.wall(moment, condition)]
        for unit in node.units:
            fractions, wholes = fleet.moving(unit, load, moment.time_s)
            filling += (unit.device.uuid, unit.device.serial, *fractions, *wholes)
        return form.filled(filling)

    def _form(self, snapshot: Snapshot, node: Node, openmetrics: bool) -> _Form:
        place = 1
        numbers = {0}
        views: list[DeviceView] = []
        for view, unit in zip(snapshot.devices, node.units, strict=True):
            moving = len(unit.plan.fractions) + len(unit.plan.wholes)
            names = unit.plan.series[:moving]
            numbers |= set(range(place + 2, place + 2 + moving))
            views.append(_holed(view, place, names))
            place += 2 + moving
        marked = msgspec.structs.replace(snapshot, devices=tuple(views))
        return _Form(self._render(marked, openmetrics), frozenset(numbers))


def _holed(view: DeviceView, place: int, moving: tuple[Series, ...]) -> DeviceView:
    """A device whose uuid, serial, sample time and moving values print as marks."""
    replace = msgspec.structs.replace
    values: dict[Series, Number] = dict(view.reading.values)
    for at, series in enumerate(moving):
        values[series] = _hole(place + 2 + at)
    marks = {"uuid": _mark(place), "serial": _mark(place + 1)}
    return replace(
        view,
        device=replace(view.device, **marks),
        sample_time=_hole(0),
        reading=replace(view.reading, values=values),
    )
