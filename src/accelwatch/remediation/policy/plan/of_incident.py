"""From an incident and its rule to the case that the state machine knows. Pure.

Only an incident of one node becomes a case: a job or a rack cannot be quarantined.
"""

from collections.abc import Mapping

from accelwatch.alerting.incidents.model.incident import Incident, TimelineKind
from accelwatch.alerting.rules.rule import Action, Rule
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.guards.group_guard import may_act
from accelwatch.remediation.policy.state.case import Case, Limit, Policy
from accelwatch.remediation.policy.state.changes import CaseChanged
from accelwatch.schema.provenance import Provenance

_FIRES = frozenset(
    {
        TimelineKind.OPENED,
        TimelineKind.REOPENED,
        TimelineKind.RULE,
        TimelineKind.ROSE,
        TimelineKind.AGAIN,
    }
)
_NODE_STATE, _SILENT = "node_state", frozenset({"stale", "down", "never"})
_VISIBILITY = frozenset({TimelineKind.BLIND, TimelineKind.SEEING, *_FIRES})


def policy_of(rule: Rule) -> Policy:
    """What a rule wants done."""
    action = rule.action or Action()
    return Policy(
        rule=rule.id,
        digest=rule.digest,
        mode=rule.mode,
        confidence=rule.confidence,
        act_on=rule.act_on,
        trust=rule.trust,
        canary=rule.canary,
        level=action.quarantine,
        when=action.quarantine_when,
        job=action.job,
        signal=action.signal,
        grace_s=action.grace_s,
        draw_spare=action.draw_spare,
        fence=action.fence,
        ladder=tuple(Limit(step.name, step.most) for step in action.remedy),
        passive_s=action.verify_passive_s,
        tests=action.verify_active,
        probation_s=action.probation_s,
        deadlines=action.deadlines,
    )


def acting_rule(incident: Incident, rules: Mapping[str, Rule]) -> Rule | None:
    """The rule of an incident that decides what is done; None when all of its rules are gone.

    Of those that fire now: one that has cleared still gives an incident its title and severity, and
    wants nothing any more. Of several the one that may go furthest, as among the cases of a node.
    """
    firing = [rules[id_] for id_ in incident.rules or (incident.rule,) if id_ in rules]
    return max(firing, key=_reach, default=None)


def _reach(rule: Rule) -> tuple[bool, int, int]:
    quarantines = rule.action is not None and rule.action.quarantine is not None
    return quarantines, policy_of(rule).reach, rule.severity.weight


def case_changed(
    incident: Incident, rule: Rule | None, incidents: Mapping[str, Incident], muted: str = ""
) -> CaseChanged | None:
    """An incident's change for the state machine; None for an incident that is not about one node.

    `rule` is the one that decides (`acting_rule`), None where all are gone; `incidents` are the
    incidents by id, `muted` is the id of the silence or maintenance that keeps it quiet.
    """
    node = incident.entity.node
    if not node or incident.entity.group or incident.members:
        return None
    policy = Policy(rule=incident.rule) if rule is None else policy_of(rule)
    answer = may_act(incident, incidents)
    # A detector never acts alone: what it finds keeps no node from jobs and no remedy from ending,
    # unless a rule about it has an action of its own.
    suspected = rule is not None and rule.needs_detector and policy.level is None
    case = Case(
        incident=incident.id,
        policy=policy,
        open=incident.is_open and not suspected,
        since=incident.since,
        evidence_at=evidence_at(incident),
        severity=incident.severity,
        confidence=incident.confidence,
        standing=not incident.evidence
        or any(evidence.event is None for evidence in incident.evidence)
        or (rule is not None and rule.counts_until_boot),
        trusted=incident.trusted and incident.provenance is Provenance.AUTHENTICATED,
        silence=rule is not None and rests_on_silence(rule, incident),
        blind=_latest(incident, _VISIBILITY) is TimelineKind.BLIND,
        muted=muted,
        group=(incident.group or incident.id) if isinstance(answer, Denial) else "",
        orphaned=rule is None
        or _latest(incident, frozenset({TimelineKind.ORPHANED, *_FIRES})) is TimelineKind.ORPHANED,
        device=incident.entity.device,
        serial=incident.facts.serial,
        slot=incident.facts.slot,
        title=incident.title if rule is None or rule.id == incident.rule else rule.title,
    )
    return CaseChanged(node=node, case=case)


def rests_on_silence(rule: Rule, incident: Incident) -> bool:
    """Whether a rule reads a silent node (`node_state`), and its evidence is that."""
    if _NODE_STATE not in rule.when.needs.fields:
        return False
    return any(
        evidence.signal == _NODE_STATE and evidence.value in _SILENT
        for evidence in incident.evidence
    )


def evidence_at(incident: Incident) -> float:
    """Unix seconds at which a rule began to fire on it or an event happened, the newest of all."""
    fired = [entry.time for entry in incident.timeline if entry.kind in _FIRES]
    events = [evidence.event.time for evidence in incident.evidence if evidence.event is not None]
    return max((incident.since, *fired, *events))


def _latest(incident: Incident, kinds: frozenset[TimelineKind]) -> TimelineKind | None:
    return next((entry.kind for entry in reversed(incident.timeline) if entry.kind in kinds), None)
