"""One moment of an archive as the documents that a hub answers with, for what is printed."""

from collections.abc import Sequence

import msgspec

from accelwatch.expr import Expression
from accelwatch.fleet.api.documents import DeviceRow, GroupRow, NodeSummary
from accelwatch.fleet.api.names import Column, all_series, columns
from accelwatch.fleet.hub_client.once import Answer
from accelwatch.fleet.picture import grouping
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.replay.archive import ReplayedArchive
from accelwatch.fleet.replay.moment import Moment
from accelwatch.fleet.replay.subject import Subject, keeps
from accelwatch.fleet.replay.view import field, sums
from accelwatch.fleet.wire import NodeNow
from accelwatch.schema.moments import timestamp
from accelwatch.schema.reading import Number
from accelwatch.schema.standing import severity, standing


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be printed of a moment."""

    rows: str = "nodes"
    """`nodes`, `devices` or `groups`."""
    condition: str = ""
    fields: tuple[str, ...] = ()
    """Of devices; the usual ones when empty."""
    by: str = ""
    """By what groups are made."""


def answered(archive: ReplayedArchive, now: int, wanted: Wanted) -> tuple[Answer, FleetView]:
    """The documents and the picture of a moment, Unix milliseconds. Raises AccelwatchError."""
    condition = archive.condition(wanted.condition)
    fields = columns(wanted.fields)
    archive.want(all_series(fields))
    archive.survey.look_before(now)
    moment, _ = archive.moment(now)
    view = archive.view(now, condition, wanted.condition)
    shown = _shown(moment, condition)
    nodes = tuple(_node(node, moment) for node in moment.nodes)
    devices = tuple(_device(one, fields) for one in shown) if wanted.rows == "devices" else ()
    groups = tuple(_groups(moment, shown, wanted.by)) if wanted.rows == "groups" else ()
    more: Sequence[DeviceRow | GroupRow] = devices or groups
    answer = Answer(
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


def _shown(moment: Moment, condition: Expression | None) -> list[Subject]:
    return [one for one in moment.subjects if condition is None or keeps(condition, one)]


def _node(node: NodeNow, moment: Moment) -> NodeSummary:
    """What an archive knows of a node; it was no target of ours."""
    its = [one for one in moment.subjects if one.place.node == node.node]
    last = None if node.age_s is None else timestamp(moment.time - node.age_s)
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


def _device(one: Subject, fields: Sequence[Column]) -> DeviceRow:
    place = one.place
    return DeviceRow(
        node=place.node,
        node_state=one.node_state,
        labels={},
        id=place.id,
        vendor=place.vendor,
        index=place.index,
        name=place.name,
        kind=place.kind,
        model=place.model,
        uuid=place.uuid,
        pci_bus_id=None,
        parent_id=None,
        state=one.state,
        health=one.health,
        sample_age_s=one.age_s,
        values={name: _value(one, name, series) for name, series in fields},
        job=place.job,
        user=place.user,
    )


def _value(one: Subject, name: str, candidates: Sequence[tuple[str, ...]]) -> Number | None:
    if len(candidates) != 1:
        return field(one, name)
    value = None if one.state == "unreachable" else one.values.get(candidates[0])
    return int(value) if value is not None and candidates[0][0].endswith("_bytes") else value


def _groups(moment: Moment, shown: Sequence[Subject], by: str) -> list[GroupRow]:
    """By the name of the group; what has none comes last."""
    group_of = grouping.group_of(by, ())
    members: dict[str, list[Subject]] = {}
    for one in shown:
        members.setdefault(group_of(one.place) if group_of else "", []).append(one)
    states = {node.node: node for node in moment.nodes}
    rows = []
    for group in sorted(members, key=lambda name: (not name, name)):
        its = members[group]
        nodes = [states[name] for name in dict.fromkeys(one.place.node for one in its)]
        total = sums(moment.time, nodes, its)
        worst = max((standing(one.state, one.health) for one in its), key=severity)
        rows.append(
            GroupRow(
                group=group or None,
                nodes_total=total.nodes_total,
                nodes=total.nodes,
                devices_total=total.devices_total,
                devices=total.devices,
                health=total.health,
                worst=worst,
                power_watts=total.power_watts,
                memory_used_bytes=total.memory_used_bytes,
                memory_size_bytes=total.memory_size_bytes,
                utilization_ratio=total.utilization_ratio,
            )
        )
    return rows
