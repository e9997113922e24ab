"""The incident that a group of incidents is: how it begins, grows and ends, and what it is called."""

import msgspec

from accelwatch.alerting.incidents.grouping.grouping_key import FLEET, LABEL
from accelwatch.alerting.incidents.model.incident import (
    MOST_EVIDENCE,
    MOST_NODES,
    Facts,
    Incident,
    IncidentState,
    TimelineEntry,
    TimelineKind,
    with_entry,
)
from accelwatch.alerting.rules.document import Advice
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.schema.provenance import weakest


def group_of(id_: str, common: str, rule: Rule, members: list[Incident], now: float) -> Incident:
    """The incident of a group that begins; `common` is what its members share."""
    worst = max(members, key=lambda member: member.severity.weight)
    first = min(members, key=lambda member: member.opened)
    nodes = tuple(dict.fromkeys(node for member in members for node in member.nodes))
    title = title_of(rule, nodes, len(members), common)
    return Incident(
        id=id_,
        family=rule.family,
        rule=rule.id,
        rules=(rule.id,),
        rule_digest=rule.digest,
        title=title,
        entity=Entity(scope=rule.scope, group=common),
        facts=_shared(members),
        severity=worst.severity,
        confidence=rule.confidence,
        # No node is quarantined for a fault that many share: the cause is somewhere else.
        advice=Advice.WAIT,
        since=min(member.since for member in members),
        opened=now,
        updated=now,
        evidence=first.evidence[:MOST_EVIDENCE],
        nodes=nodes[:MOST_NODES],
        members=tuple(member.id for member in members),
        trusted=any(member.trusted for member in members),
        provenance=weakest(member.provenance for member in members),
        what_to_do=_what_to_do(rule),
        runbook=rule.runbook,
        source=rule.source,
        timeline=(TimelineEntry(now, TimelineKind.OPENED, title),),
    )


def with_members(group: Incident, new: list[Incident], now: float) -> Incident:
    """A group that has grown; its title is still the old one."""
    nodes = dict.fromkeys((*group.nodes, *(node for member in new for node in member.nodes)))
    grown = msgspec.structs.replace(
        group,
        members=(*group.members, *(member.id for member in new)),
        nodes=tuple(nodes)[:MOST_NODES],
    )
    last = group.timeline[-1] if group.timeline else None
    if last is not None and last.time == now:
        return grown  # a storm that comes in parts is one moment
    text = f"{len(new)} more, {len(grown.members)} in all"
    return with_entry(grown, TimelineEntry(now, TimelineKind.GREW, text))


def closed_at(group: Incident, entry: TimelineEntry) -> Incident:
    """A group that is over."""
    closed = msgspec.structs.replace(group, state=IncidentState.CLOSED, closed=entry.time)
    return with_entry(closed, entry)


def title_of(rule: Rule, nodes: tuple[str, ...], members: int, common: str) -> str:
    """`GPU has fallen off the bus: 30 nodes at once, rack r7`; `common` is `rack=r7` or `fleet`."""
    shared = "" if common == FLEET else f", {common.removeprefix(LABEL).replace('=', ' ', 1)}"
    many = f"{len(nodes)} nodes" if len(nodes) > 1 else f"{members} {rule.scope.value}s"
    return f"{rule.title}: {many} at once{shared}".replace("driver_version", "driver version")


def _shared(members: list[Incident]) -> Facts:
    """What all members have in common, and all their jobs and users."""
    first, others = members[0].facts, members[1:]
    driver = first.driver_version
    return Facts(
        model=first.model if all(member.facts.model == first.model for member in others) else "",
        vendor=first.vendor
        if all(member.facts.vendor == first.vendor for member in others)
        else "",
        driver_version=driver
        if all(member.facts.driver_version == driver for member in others)
        else "",
        labels={
            name: value
            for name, value in first.labels.items()
            if all(member.facts.labels.get(name) == value for member in others)
        },
        jobs=tuple(dict.fromkeys(job for member in members for job in member.facts.jobs)),
        users=tuple(dict.fromkeys(user for member in members for user in member.facts.users)),
    )


def _what_to_do(rule: Rule) -> str:
    """What mends one does not mend many: only a rule that looks for a cause knows what to do."""
    if rule.group is not None and rule.group.what_to_do:
        return rule.group.what_to_do
    if rule.what_to_do and rule.advice in (Advice.WAIT, Advice.NONE):
        return rule.what_to_do
    return "look for one cause: storage, fabric, power, cooling, a roll-out"
