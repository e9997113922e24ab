"""What a verdict makes of one incident: opened, fired again, cleared, not known, orphaned, closed."""

import textwrap
from collections.abc import Mapping

import msgspec

from accelwatch.alerting.incidents.model.incident import (
    MOST_EVIDENCE,
    Facts,
    Incident,
    IncidentState,
    TimelineEntry,
    TimelineKind,
    with_entry,
)
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.timing import Transition
from accelwatch.alerting.rules.verdict import Evidence, VerdictChange

# Letters of a detail in the title; the evidence has all of it.
MOST_DETAIL = 120


def opened(rule: Rule, change: VerdictChange, facts: Facts, id_: str) -> Incident:
    """A new incident."""
    nodes = (change.entity.node,) if change.entity.node else facts.nodes
    return Incident(
        id=id_,
        family=rule.family,
        rule=rule.id,
        rules=(rule.id,),
        rule_digest=rule.digest,
        title=title_of(rule, change),
        entity=change.entity,
        facts=facts,
        severity=severity_of(rule, change),
        confidence=rule.confidence,
        advice=rule.advice,
        since=change.since,
        opened=change.time,
        updated=change.time,
        evidence=change.evidence[:MOST_EVIDENCE],
        nodes=nodes,
        trusted=_trusted(change.evidence),
        provenance=change.provenance,
        what_to_do=rule.what_to_do,
        runbook=rule.runbook,
        source=rule.source,
        timeline=(TimelineEntry(change.time, TimelineKind.OPENED, rule.title),),
    )


def fired_again(rule: Rule, change: VerdictChange, before: Incident, *, in_group: bool) -> Incident:
    """One that goes on or is back within its cool-down; `in_group`: its group is open still."""
    if not before.is_open:
        before = msgspec.structs.replace(
            before,
            state=IncidentState.OPEN,
            closed=None,
            reopened=before.reopened + 1,
            rules=(),
            group=before.group if in_group else "",
            follows="",
        )
        kind, text = TimelineKind.REOPENED, f"{rule.title} again"
    elif rule.id in before.rules:
        kind, text = TimelineKind.AGAIN, f"{rule.title} fires again"
    else:
        kind, text = TimelineKind.RULE, rule.title
    severity = severity_of(rule, change)
    rises = severity.weight > before.severity.weight or not before.rules
    after = msgspec.structs.replace(
        before,
        rules=tuple(dict.fromkeys((rule.id, *before.rules) if rises else (*before.rules, rule.id))),
        evidence=_gathered(change.evidence, before.evidence),
        trusted=before.trusted or _trusted(change.evidence),
    )
    if rises or rule.id == after.rule:
        after = msgspec.structs.replace(after, provenance=change.provenance)
    if rises:
        after = _led_by(rule, change, after)
        if kind is TimelineKind.RULE:
            kind = TimelineKind.ROSE
    return with_entry(after, TimelineEntry(change.time, kind, text))


def title_of(rule: Rule, change: VerdictChange) -> str:
    """The title of a rule and the detail that it adds: `A device reports that it has failed: Alarm`."""
    signal = "" if rule.detail is None else rule.detail.text
    detail = next((line.value for line in change.evidence if line.signal == signal), None)
    if not isinstance(detail, str):
        return rule.title
    return f"{rule.title}: {textwrap.shorten(detail, MOST_DETAIL, placeholder=' ...')}"


def _led_by(rule: Rule, change: VerdictChange, incident: Incident) -> Incident:
    return msgspec.structs.replace(
        incident,
        rule=rule.id,
        rule_digest=rule.digest,
        title=title_of(rule, change),
        severity=severity_of(rule, change),
        confidence=rule.confidence,
        advice=rule.advice,
        what_to_do=rule.what_to_do,
        runbook=rule.runbook,
        source=rule.source,
    )


def cleared(change: VerdictChange, incident: Incident) -> Incident | None:
    """Without the rule that has cleared, over without any; None when it is another's."""
    if change.rule not in incident.rules:
        return None
    # An incident has all rules of its family that fire; it is over with the last of them.
    remaining = tuple(rule for rule in incident.rules if rule != change.rule)
    if remaining:
        text = f"{change.rule} no longer fires; {', '.join(remaining)} still does"
        left = msgspec.structs.replace(incident, rules=remaining)
        return with_entry(left, TimelineEntry(change.time, TimelineKind.NOTE, text))
    lasted_s = round(change.time - incident.opened)
    text = f"cleared after {lasted_s} s" if lasted_s >= 0 else "cleared; the clock was set back"
    return closed(incident, TimelineEntry(change.time, TimelineKind.CLOSED, text))


def without_lost(incident: Incident, rules: Mapping[str, Rule], now: float) -> Incident:
    """An open incident after its rules have changed; the same one if none of its own is gone."""

    def has(id_: str) -> bool:
        return id_ in rules and rules[id_].family == incident.family

    left = tuple(filter(has, incident.rules))
    removed = ", ".join(id_ for id_ in incident.rules if id_ not in left)
    if not removed:
        return incident
    if left:
        text = f"rule {removed} is no longer evaluated; {', '.join(left)} still is"
        kept = msgspec.structs.replace(incident, rules=left)
        return with_entry(kept, TimelineEntry(now, TimelineKind.NOTE, text))
    # Each reload comes here again; one entry in the timeline is enough.
    if incident.timeline and incident.timeline[-1].kind is TimelineKind.ORPHANED:
        return incident
    text = (
        f"rule {removed} is gone from the rule files, or off; "
        "close it with: accelwatch incidents close"
    )
    return with_entry(incident, TimelineEntry(now, TimelineKind.ORPHANED, text))


def severity_of(rule: Rule, change: VerdictChange) -> Severity:
    """How loud a rule is on this evidence: what may be forged is never above `info`."""
    # Anybody who can reach the port may send unauthenticated evidence: it must not wake anyone.
    return rule.severity if _trusted(change.evidence) else Severity.INFO


def _trusted(evidence: tuple[Evidence, ...]) -> bool:
    return not evidence or any(line.trusted for line in evidence)


def _gathered(newer: tuple[Evidence, ...], older: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """The newest evidence of each signal, the newer first."""
    by_signal: dict[str, Evidence] = {}
    for line in (*newer, *older):
        by_signal.setdefault(line.signal, line)
    return tuple(by_signal.values())[:MOST_EVIDENCE]


def with_visibility(change: VerdictChange, incident: Incident) -> Incident | None:
    """Its data are missing, or back; None when the rule is not the incident's."""
    if change.rule not in incident.rules:
        return None
    blind = change.transition is Transition.BLIND
    kind = TimelineKind.BLIND if blind else TimelineKind.SEEING
    text = "unknown whether it is over: data is missing" if blind else "data is back"
    return with_entry(incident, TimelineEntry(change.time, kind, text))


def closed(incident: Incident, entry: TimelineEntry) -> Incident:
    """The incident, over."""
    closed = msgspec.structs.replace(incident, state=IncidentState.CLOSED, closed=entry.time)
    return with_entry(closed, entry)
