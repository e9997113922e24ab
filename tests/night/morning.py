"""What is looked at in the morning: each node, each message, and the end of each fault."""

from collections import Counter
from typing import TYPE_CHECKING

from accelwatch.action.observed import HoldState
from accelwatch.alerting.sink import NoticeKind
from accelwatch.remediation.policy.state.stage import Stage
from night.observer import TOLERANCE_S, Property
from night.scenario import Fault
from remediation.virtual_time import START

if TYPE_CHECKING:
    from night.hub import Hub
    from night.play import Night

MOST_MESSAGES = 2
_WAITS_FOR_PEOPLE = frozenset(
    {Stage.SERVICE, Stage.UNKNOWN, Stage.FAILED, Stage.AWAITING_APPROVAL, Stage.OWNED_BY_OTHER}
)


def look_over(night: "Night", hub: "Hub") -> None:
    """What has become of everything."""
    for problem in hub.rules.problems:
        night.observer.complain(Property.WELL, problem)
    _nodes(night, hub)
    _messages(night, hub)
    for fault in night.scenario.faults:
        fault.end = _end_of(night, hub, fault)


def _nodes(night: "Night", hub: "Hub") -> None:
    assert hub.remedies is not None
    remedies = hub.remedies.engine.state.remedies
    notified = {notice.key for _, notice in night.phone.messages}
    for name in night.world.nodes:
        remedy, hold_state = remedies.get(name), night.world.see(name).hold_state
        if hold_state is HoldState.OURS and remedy is None:
            night.observer.complain(
                Property.REASON, f"{name} bears our mark, and nothing is known of it"
            )
        elif hold_state is HoldState.OURS and remedy is not None and not remedy.cases:
            waits = remedy.stage in _WAITS_FOR_PEOPLE or bool(remedy.repair.unfit)
            if not waits and not _was_called(night, remedy.incident):
                night.observer.complain(Property.REASON, f"{name} is out in stage {remedy.stage}")
        elif hold_state is HoldState.DOWN and name not in night.world.silent:
            night.observer.complain(Property.REASON, f"{name} is down, though it is back")
        needs_people = remedy is not None and remedy.stage in _WAITS_FOR_PEOPLE
        if (
            remedy is not None
            and needs_people
            and not any(remedy.incident in key for key in notified)
        ):
            night.observer.complain(
                Property.NOTIFIED, f"{name} waits in stage {remedy.stage}: nobody knows"
            )
    for spare, incident in night.world.spares.items():
        stands_in = any(one.jobs.spare == spare for one in remedies.values())
        if incident and spare not in remedies and not stands_in:
            text = f"spare {spare} is drawn for {incident}, which is over"
            night.observer.complain(Property.RESERVATIONS, text)


def _was_called(night: "Night", incident: str) -> bool:
    """Whether a person was called for an incident."""
    return any(
        notice.kind is NoticeKind.CALLED and notice.key.rpartition("/")[2] == incident
        for _, notice in night.phone.messages
    )


def _messages(night: "Night", hub: "Hub") -> None:
    counted = Counter(notice.key for _, notice in night.phone.messages)
    for key, count in counted.items():
        messages = [notice for _, notice in night.phone.messages if notice.key == key]
        fault = _fault_of(night, hub, key)
        if fault is not None:
            fault.incidents.add(key)
        if count > MOST_MESSAGES:
            kinds = ", ".join(notice.kind for notice in messages)
            what = messages[0].where if fault is None else f"{fault.nodes[0]}: {fault.kind}"
            night.observer.complain(
                Property.MESSAGES, f"{key} {count} messages ({kinds}) of {what}"
            )


def _fault_of(night: "Night", hub: "Hub", key: str) -> Fault | None:
    incident = hub.rules.incident(key.rpartition("/")[2])
    if incident is None:
        return None
    nodes = {incident.entity.node, *incident.nodes}
    since = incident.opened - START
    found = [
        one
        for one in night.scenario.faults
        if nodes & set(one.nodes) and one.at <= since + TOLERANCE_S
    ]
    return max(found, key=lambda one: one.at, default=None)


def _end_of(night: "Night", hub: "Hub", fault: Fault) -> str:
    assert hub.remedies is not None
    if not fault.nodes:
        return "did not happen"
    remedies = hub.remedies.engine.state.remedies
    remedy = remedies.get(fault.nodes[0])
    if remedy is not None and night.observer.struck.get(fault.nodes[0]) is fault:
        return str(remedy.stage).replace("_", " ")
    seen = night.world.see(fault.nodes[0])
    return (
        "back" if seen.hold_state is HoldState.OPEN else f"out ({seen.reason or seen.hold_state})"
    )
