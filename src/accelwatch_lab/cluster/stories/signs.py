"""By what each thing of a scenario is recognised in a look at the lab."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from accelwatch_lab.cluster.scheduler import NodeNow
from accelwatch_lab.cluster.snapshot import LabSnapshot
from accelwatch_lab.cluster.stories.scenarios import Observation


class PhaseContext(NamedTuple):
    """What a phase is about."""

    node: str
    # Nodes with a fault now.
    sick: Sequence[str]
    # Unix seconds at which the phase began.
    since: float
    # How often the job had been begun again by then.
    restarts: int
    # The greatest restart count in its log by then.
    written: int


class Sign(NamedTuple):
    """When something was so, and a sentence about it."""

    at: float
    text: str


Recognise = Callable[[LabSnapshot, PhaseContext], Sign | None]


def recognised(what: Observation, snapshot: LabSnapshot, context: PhaseContext) -> Sign | None:
    """The sign of a thing; None while it is not to be seen."""
    return _SIGNS[what](snapshot, context)


def _incident(snapshot: LabSnapshot, context: PhaseContext) -> Sign | None:
    for incident in snapshot.incidents:
        at = _timestamp(incident["opened"])
        if (
            context.node in incident["nodes"]
            and not incident["group"]
            and at >= context.since - 1.0
        ):
            return Sign(
                at, f"{incident['id']} {incident['rule']}: {incident['title']} ({context.node})"
            )
    return None


def _storm(snapshot: LabSnapshot, _: PhaseContext) -> Sign | None:
    for incident in snapshot.incidents:
        if len(incident["nodes"]) > 1:
            return Sign(_timestamp(incident["opened"]), f"{incident['id']}: {incident['title']}")
    return None


def _alert(snapshot: LabSnapshot, context: PhaseContext) -> Sign | None:
    for alert in snapshot.alerts:
        if alert.time >= context.since:
            return Sign(alert.time, f"{alert.severity}, {alert.kind}: {alert.where}: {alert.title}")
    return None


def _drained(snapshot: LabSnapshot, context: PhaseContext) -> Sign | None:
    node = snapshot.nodes.get(context.node)
    if node is None or not node.ours:
        return None
    return _shown(snapshot, context.node, node)


def _shown(snapshot: LabSnapshot, name: str, node: NodeNow) -> Sign:
    text = f"{snapshot.scheduler} shows {name} {'+'.join(node.states)}: {node.reason}"
    return Sign(snapshot.at, text)


def _fenced(snapshot: LabSnapshot, context: PhaseContext) -> Sign | None:
    node = snapshot.nodes.get(context.node)
    if node is None or not node.ours or "DOWN" not in node.states:
        return None
    return _shown(snapshot, context.node, node)


def _requeued(snapshot: LabSnapshot, context: PhaseContext) -> Sign | None:
    job = snapshot.job
    if job is None or job.restarts <= context.restarts:
        return None
    return Sign(snapshot.at, f"the job is requeued, restart {job.restarts}")


def _no_spare(snapshot: LabSnapshot, context: PhaseContext) -> Sign | None:
    return _noted(snapshot, context, "no spare")


def _noted(snapshot: LabSnapshot, context: PhaseContext, text: str) -> Sign | None:
    """What the engine has written about it into an incident."""
    for incident in snapshot.incidents:
        for entry in incident["timeline"]:
            at = _timestamp(entry["time"])
            if context.node in incident["nodes"] and at >= context.since and text in entry["text"]:
                return Sign(at, entry["text"])
    return None


def _running(snapshot: LabSnapshot, context: PhaseContext) -> Sign | None:
    job = snapshot.job
    if job is None or job.state != "RUNNING" or not set(context.sick).isdisjoint(job.nodes):
        return None
    if job.restarts <= context.written:
        return None
    return Sign(snapshot.at, f"the job runs on {', '.join(job.nodes)}")


def _progress(snapshot: LabSnapshot, context: PhaseContext) -> Sign | None:
    done = [line for line in snapshot.lines if line.what == "step"]
    for line in done:
        if line.restart > context.written:
            before = max(
                (earlier.step for earlier in done if earlier.restart < line.restart), default=0
            )
            again = before - line.step + 1
            text = f"step {line.step}, the first after the checkpoint"
            return Sign(line.time, f"{text}; {again} of {before} steps are repeated")
    return None


def _away(snapshot: LabSnapshot, _: PhaseContext) -> Sign | None:
    return Sign(snapshot.at, snapshot.frozen) if snapshot.frozen else None


def _left_alone(snapshot: LabSnapshot, context: PhaseContext) -> Sign | None:
    sign = _noted(snapshot, context, f"took {context.node} over")
    return None if sign is None else Sign(sign.at, f"{sign.text}: the hub leaves it alone")


def _idle(snapshot: LabSnapshot, _: PhaseContext) -> Sign | None:
    return Sign(snapshot.at, "no further operation in the meantime")


def _verified(snapshot: LabSnapshot, context: PhaseContext) -> Sign | None:
    remedy = snapshot.remedies.get(context.node)
    if remedy is not None and remedy["stage"] not in ("releasing", "probation"):
        return None
    return Sign(snapshot.at, f"{context.node} has been healthy for as long as the rule requires")


def _released(snapshot: LabSnapshot, context: PhaseContext) -> Sign | None:
    node = snapshot.nodes.get(context.node)
    return (
        None
        if node is None or node.out
        else Sign(snapshot.at, f"{context.node} accepts work again")
    )


def _over(snapshot: LabSnapshot, _: PhaseContext) -> Sign | None:
    if snapshot.remedies or not snapshot.nodes or any(node.out for node in snapshot.nodes.values()):
        return None
    return Sign(snapshot.at, "no operation is in progress, and every node accepts work")


def _timestamp(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


_SIGNS: Mapping[Observation, Recognise] = {
    Observation.INCIDENT: _incident,
    Observation.STORM: _storm,
    Observation.ALERT: _alert,
    Observation.DRAINED: _drained,
    Observation.FENCED: _fenced,
    Observation.REQUEUED: _requeued,
    Observation.NO_SPARE: _no_spare,
    Observation.RUNNING: _running,
    Observation.PROGRESS: _progress,
    Observation.AWAY: _away,
    Observation.DRAINED_BY_OTHER: _left_alone,
    Observation.IDLE: _idle,
    Observation.VERIFIED: _verified,
    Observation.RELEASED: _released,
    Observation.OVER: _over,
}
