"""An incident as the state machine has it: about one node, with what its rule lets be done. Pure."""

from collections.abc import Callable, Iterator, Mapping

from accelwatch.incidents.incident import Incident, MomentKind
from accelwatch.incidents.muting import Mute
from accelwatch.remedy.case import Case, Limit, Policy
from accelwatch.remedy.changes import CaseChanged
from accelwatch.rules.rule import Action, Rule
from accelwatch.schema.provenance import Provenance

_FIRED = frozenset({MomentKind.OPENED, MomentKind.REOPENED, MomentKind.ROSE, MomentKind.RULE})
_SIGHT = frozenset({MomentKind.OPENED, MomentKind.REOPENED, MomentKind.SEEING, MomentKind.BLIND})


def case_of(
    incident: Incident,
    rules: Mapping[str, Rule],
    mute: Mute | None = None,
    goes_on: Callable[[str], bool] = lambda _: True,
) -> CaseChanged | None:
    """The incident as it stands, by the rule that weighs most; None for one that is about no one node.

    `rules` are those in force, `goes_on` says whether the group with an id does.
    """
    node = incident.entity.node
    if not node or incident.entity.group:
        return None
    rule = rules.get(incident.rule)
    case = Case(
        incident=incident.id,
        policy=_gone(incident) if rule is None else policy_of(rule),
        open=incident.is_open,
        since=incident.since,
        evidence_at=max(_evidence_times(incident), default=incident.opened),
        severity=incident.severity,
        confidence=incident.confidence,
        standing=not incident.evidence or any(one.event is None for one in incident.evidence),
        trusted=incident.trusted and incident.provenance is Provenance.AUTHENTICATED,
        blind=_is_blind(incident),
        muted="" if mute is None else mute.id,
        group=incident.group if incident.group and goes_on(incident.group) else "",
        orphaned=rule is None,
        device=incident.entity.device,
        serial=incident.facts.serial,
        title=incident.title,
    )
    return CaseChanged(node=node, case=case)


def _evidence_times(incident: Incident) -> Iterator[float]:
    """When a rule began to fire, or an event happened; a person's note is neither."""
    for moment in incident.timeline:
        fires_again = moment.kind is MomentKind.NOTE and not moment.actor
        if moment.kind in _FIRED or fires_again:
            yield moment.time
    for shown in incident.evidence:
        if shown.event is not None:
            yield shown.event.time


def _is_blind(incident: Incident) -> bool:
    sights = [moment.kind for moment in incident.timeline if moment.kind in _SIGHT]
    return bool(sights) and sights[-1] is MomentKind.BLIND


def _gone(incident: Incident) -> Policy:
    """Of a rule that is gone: the machine keeps what it was told first, or does nothing."""
    return Policy(rule=incident.rule, digest=incident.rule_digest)


def policy_of(rule: Rule) -> Policy:
    """What a rule wants done about one incident."""
    action = rule.action or Action()
    return Policy(
        rule=rule.id,
        digest=rule.digest,
        mode=rule.mode,
        trust=rule.trust,
        canary=rule.canary,
        level=action.quarantine,
        when=action.quarantine_when,
        job=action.job,
        signal=action.signal,
        grace_s=action.grace_s,
        draw_spare=action.draw_spare,
        fence=action.fence,
        ladder=tuple(Limit(rung.name, rung.most) for rung in action.remedy),
        passive_s=action.verify_passive_s,
        tests=action.verify_active,
        probation_s=action.probation_s,
    )
