"""Every node and device of an archive at a moment: who is expected, their last words, whose they are."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from accelwatch.archive.history.reading.presence import LastSeen
from accelwatch.archive.history.rows import EventRow, JobRow
from accelwatch.fleet.names import NodeState
from accelwatch.fleet.replay.reading import status
from accelwatch.fleet.replay.reading.archive_scan import EXPECTED_MS
from accelwatch.fleet.replay.reading.jobs import Jobs, occupancy
from accelwatch.fleet.replay.reading.recent import Latest
from accelwatch.fleet.replay.reading.slot_registry import SlotRegistry, ordered
from accelwatch.fleet.replay.reading.subject import Subject
from accelwatch.fleet.state.nodes import losses
from accelwatch.fleet.wire import NodeNow
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.health import EVENT_MEMORY_S
from accelwatch.schema.metrics import Series
from accelwatch.schema.natural_order import natural
from accelwatch.schema.reading import Number

# Node and device.
_Pair = tuple[str, str]


class FleetSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A fleet at one moment, ordered by the names of nodes and the ids of devices."""

    # Unix seconds.
    time: float
    nodes: tuple[NodeNow, ...]
    subjects: tuple[Subject, ...]


class Recorded(NamedTuple):
    """An archive's records of a time."""

    devices: Latest
    nodes: Latest
    # Who reported before, and when last.
    last_seen: LastSeen
    # Of what was seen.
    models: Sequence[str]
    events: Iterable[EventRow]


class _Device(msgspec.Struct, kw_only=True):
    # Unix milliseconds of its newest row.
    last: int
    model: str = ""
    values: Mapping[Series, Number] = {}
    # Unix seconds; when it was read last within reach.
    read_at: float = -math.inf
    # For how long its reads have failed.
    failing_s: float = 0.0


class _Context(NamedTuple):
    """What the devices of all nodes share."""

    now: int
    interval_s: float
    # Those that health remembers.
    events: Mapping[_Pair, list[ErrorEvent]]
    # All that are at hand.
    logged: Mapping[_Pair, list[ErrorEvent]]
    running: Mapping[_Pair, list[JobRow]]
    slots: SlotRegistry


def fleet_snapshot_of(
    now: int, interval_s: float, recorded: Recorded, jobs: Jobs, slots: SlotRegistry
) -> FleetSnapshot:
    """The fleet at `now`, Unix milliseconds."""
    by_node, last_seen = _gathered(now, recorded)
    logged = status.by_device(recorded.events, 0)
    since = (now - round(EVENT_MEMORY_S * 1000)) / 1000
    recent = {who: [event for event in its if event.time >= since] for who, its in logged.items()}
    context = _Context(now, interval_s, recent, logged, jobs.at(now), slots)
    subjects: list[Subject] = []
    nodes: list[NodeNow] = []
    for node in sorted(last_seen, key=natural):
        age_s = (now - last_seen[node]) / 1000
        state = status.node_state(age_s, interval_s)
        mine = list(_subjects(node, state, by_node.get(node, {}), context))
        subjects += mine
        missing = sum(subject.state == "missing" for subject in mine)
        nodes.append(NodeNow(node, state.value, age_s, missing))
    return FleetSnapshot(time=now / 1000, nodes=tuple(nodes), subjects=tuple(subjects))


def _subjects(
    node: str, node_state: NodeState, devices: Mapping[str, _Device], context: _Context
) -> Iterator[Subject]:
    """The devices of a node, in their order."""
    node_jobs = context.running.get((node, ""), [])
    for device, index in ordered(devices).items():
        record, pair = devices[device], (node, device)
        who = occupancy([*node_jobs, *context.running.get(pair, [])])
        age_s = (context.now - record.last) / 1000
        happened = context.events.get(pair, ())
        reported_at = status.reported_lost_at(context.logged.get(pair, ()))
        is_lost = losses.is_lost(record.failing_s, reported_at, record.read_at)
        unread = status.unread_state(record.values, is_lost=is_lost)
        state = status.device_state(node_state, age_s, unread, context.interval_s)
        yield Subject(
            device_slot=context.slots.register(node, device, index, record.model, who),
            node_state=node_state.value,
            state=state,
            health=status.health(state, record.values, happened, context.now / 1000),
            age_s=age_s,
            values={} if state == "missing" else record.values,
        )


def _gathered(now: int, recorded: Recorded) -> tuple[dict[str, dict[str, _Device]], dict[str, int]]:
    """Devices by node and id, and when each node last reported."""
    by_node: dict[str, dict[str, _Device]] = {}
    last_seen: dict[str, int] = {}
    for at in np.flatnonzero(recorded.last_seen.last >= max(now - EXPECTED_MS, 0)).tolist():
        (node, device), last = recorded.last_seen.entities[at], int(recorded.last_seen.last[at])
        last_seen[node] = max(last_seen.get(node, 0), last)
        if device:
            by_node.setdefault(node, {})[device] = _Device(last=last, model=recorded.models[at])
    for node, device, record in _newest(recorded.devices):
        by_node.setdefault(node, {})[device] = record
        last_seen[node] = max(last_seen.get(node, 0), record.last)
    nodes = recorded.nodes
    for at in np.flatnonzero(nodes.times >= 0).tolist():
        node = nodes.entities[at].node
        last_seen[node] = max(last_seen.get(node, 0), int(nodes.times[at]))
    return by_node, last_seen


def _newest(devices: Latest) -> Iterator[tuple[str, str, _Device]]:
    """Node, id and newest row of the devices that have one within reach."""
    names = list(devices.columns)
    columns = [devices.columns[series].tolist() for series in names]
    rows = list(zip(*columns, strict=True)) if columns else [()] * len(devices.times)
    for at in np.flatnonzero(devices.times >= 0).tolist():
        entity = devices.entities[at]
        pairs = zip(names, rows[at], strict=True)
        values = {series: value for series, value in pairs if value == value}  # noqa: PLR0124 - NaN
        last, read_at = int(devices.times[at]), int(devices.failing.read_at[at])
        since = int(devices.failing.since[at])
        record = _Device(
            last=last,
            model=entity.model,
            values=values,
            read_at=read_at / 1000 if read_at >= 0 else -math.inf,
            failing_s=(last - since) / 1000 if since >= 0 else 0.0,
        )
        yield entity.node, entity.device, record
