"""What is wrong, each thing once: what a rule has found, else how a device or node stands."""

from collections.abc import Iterable, Iterator

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.alerting.rules.document import Severity
from accelwatch.fleet.names import GONE, SPEAKING, UNREAD_SEVERITY, NodeState
from accelwatch.fleet.picture.incidents import above, location_of, seconds_of
from accelwatch.fleet.picture.why.observed_state import ObservedDevice, ObservedNode, ObservedState
from accelwatch.fleet.picture.why.silence import is_about_silence, silences, texts
from accelwatch.schema.status.device_status import severity
from accelwatch.schema.status.verdict import NOTHING_WRONG, remedy_of

# State of a device to what people call it, where that is another word.
_STATES = {"missing": "not there any more", "unresponsive": "hung"}
NEVER_REPORTED = "never reported"
_NODES: dict[str, str] = {
    NodeState.DOWN: "down",
    NodeState.STALE: "silent",
    NodeState.NEVER: NEVER_REPORTED,
    NodeState.SLOW: "late",
}
# What devices are called whose node is silent: the node is what is wrong.
_OF_SILENCE = frozenset(GONE.values())
# Severities of incidents beside those of states (`schema.standing`).
_WEIGHTS = {Severity.CRITICAL: 7, Severity.WARNING: 3, Severity.INFO: 1}
# Of the evidence that is the sentence of a finding.
OF_DETECTOR = "detector"
# From here a job cannot go on with what is wrong.
RUINS_JOBS = 4


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong."""

    # `n014/nvidia6`, `n014`, `job 4711`.
    where: str
    nodes: tuple[str, ...]
    # Id of the device; empty where it is a node's or a job's trouble.
    device: str = ""
    # Greater is worse, on the scale of `schema.standing`.
    weight: int
    # How it stands: `lost`, `hung`, `down`; empty of what only a rule has seen.
    condition: str
    # Unix seconds; 0 where that is not known.
    since: float = 0.0
    # What it amounts to, in words, without a full stop.
    verdict: str = ""
    # What the detector says of it, without a full stop: who differs, since when, and by what. It is read
    # first.
    sentence: str = ""
    evidence: tuple[str, ...] = ()
    remedy: str = ""
    # What the hub does about it.
    step: str = ""
    jobs: tuple[str, ...] = ()
    incident: str = ""
    # False below a group or its cause: shown only when the question is about it.
    leads: bool = True
    # Whether a node, or all nodes of an outage, do not answer.
    silent: bool = False
    # Whether it is an outage of many nodes; its verdict is the whole sentence.
    many: bool = False
    # Of a silent node that is part of an outage, how many nodes that has.
    among: int = 0


def troubles(observed: ObservedState) -> list[Trouble]:
    """All of them, the worst first, among equals that which began first."""
    result = [
        *_from_rules(observed),
        *_from_findings(observed),
        *_of_silence(observed),
        *_of_unread_nodes(observed),
        *_of_devices(observed),
    ]
    return sorted(
        result, key=lambda trouble: (-trouble.weight, trouble.since or observed.time, trouble.where)
    )


def _from_rules(observed: ObservedState) -> Iterator[Trouble]:
    by_id = {(device.node, device.id): device for device in observed.devices}
    silent = {node.node for node in observed.nodes.values() if node.state not in SPEAKING}
    for incident in observed.incidents:
        if is_about_silence(incident) and silent.issuperset(incident.nodes or (incident.node,)):
            continue  # their silence has its own trouble, and is newer
        device = by_id.get((incident.node, incident.device))
        node = observed.nodes.get(incident.node) if incident.node and not incident.device else None
        yield _incident(observed, incident, device, node)


def _incident(
    observed: ObservedState,
    incident: IncidentDocument,
    device: ObservedDevice | None,
    node: ObservedNode | None,
) -> Trouble:
    nodes = tuple(dict.fromkeys(filter(None, (incident.node, *incident.nodes))))
    state = device.state if device is not None else ""
    weight = max(_WEIGHTS.get(Severity(incident.severity), 1), severity(state) if state else 0)
    own_verdict = device.verdict if device is not None else NOTHING_WRONG
    return Trouble(
        where=_where(incident),
        nodes=nodes,
        device=incident.device,
        weight=weight,
        condition=_condition(state)
        if device is not None
        else _NODES.get(node.state, "")
        if node
        else "",
        since=seconds_of(incident.since),
        verdict=incident.title,
        sentence=_sentence(incident),
        evidence=_apart(
            [
                *(
                    evidence.text
                    for evidence in incident.evidence
                    if evidence.source != OF_DETECTOR
                ),
                own_verdict.summary,
                own_verdict.evidence,
            ]
        ),
        remedy=incident.what_to_do,
        step=next((observed.steps[name] for name in nodes if name in observed.steps), ""),
        jobs=_jobs_of(incident),
        incident=incident.id,
        leads=not above(incident),
    )


def _sentence(incident: IncidentDocument) -> str:
    """What the detector says of an incident that rests on it; empty of any other."""
    first = next(iter(incident.evidence), None)
    if first is None or first.source != OF_DETECTOR:
        return ""
    text = first.text.removesuffix(".")
    if not incident.device_name:
        return text
    return text.replace(f"{incident.device} of {incident.node}", _where(incident))


def _from_findings(observed: ObservedState) -> Iterator[Trouble]:
    """Alerts of the detector of which no rule has made an incident."""
    reported = {
        node
        for incident in observed.incidents
        if _sentence(incident)
        for node in (incident.node, *incident.nodes)
    }
    for node in observed.nodes.values():
        finding = node.finding
        if finding is None or finding.level != "alert" or node.node in reported:
            continue
        yield Trouble(
            where=f"{node.node}/{finding.name or finding.device}" if finding.device else node.node,
            nodes=(node.node,),
            device=finding.device,
            weight=_WEIGHTS[Severity.WARNING],
            condition="",
            sentence=finding.sentence.removesuffix("."),
            remedy=f"see accelwatch rules explain detector {node.node}",
        )


def _jobs_of(incident: IncidentDocument) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, (incident.job, *incident.jobs))))


def _where(incident: IncidentDocument) -> str:
    if incident.device:
        return f"{incident.node}/{incident.device_name or incident.device}"
    return location_of(incident)


def _of_silence(observed: ObservedState) -> Iterator[Trouble]:
    for silence in silences(observed):
        nodes, incident = silence.nodes, silence.incident
        state = "" if silence.is_outage else observed.nodes[nodes[0]].state
        yield Trouble(
            where=f"{len(nodes)} nodes" if silence.is_outage else nodes[0],
            nodes=nodes,
            weight=silence.weight,
            condition=_NODES.get(state, ""),
            since=silence.since,
            verdict=silence.why,
            evidence=tuple(texts(silence, observed.time)),
            remedy=silence.remedy,
            step="" if silence.is_outage else observed.steps.get(nodes[0], ""),
            jobs=() if silence.is_outage or incident is None else _jobs_of(incident),
            incident="" if incident is None else incident.id,
            leads=silence.outage is None or silence.is_outage,
            silent=state not in SPEAKING,
            many=silence.is_outage,
            among=silence.outage.nodes
            if silence.outage is not None and not silence.is_outage
            else 0,
        )


def _of_unread_nodes(observed: ObservedState) -> Iterator[Trouble]:
    reported = {incident.node for incident in observed.incidents if not incident.device}
    for node in observed.nodes.values():
        if node.state != NodeState.UP or not node.reason or node.node in reported:
            continue
        yield Trouble(
            where=node.node,
            nodes=(node.node,),
            weight=UNREAD_SEVERITY,
            condition="",
            verdict=f"no reading through {node.reason}",
            remedy=node.remedy,
            step=observed.steps.get(node.node, ""),
        )


def _of_devices(observed: ObservedState) -> Iterator[Trouble]:
    reported = {
        (incident.node, incident.device) for incident in observed.incidents if incident.device
    }
    for device in observed.devices:
        weight = severity(device.state)
        if not weight or device.state in _OF_SILENCE or (device.node, device.id) in reported:
            continue
        yield Trouble(
            where=f"{device.node}/{device.name}",
            nodes=(device.node,),
            device=device.id,
            weight=weight,
            condition=_condition(device.state),
            since=device.since,
            verdict=device.verdict.summary,
            evidence=_apart([device.verdict.evidence]),
            remedy=device.verdict.remedy or remedy_of(device.state, device.health),
            step=observed.steps.get(device.node, ""),
            jobs=device.jobs,
        )


def _condition(state: str) -> str:
    if severity(state) == 0 or state in _OF_SILENCE:
        return ""
    return _STATES.get(state, state)


def _apart(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, texts)))
