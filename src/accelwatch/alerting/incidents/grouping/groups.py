"""Many at once are one: a storm becomes an incident of its own, with hysteresis. Pure.

A group begins when as many entities as its rule says have an open incident of one family with the same
value of what they are grouped by, all within a span. It grows by whoever follows, and is over when none
of its members has been open for as long as the rule calls calm.
"""

from collections.abc import Callable, Iterable

import msgspec

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
from accelwatch.alerting.rules.rule import Grouping, Rule
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.schema.provenance import weakest

Key = tuple[str, str]
"""Family, and what its members have in common (`rack=r7`)."""
FLEET = "fleet"
"""What members have in common that need have nothing in common but their family."""
_LABEL = "labels."


class _Gathering(msgspec.Struct, kw_only=True):
    """The members of what may become, or is, a group."""

    rule: Grouping
    members: dict[str, Incident] = {}
    """Those that are open."""
    waiting: dict[str, Incident] = {}
    """Those of them that are not in the group's incident."""
    member_ids: set[str] = set()
    """Ids of all that the group's incident has ever had."""
    started_at: dict[str, float] = {}
    """When each member was opened or came back, in monotonic seconds."""
    incident: Incident | None = None
    calm_since: float | None = None
    """Monotonic seconds."""


class Groups:
    """What single incidents have in common."""

    def __init__(self, next_id: Callable[[], str]) -> None:
        self._next_id = next_id
        self._gatherings: dict[Key, _Gathering] = {}
        self._of: dict[str, set[Key]] = {}
        """Of which gatherings an incident is a member, by its id."""

    @property
    def open(self) -> list[Incident]:
        """The groups that are going on."""
        return [
            gathering.incident
            for gathering in self._gatherings.values()
            if gathering.incident is not None and gathering.incident.is_open
        ]

    def restore(self, incident: Incident, members: Iterable[Incident]) -> None:
        """A group that was open before, with those of its members that still are."""
        if incident.is_open:
            rule = Grouping(by="", at_least=2, within_s=0.0, calm_s=600.0)
            open_members = {member.id: member for member in members}
            gathering = _Gathering(rule=rule, incident=incident, members=open_members)
            gathering.member_ids = set(incident.members)
            key = incident.family, incident.entity.group
            self._gatherings[key] = gathering
            for id_ in open_members:
                self._of.setdefault(id_, set()).add(key)

    def step(
        self, changed: Iterable[tuple[Incident, Rule]], now: float, at: float
    ) -> list[Incident]:
        """The groups that a tick has changed; `now` in Unix seconds, `at` in monotonic ones.

        Of those that are over `left` must have been told. It costs what has changed, not what there is.
        """
        touched: dict[Key, Rule] = {}
        for incident, rule in changed:
            key = _key(incident, rule)
            if key is None or not incident.is_open:
                continue
            gathering = self._gatherings.setdefault(key, _Gathering(rule=_grouping(rule)))
            gathering.rule = _grouping(rule)
            if incident.id not in gathering.member_ids:
                gathering.waiting[incident.id] = incident
            gathering.members[incident.id] = incident
            gathering.started_at.setdefault(incident.id, at - max(now - incident.started_at, 0.0))
            self._of.setdefault(incident.id, set()).add(key)
            touched[key] = rule
        results = [self._grown(key, rule, now, at) for key, rule in touched.items()]
        results += [self._calmed(key, now, at) for key in list(self._gatherings)]
        return [incident for incident in results if incident is not None]

    def left(self, closed: Incident) -> None:
        """A member that is over: no group waits for its end any more."""
        for key in self._of.pop(closed.id, ()):
            gathering = self._gatherings.get(key)
            if gathering is not None:
                for kept in (gathering.members, gathering.waiting, gathering.started_at):
                    kept.pop(closed.id, None)

    def yield_to(self, storm: Incident, now: float) -> list[Incident]:
        """Give the members of a storm up to it, and the groups that have none left; those groups."""
        joining, yielded = set(storm.members), []
        for key, gathering in list(self._gatherings.items()):
            if key[0] != storm.family:
                continue
            gone = joining & gathering.members.keys()
            if not gone:
                continue
            for kept in (gathering.members, gathering.waiting):
                for id_ in gone & kept.keys():
                    del kept[id_]
            if gathering.incident is None or gathering.members:
                continue
            del self._gatherings[key]
            text = f"part of {storm.id}: {storm.title}"
            within = msgspec.structs.replace(gathering.incident, group=storm.id)
            yielded.append(with_entry(within, TimelineEntry(now, TimelineKind.JOINED, text)))
        return yielded

    def close(self, id_: str, now: float, actor: str, note: str) -> Incident | None:
        """Close a group by hand; None for one that is not open."""
        for key, gathering in self._gatherings.items():
            incident = gathering.incident
            if incident is not None and incident.id == id_ and incident.is_open:
                del self._gatherings[key]
                return closed_at(incident, TimelineEntry(now, TimelineKind.CLOSED, note, actor))
        return None

    def _grown(self, key: Key, rule: Rule, now: float, at: float) -> Incident | None:
        gathering = self._gatherings[key]
        waiting = gathering.waiting
        if gathering.incident is None:
            since, started = at - gathering.rule.within_s, gathering.started_at
            recent = [member for id_, member in waiting.items() if started[id_] >= since]
            if len({member.entity for member in recent}) < gathering.rule.at_least:
                return None
            gathering.incident = group_of(self._next_id(), key[1], rule, recent, now)
            gathering.member_ids = set(gathering.incident.members)
            gathering.waiting = {
                id_: member for id_, member in waiting.items() if started[id_] < since
            }
            return gathering.incident
        new, gathering.waiting = list(waiting.values()), {}
        if not new:
            return None
        gathering.member_ids.update(member.id for member in new)
        grown = with_members(gathering.incident, new, now)
        title = title_of(rule, grown.nodes, len(grown.members), key[1])
        gathering.incident = msgspec.structs.replace(grown, title=title)
        return gathering.incident

    def _calmed(self, key: Key, now: float, at: float) -> Incident | None:
        gathering = self._gatherings[key]
        incident = gathering.incident
        if incident is None:
            if not gathering.members:
                del self._gatherings[key]
            return None
        if gathering.member_ids & gathering.members.keys():
            gathering.calm_since = None
            return None
        # An incident that began long before is no part of it, and may stay open for days.
        if gathering.calm_since is None:
            gathering.calm_since = at
        if at - gathering.calm_since < gathering.rule.calm_s:
            return None
        del self._gatherings[key]
        text = f"none of its {len(incident.members)} members is open any more"
        return closed_at(incident, TimelineEntry(now, TimelineKind.CLOSED, text))


def may_join_group(incident: Incident, rule: Rule) -> bool:
    """Whether a rule groups its incidents, and this one has what they are grouped by."""
    return rule.group is not None and _key(incident, rule) is not None


def _key(incident: Incident, rule: Rule) -> Key | None:
    by = _grouping(rule).by
    value = _value(incident, by)
    return None if value is None else (incident.family, FLEET if by == FLEET else f"{by}={value}")


def _value(incident: Incident, by: str) -> str | None:
    """What an incident has in common with others; None when it is not known."""
    if by == FLEET:
        return ""
    own = {
        "node": incident.entity.node,
        "job": incident.entity.job or next(iter(incident.facts.jobs), ""),
        "rack": incident.entity.rack or incident.facts.labels.get("rack", ""),
        "model": incident.facts.model,
        "driver_version": incident.facts.driver_version,
    }
    name = by.removeprefix(_LABEL)
    value = own[by] if by in own else incident.facts.labels.get(name, "")
    # Where nobody says in which rack nodes stand, they stand in one.
    return value or ("unknown" if by == "rack" else None)


def _what_to_do(rule: Rule) -> str:
    """What mends one does not mend many: only a rule that looks for a cause knows what to do."""
    if rule.group is not None and rule.group.what_to_do:
        return rule.group.what_to_do
    if rule.what_to_do and rule.advice in (Advice.WAIT, Advice.NONE):
        return rule.what_to_do
    return "look for one cause: storage, fabric, power, cooling, a roll-out"


def title_of(rule: Rule, nodes: tuple[str, ...], members: int, common: str) -> str:
    """`GPU has fallen off the bus: 30 nodes at once, rack r7`; `place` is `rack=r7` or `fleet`."""
    shared = "" if common == FLEET else f", {common.removeprefix(_LABEL).replace('=', ' ', 1)}"
    many = f"{len(nodes)} nodes" if len(nodes) > 1 else f"{members} {rule.scope.value}s"
    return f"{rule.title}: {many} at once{shared}".replace("driver_version", "driver version")


def group_of(id_: str, common: str, rule: Rule, members: list[Incident], now: float) -> Incident:
    """The incident of a group that begins; `place` is what its members have in common."""
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
        # Nobody is taken out for what befalls many: the cause is somewhere else.
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


def _grouping(rule: Rule) -> Grouping:
    if rule.group is None:
        raise ValueError(f"rule {rule.id} groups nothing")
    return rule.group


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


def _shared(members: list[Incident]) -> Facts:
    """What all members have in common, and all their jobs and users."""
    first, rest = members[0].facts, members[1:]
    driver = first.driver_version
    return Facts(
        model=first.model if all(member.facts.model == first.model for member in rest) else "",
        vendor=first.vendor if all(member.facts.vendor == first.vendor for member in rest) else "",
        driver_version=driver
        if all(member.facts.driver_version == driver for member in rest)
        else "",
        labels={
            name: value
            for name, value in first.labels.items()
            if all(member.facts.labels.get(name) == value for member in rest)
        },
        jobs=tuple(dict.fromkeys(job for member in members for job in member.facts.jobs)),
        users=tuple(dict.fromkeys(user for member in members for user in member.facts.users)),
    )


def closed_at(group: Incident, entry: TimelineEntry) -> Incident:
    """A group that is over."""
    closed = msgspec.structs.replace(group, state=IncidentState.CLOSED, closed=entry.time)
    return with_entry(closed, entry)
