"""What in a snapshot of the lab fulfils each expectation of a scenario."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from accelwatch_lab.cluster.scenarios.catalogue import Expectation
from accelwatch_lab.cluster.scheduler import NodeNow
from accelwatch_lab.cluster.snapshot import LabSnapshot


class PhaseContext(NamedTuple):
    """What a phase is about."""

    node: str
    # Nodes with a fault now.
    faulty: Sequence[str]
    # Unix seconds at which the phase began.
    since: float
    # How often the job had restarted by then.
    restarts: int
    # The greatest restart count in its log by then.
    written: int


class Observation(NamedTuple):
    """When something was so, and a sentence about it."""

    at: float
    text: str


Observe = Callable[[LabSnapshot, PhaseContext], Observation | None]


def observed(what: Expectation, snapshot: LabSnapshot, context: PhaseContext) -> Observation | None:
    """What fulfils an expectation; None until something does."""
    return _OBSERVE[what](snapshot, context)


def _incident(snapshot: LabSnapshot, context: PhaseContext) -> Observation | None:
    for incident in snapshot.incidents:
        at = _timestamp(incident["opened"])
        if (
            context.node in incident["nodes"]
            and not incident["group"]
            and at >= context.since - 1.0
        ):
            return Observation(
                at, f"{incident['id']} {incident['rule']}: {incident['title']} ({context.node})"
            )
    return None


def _storm(snapshot: LabSnapshot, _: PhaseContext) -> Observation | None:
    for incident in snapshot.incidents:
        if len(incident["nodes"]) > 1:
            return Observation(
                _timestamp(incident["opened"]), f"{incident['id']}: {incident['title']}"
            )
    return None


def _alert(snapshot: LabSnapshot, context: PhaseContext) -> Observation | None:
    for alert in snapshot.alerts:
        if alert.time >= context.since:
            return Observation(
                alert.time, f"{alert.severity}, {alert.kind}: {alert.where}: {alert.title}"
            )
    return None


def _drained(snapshot: LabSnapshot, context: PhaseContext) -> Observation | None:
    node = snapshot.nodes.get(context.node)
    if node is None or not node.ours:
        return None
    return _shown(snapshot, context.node, node)


def _shown(snapshot: LabSnapshot, name: str, node: NodeNow) -> Observation:
    text = f"{snapshot.scheduler} shows {name} {'+'.join(node.states)}: {node.reason}"
    return Observation(snapshot.at, text)


def _fenced(snapshot: LabSnapshot, context: PhaseContext) -> Observation | None:
    node = snapshot.nodes.get(context.node)
    if node is None or not node.ours or "DOWN" not in node.states:
        return None
    return _shown(snapshot, context.node, node)


def _requeued(snapshot: LabSnapshot, context: PhaseContext) -> Observation | None:
    job = snapshot.job
    if job is None or job.restarts <= context.restarts:
        return None
    return Observation(snapshot.at, f"the job is requeued, restart {job.restarts}")


def _no_spare(snapshot: LabSnapshot, context: PhaseContext) -> Observation | None:
    return _noted(snapshot, context, "no spare")


def _noted(snapshot: LabSnapshot, context: PhaseContext, text: str) -> Observation | None:
    """What the engine has written about it into an incident."""
    for incident in snapshot.incidents:
        for entry in incident["timeline"]:
            at = _timestamp(entry["time"])
            if context.node in incident["nodes"] and at >= context.since and text in entry["text"]:
                return Observation(at, entry["text"])
    return None


def _running(snapshot: LabSnapshot, context: PhaseContext) -> Observation | None:
    job = snapshot.job
    if job is None or job.state != "RUNNING" or not set(context.faulty).isdisjoint(job.nodes):
        return None
    if job.restarts <= context.written:
        return None
    return Observation(snapshot.at, f"the job runs on {', '.join(job.nodes)}")


def _progress(snapshot: LabSnapshot, context: PhaseContext) -> Observation | None:
    steps = [line for line in snapshot.lines if line.what == "step"]
    for line in steps:
        if line.restart > context.written:
            before = max(
                (earlier.step for earlier in steps if earlier.restart < line.restart), default=0
            )
            again = before - line.step + 1
            text = f"step {line.step}, the first after the checkpoint"
            return Observation(line.time, f"{text}; {again} of {before} steps are repeated")
    return None


def _away(snapshot: LabSnapshot, _: PhaseContext) -> Observation | None:
    return Observation(snapshot.at, snapshot.frozen) if snapshot.frozen else None


def _drained_by_other(snapshot: LabSnapshot, context: PhaseContext) -> Observation | None:
    observation = _noted(snapshot, context, f"took {context.node} over")
    return (
        None
        if observation is None
        else Observation(observation.at, f"{observation.text}: the hub leaves it alone")
    )


def _idle(snapshot: LabSnapshot, _: PhaseContext) -> Observation | None:
    return Observation(snapshot.at, "no further operation in the meantime")


def _verified(snapshot: LabSnapshot, context: PhaseContext) -> Observation | None:
    remedy = snapshot.remedies.get(context.node)
    if remedy is not None and remedy["stage"] not in ("releasing", "probation"):
        return None
    return Observation(
        snapshot.at, f"{context.node} has been healthy for as long as the rule requires"
    )


def _released(snapshot: LabSnapshot, context: PhaseContext) -> Observation | None:
    node = snapshot.nodes.get(context.node)
    return (
        None
        if node is None or node.out
        else Observation(snapshot.at, f"{context.node} accepts work again")
    )


def _over(snapshot: LabSnapshot, _: PhaseContext) -> Observation | None:
    if snapshot.remedies or not snapshot.nodes or any(node.out for node in snapshot.nodes.values()):
        return None
    return Observation(snapshot.at, "no operation is in progress, and every node accepts work")


def _timestamp(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


_OBSERVE: Mapping[Expectation, Observe] = {
    Expectation.INCIDENT: _incident,
    Expectation.STORM: _storm,
    Expectation.ALERT: _alert,
    Expectation.DRAINED: _drained,
    Expectation.FENCED: _fenced,
    Expectation.REQUEUED: _requeued,
    Expectation.NO_SPARE: _no_spare,
    Expectation.RUNNING: _running,
    Expectation.PROGRESS: _progress,
    Expectation.AWAY: _away,
    Expectation.DRAINED_BY_OTHER: _drained_by_other,
    Expectation.IDLE: _idle,
    Expectation.VERIFIED: _verified,
    Expectation.RELEASED: _released,
    Expectation.OVER: _over,
}
