"""Every node and device of an archive at a moment: who is expected, their last words, whose they are."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from accelwatch.archive.history.presence import Seen
from accelwatch.archive.history.rows import EventRow, JobRow
from accelwatch.fleet.names import NodeState
from accelwatch.fleet.replay import standing
from accelwatch.fleet.replay.jobs import Jobs, occupancy
from accelwatch.fleet.replay.places import Places, ordered
from accelwatch.fleet.replay.recent import Latest
from accelwatch.fleet.replay.subject import Subject
from accelwatch.fleet.replay.survey import EXPECTED_MS
from accelwatch.fleet.state import losses
from accelwatch.fleet.wire import NodeNow
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.health import EVENT_MEMORY_S
from accelwatch.schema.metrics import Series
from accelwatch.schema.natural_order import natural
from accelwatch.schema.reading import Number

_Pair = tuple[str, str]
"""Node and device."""


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """A fleet at one moment, ordered by the names of nodes and the ids of devices."""

    time: float
    """Unix seconds."""
    nodes: tuple[NodeNow, ...]
    subjects: tuple[Subject, ...]


class Told(NamedTuple):
    """What an archive tells of a moment."""

    devices: Latest
    nodes: Latest
    seen: Seen
    """Who was heard before, and when last."""
    models: Sequence[str]
    """Of what was seen."""
    events: Iterable[EventRow]


class _Device(msgspec.Struct, kw_only=True):
    last: int
    """Unix milliseconds of its newest row."""
    model: str = ""
    values: Mapping[Series, Number] = {}
    read_at: float = -math.inf
    """Unix seconds; when it was read last within reach."""
    failing_s: float = 0.0
    """For how long its reads have failed."""


class _Context(NamedTuple):
    """What the devices of all nodes share."""

    now: int
    interval_s: float
    events: Mapping[_Pair, list[ErrorEvent]]
    """Those that health remembers."""
    logged: Mapping[_Pair, list[ErrorEvent]]
    """All that are at hand."""
    running: Mapping[_Pair, list[JobRow]]
    places: Places


def moment_of(now: int, interval_s: float, told: Told, jobs: Jobs, places: Places) -> Moment:
    """The fleet at `now`, Unix milliseconds."""
    by_node, heard = _gathered(now, told)
    logged = standing.by_device(told.events, 0)
    since = (now - round(EVENT_MEMORY_S * 1000)) / 1000
    recent = {who: [one for one in its if one.time >= since] for who, its in logged.items()}
    context = _Context(now, interval_s, recent, logged, jobs.at(now), places)
    subjects: list[Subject] = []
    nodes: list[NodeNow] = []
    for node in sorted(heard, key=natural):
        age_s = (now - heard[node]) / 1000
        state = standing.node_state(age_s, interval_s)
        mine = list(_subjects(node, state, by_node.get(node, {}), context))
        subjects += mine
        missing = sum(one.state == "missing" for one in mine)
        nodes.append(NodeNow(node, state.value, age_s, missing))
    return Moment(time=now / 1000, nodes=tuple(nodes), subjects=tuple(subjects))


def _subjects(
    node: str, node_state: NodeState, devices: Mapping[str, _Device], context: _Context
) -> Iterator[Subject]:
    """The devices of a node, in their order."""
    whole = context.running.get((node, ""), [])
    for device, index in ordered(devices).items():
        known, pair = devices[device], (node, device)
        who = occupancy([*whole, *context.running.get(pair, [])])
        age_s = (context.now - known.last) / 1000
        happened = context.events.get(pair, ())
        said_at = standing.said_lost_at(context.logged.get(pair, ()))
        is_lost = losses.is_lost(known.failing_s, said_at, known.read_at)
        unread = standing.unread_state(known.values, is_lost=is_lost)
        state = standing.device_state(node_state, age_s, unread, context.interval_s)
        yield Subject(
            place=context.places.place(node, device, index, known.model, who),
            node_state=node_state.value,
            state=state,
            health=standing.health(state, known.values, happened, context.now / 1000),
            age_s=age_s,
            values={} if state == "missing" else known.values,
        )


def _gathered(now: int, told: Told) -> tuple[dict[str, dict[str, _Device]], dict[str, int]]:
    """Devices by node and id, and when each node was last heard."""
    by_node: dict[str, dict[str, _Device]] = {}
    heard: dict[str, int] = {}
    for at in np.flatnonzero(told.seen.last >= max(now - EXPECTED_MS, 0)).tolist():
        (node, device), last = told.seen.entities[at], int(told.seen.last[at])
        heard[node] = max(heard.get(node, 0), last)
        if device:
            by_node.setdefault(node, {})[device] = _Device(last=last, model=told.models[at])
    for node, device, known in _newest(told.devices):
        by_node.setdefault(node, {})[device] = known
        heard[node] = max(heard.get(node, 0), known.last)
    nodes = told.nodes
    for at in np.flatnonzero(nodes.times >= 0).tolist():
        node = nodes.entities[at].node
        heard[node] = max(heard.get(node, 0), int(nodes.times[at]))
    return by_node, heard


def _newest(devices: Latest) -> Iterator[tuple[str, str, _Device]]:
    """Node, id and newest row of the devices that have one within reach."""
    names = list(devices.columns)
    columns = [devices.columns[series].tolist() for series in names]
    rows = list(zip(*columns, strict=True)) if columns else [()] * len(devices.times)
    for at in np.flatnonzero(devices.times >= 0).tolist():
        entity = devices.entities[at]
        told = zip(names, rows[at], strict=True)
        values = {series: value for series, value in told if value == value}  # noqa: PLR0124 - NaN
        last, read_at = int(devices.times[at]), int(devices.failing.read_at[at])
        since = int(devices.failing.since[at])
        known = _Device(
            last=last,
            model=entity.model,
            values=values,
            read_at=read_at / 1000 if read_at >= 0 else -math.inf,
            failing_s=(last - since) / 1000 if since >= 0 else 0.0,
        )
        yield entity.node, entity.device, known
