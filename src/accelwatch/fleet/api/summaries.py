"""The documents of the API, made from the fleet's state."""

from collections.abc import Mapping

import msgspec

from accelwatch.base.version import __version__
from accelwatch.fleet.api.query.totals import Totals, rounded
from accelwatch.fleet.documents.fleet import (
    BackendNote,
    FaultNote,
    HistoryDocument,
    NodePage,
    NodeSummary,
    TargetNote,
)
from accelwatch.fleet.names import SPEAKING, NodeState
from accelwatch.fleet.outages import LEAST_NODES, NodeHealth, Outage, largest_outages
from accelwatch.fleet.state.expected_nodes import missing_devices
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.history import STEP_S
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.state.nodes.source import TargetSource
from accelwatch.fleet.state.snapshots import snapshot_of
from accelwatch.fleet.table.windows import Steps
from accelwatch.fleet.wire import SCHEMA, Conflict, FleetDocument
from accelwatch.schema.json import wire
from accelwatch.schema.metrics import Series
from accelwatch.schema.series import path_of
from accelwatch.schema.timestamps import timestamp

_MAX_CONFLICTS = 100


def fleet_document(fleet: Fleet, sums: Totals) -> FleetDocument:
    """The fleet in numbers."""
    conflicts = sorted(fleet.conflicts().items())[:_MAX_CONFLICTS]
    return FleetDocument(
        schema=SCHEMA,
        version=__version__,
        time=timestamp(fleet.clock.wall()),
        nodes_total=sums.nodes.total(),
        nodes={state.value: sums.nodes[state] for state in NodeState},
        **sums.numbers(),
        conflicts=tuple(Conflict(uuid=uuid, nodes=tuple(sorted(on))) for uuid, on in conflicts),
        store=fleet.store,
        problems=fleet.problems,
        discovering=fleet.discovering(),
        outages=_outages(fleet, sums),
        leader=fleet.leader_note(),
    )


def _outages(fleet: Fleet, sums: Totals) -> tuple[Outage, ...]:
    silent = sum(count for state, count in sums.nodes.items() if state not in SPEAKING)
    if silent < LEAST_NODES:
        return ()
    nodes = node_healths(fleet)
    return largest_outages(nodes, len(nodes), fleet.clock.wall())


def node_healths(fleet: Fleet) -> list[NodeHealth]:
    """Every node as far as outages are concerned."""
    return [node_health(fleet, node) for node in fleet.nodes.values()]


def node_health(fleet: Fleet, node: Node) -> NodeHealth:
    """A node as far as outages are concerned."""
    return NodeHealth(node.name, fleet.state_of(node), fleet.age_of(node), node.why_silent)


def node_summary(fleet: Fleet, node: Node) -> NodeSummary:
    """One node in a list."""
    best, expected = node.best, node.expected
    age = fleet.age_of(node)
    skew = None if best is None else best.skew.seconds
    last_seen = best.arrived_wall if best is not None else expected.last_seen if expected else None
    return NodeSummary(
        node=node.name,
        state=fleet.state_of(node),
        age_s=rounded(age, 3),
        labels=node.labels,
        devices=len(node.devices),
        devices_expected=len(expected.devices) if expected else 0,
        devices_missing=len(missing_devices(node)),
        clock_skew_s=rounded(skew, 3),
        interval_s=None if best is None else best.interval_s,
        listed=not node.unlisted,
        acknowledged=bool(expected and expected.acknowledged is not None),
        first_seen=timestamp(expected.first_seen) if expected else None,
        last_seen=None if last_seen is None else timestamp(last_seen),
        targets=tuple(_target(source) for source in node.sources.values()),
        unusable=tuple(
            BackendNote(
                name=backend.name,
                reason=backend.reason,
                message=backend.message,
                remedy=backend.remedy,
            )
            for backend in node.unusable
        ),
        odd=fleet.odd.of(node.name),
        lemon=fleet.lemons.of(node.name),
        finding=fleet.finding_of(node.name),
    )


def _target(source: TargetSource) -> TargetNote:
    fault = source.fault
    return TargetNote(
        address=source.target.shown,
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


def node_page(fleet: Fleet, node: Node) -> NodePage:
    """One node with its snapshot as `accelwatch/2`."""
    summary = msgspec.structs.asdict(node_summary(fleet, node))
    return NodePage(**summary, snapshot=msgspec.Raw(wire.encode(snapshot_of(fleet, node))))


def _by_path(steps: Mapping[Series, Steps]) -> dict[str, Steps]:
    return {path_of(series): values for series, values in steps.items()}


def history_document(fleet: Fleet, node: Node, device_id: str) -> HistoryDocument:
    """Recent history of a device; without any values when nothing is kept of it."""
    kept = fleet.history.of_device(node, device_id)
    requested, growth = fleet.history.windows_of_device(node, device_id)
    return HistoryDocument(
        node=node.name,
        device=device_id,
        step_s=STEP_S,
        end=timestamp(fleet.clock.wall()),
        values=_by_path({**requested, **kept}),
        growth=_by_path(growth),
    )
