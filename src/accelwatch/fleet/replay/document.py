"""One moment of an archive as the documents that a hub answers with, for what is printed."""

from collections.abc import Sequence

import msgspec

from accelwatch.expr import Expression
from accelwatch.fleet.api.query.names import Column, all_series, columns
from accelwatch.fleet.documents.fleet import DeviceRow, GroupRow, NodeSummary
from accelwatch.fleet.hub_client.once import FleetDocuments
from accelwatch.fleet.picture import grouping
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.replay.archive import ReplayedArchive
from accelwatch.fleet.replay.reading.fleet_snapshot import FleetSnapshot
from accelwatch.fleet.replay.reading.subject import Subject, matches
from accelwatch.fleet.replay.view import field, totals
from accelwatch.fleet.wire import NodeNow
from accelwatch.schema.reading import Number
from accelwatch.schema.status.device_status import effective_state, severity
from accelwatch.schema.timestamps import timestamp


class ReplayQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be printed of a moment."""

    # `nodes`, `devices` or `groups`.
    rows: str = "nodes"
    condition: str = ""
    # Of devices; the usual ones when empty.
    fields: tuple[str, ...] = ()
    # By what groups are made.
    by: str = ""


def answered(
    archive: ReplayedArchive, now: int, query: ReplayQuery
) -> tuple[FleetDocuments, FleetView]:
    """The documents and the picture of a moment, Unix milliseconds. Raises AccelwatchError."""
    condition = archive.condition(query.condition)
    fields = columns(query.fields)
    archive.request_series(all_series(fields))
    archive.scan.scan_before(now)
    fleet, _ = archive.fleet_at(now)
    view = archive.view(now, condition, query.condition)
    shown = _shown(fleet, condition)
    nodes = tuple(_node(node, fleet) for node in fleet.nodes)
    devices = (
        tuple(_device(subject, fields) for subject in shown) if query.rows == "devices" else ()
    )
    groups = tuple(_groups(fleet, shown, query.by)) if query.rows == "groups" else ()
    more: Sequence[DeviceRow | GroupRow] = devices or groups
    answer = FleetDocuments(
        fleet=view.sums,
        fleet_json=_raw(view.sums),
        nodes=nodes,
        nodes_json=tuple(map(_raw, nodes)),
        devices=devices,
        groups=groups,
        more_json=tuple(map(_raw, more)),
    )
    return answer, view


def _raw(document: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(document))


def _shown(fleet: FleetSnapshot, condition: Expression | None) -> list[Subject]:
    return [
        subject for subject in fleet.subjects if condition is None or matches(condition, subject)
    ]


def _node(node: NodeNow, fleet: FleetSnapshot) -> NodeSummary:
    """What an archive knows of a node; it was no target of ours."""
    its = [subject for subject in fleet.subjects if subject.device_slot.node == node.node]
    last = None if node.age_s is None else timestamp(fleet.time - node.age_s)
    return NodeSummary(
        node=node.node,
        state=node.state,
        age_s=node.age_s,
        labels={},
        devices=len(its) - node.devices_missing,
        devices_expected=len(its),
        devices_missing=node.devices_missing,
        clock_skew_s=None,
        interval_s=None,
        listed=True,
        acknowledged=False,
        first_seen=None,
        last_seen=last,
        targets=(),
    )


def _device(subject: Subject, fields: Sequence[Column]) -> DeviceRow:
    identity = msgspec.structs.asdict(subject.device_slot)
    del identity["slot"]
    return DeviceRow(
        **identity,
        node_state=subject.node_state,
        pci_bus_id=None,
        state=subject.state,
        health=subject.health,
        sample_age_s=subject.age_s,
        values={name: _value(subject, name, series) for name, series in fields},
    )


def _value(subject: Subject, name: str, candidates: Sequence[tuple[str, ...]]) -> Number | None:
    if len(candidates) != 1:
        return field(subject, name)
    value = None if subject.state == "unreachable" else subject.values.get(candidates[0])
    return int(value) if value is not None and candidates[0][0].endswith("_bytes") else value


def _groups(fleet: FleetSnapshot, shown: Sequence[Subject], by: str) -> list[GroupRow]:
    """By the name of the group; what has none comes last."""
    group_of = grouping.group_of(by, ())
    members: dict[str, list[Subject]] = {}
    for subject in shown:
        members.setdefault(group_of(subject.device_slot) if group_of else "", []).append(subject)
    states = {node.node: node for node in fleet.nodes}
    rows = []
    for group in sorted(members, key=lambda name: (not name, name)):
        its = members[group]
        nodes = [
            states[name] for name in dict.fromkeys(subject.device_slot.node for subject in its)
        ]
        counts = msgspec.structs.asdict(totals(nodes, its))
        worst = max(
            (effective_state(subject.state, subject.health) for subject in its), key=severity
        )
        rows.append(GroupRow(group=group or None, worst=worst, **counts))
    return rows
