"""The documents of the API, made from the fleet's state."""

from collections import Counter
from typing import Any

import msgspec

from accelwatch.fleet.api.documents import (
    SCHEMA,
    Conflict,
    FaultNote,
    FleetDocument,
    HistoryDocument,
    NodeSummary,
    TargetNote,
)
from accelwatch.fleet.api.rows import Totals, age_s, rounded
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.history import QUANTITIES, STEP_S
from accelwatch.fleet.state.liveness import NodeState
from accelwatch.fleet.state.node import Node
from accelwatch.fleet.state.readings import Held
from accelwatch.fleet.state.source import Source
from accelwatch.natural_order import device_order
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.reading import wholly_absent
from accelwatch.schema.series import path_of
from accelwatch.schema.snapshot import BackendStatus, DeviceView, ReadFailure, Snapshot
from accelwatch.schema.wire import timestamp, to_document
from accelwatch.version import __version__

_MAX_CONFLICTS = 100
_backends = msgspec.msgpack.Decoder(tuple[BackendStatus, ...]).decode
_failures = msgspec.msgpack.Decoder(tuple[ReadFailure, ...]).decode


def fleet_document(fleet: Fleet, sums: Totals) -> FleetDocument:
    """The fleet in numbers."""
    nodes = Counter(fleet.state_of(node).value for node in fleet.nodes.values())
    conflicts = sorted(fleet.conflicts().items())[:_MAX_CONFLICTS]
    return FleetDocument(
        schema=SCHEMA,
        version=__version__,
        time=timestamp(fleet.clock.wall()),
        nodes_total=len(fleet.nodes),
        nodes={state.value: nodes.get(state.value, 0) for state in NodeState},
        **sums.numbers(),
        conflicts=tuple(Conflict(uuid=uuid, nodes=tuple(sorted(on))) for uuid, on in conflicts),
        store=fleet.store,
        problems=fleet.problems,
    )


def node_summary(fleet: Fleet, node: Node) -> NodeSummary:
    """One node in a list."""
    best, expected = node.best, node.expected
    age = fleet.age_of(node)
    skew = None if best is None else best.skew.seconds
    seen = best.arrived_wall if best is not None else expected.last_seen if expected else None
    return NodeSummary(
        node=node.name,
        state=fleet.state_of(node),
        age_s=rounded(age, 3),
        labels=node.labels,
        devices=len(node.devices),
        devices_expected=len(expected.devices) if expected else 0,
        devices_missing=len(fleet.missing(node)),
        clock_skew_s=rounded(skew, 3),
        interval_s=None if best is None else best.interval_s,
        listed=not node.unlisted,
        acknowledged=bool(expected and expected.acknowledged is not None),
        first_seen=timestamp(expected.first_seen) if expected else None,
        last_seen=None if seen is None else timestamp(seen),
        targets=tuple(_target(source) for source in node.sources.values()),
    )


def _target(source: Source) -> TargetNote:
    fault = source.fault
    return TargetNote(
        address=source.target.address + source.target.base,
        mode=source.mode,
        dialect=source.dialect,
        version=source.version,
        connected=source.connected,
        failures_total=source.faults_total,
        missed_ticks_total=source.gaps_total,
        restarts_total=source.restarts_total,
        read_duration_s=rounded(source.read_s, 6),
        fault=None if fault is None else FaultNote(reason=fault.reason, message=str(fault)),
        rejected=source.rejected,
    )


def node_snapshot(fleet: Fleet, node: Node) -> dict[str, Any]:
    """The node as `accelwatch/1`, as its own agent would answer; missing devices are lost rows."""
    return to_document(snapshot_of(fleet, node))


def snapshot_of(fleet: Fleet, node: Node) -> Snapshot:
    """The node as it stands; missing devices are lost rows."""
    best, now = node.best, fleet.clock.monotonic()
    views = [view(node, held, now) for held in node.devices.values()]
    if fleet.missing(node):
        views += [_missing_view(fleet, node, device.id) for device in fleet.missing(node)]
    place = device_order(one.device for one in views)
    views.sort(key=lambda one: place(one.device))
    host = node.host
    backends, errors = _read_through(node)
    return Snapshot(
        time=fleet.clock.wall(),
        host=node.name,
        version=best.version if best is not None else "",
        boot_id=best.boot_id if best is not None else "",
        interval_s=best.interval_s if best is not None else None,
        devices=tuple(views),
        node=None if host is None else view(node, host, now),
        backends=backends,
        events=tuple(noted.event for noted in fleet.events.of(node.name)),
        errors=errors,
    )


def _read_through(node: Node) -> tuple[tuple[BackendStatus, ...], tuple[ReadFailure, ...]]:
    """Backends and failures as a stream of the node told them, or nothing."""
    for source in node.sources.values():
        told = source.backends
        try:
            found = _backends(told.backends), _failures(told.errors)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if any(found):
            return found
    return (), ()


def view(node: Node, held: Held, now: float) -> DeviceView:
    """One device as a view; its times are on our clock when the node's is far off."""
    source = node.origin(held)
    state, since, usage = DeviceState(held.state), held.state_since, held.usage
    sampled, age = held.sample_time, None
    if source is not None:
        since = source.skew.ours(since)
        sampled = None if sampled is None else source.skew.ours(sampled)
        if held.device.id in node.devices:
            age = age_s(node, held.device.id, now)
    return DeviceView(
        device=held.device,
        state=state,
        state_since=since,
        reading=held.reading(),
        sample_time=sampled,
        sample_age_s=age,
        health=Health(held.health),
        health_reasons=usage.health_reasons,
        owners=usage.occupancy.owners,
        event_counts=usage.event_counts,
    )


def _missing_view(fleet: Fleet, node: Node, device_id: str) -> DeviceView:
    assert node.expected is not None
    return DeviceView(
        device=node.expected.devices[device_id],
        state=DeviceState.LOST,
        state_since=fleet.clock.wall(),
        reading=wholly_absent(device_id, Absence.LOST),
        health=Health.FAILED,
        health_reasons=("the node does not list the device any more",),
    )


def history_document(fleet: Fleet, node: Node, device_id: str) -> HistoryDocument:
    """Recent history of a device; without any values when nothing is kept of it."""
    step = int(fleet.clock.monotonic() // STEP_S)
    kept = node.history(device_id)
    return HistoryDocument(
        node=node.name,
        device=device_id,
        step_s=STEP_S,
        end=timestamp(fleet.clock.wall()),
        values={}
        if kept is None
        else {path_of(series): kept.rows(series, step) for series in QUANTITIES},
    )
