"""What befalls many nodes at once is one incident, whatever their rules group by. Pure.

A family has one storm at a time, above the groups that its rules ask for. It begins when `LEAST_NODES`
nodes have an incident of the family within `WITHIN_S`; or `LEAST_OF_RACK` nodes of one rack one of the
same rule, when they are most of those that have: so few must be alike to have one cause. The storm of
a rack stays the same incident when the trouble leaves the rack. A storm takes the members of smaller
groups over and those groups with them, as members like the others: nothing is a member of a member.
Such a group ends with the storm, for it has nothing left to wait for.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from accelwatch.alerting.incidents.grouping.groups import (
    FLEET,
    closed_at,
    group_of,
    title_of,
    with_members,
)
from accelwatch.alerting.incidents.model.incident import Incident, TimelineEntry, TimelineKind
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.rules.rule import Rule

LEAST_NODES = 10
LEAST_OF_RACK = 3
LEAST_BESIDES = 3
"""Nodes outside its rack, or of other rules, from which on the storm of a rack is one of the fleet."""
WITHIN_S = 300.0
CALM_S = 600.0
_NODE = "node="
_RACK = "rack="


class _Storm(msgspec.Struct, kw_only=True):
    """What of a family is open on nodes, and the storm that it has become."""

    concerned: dict[str, Incident] = {}
    """Those that are open and part of the storm."""
    coming: dict[str, Incident] = {}
    """Those that are open and may become part of it, the first to begin first."""
    members: set[str] = set()
    """Ids of all that the storm has ever had."""
    started_at: dict[str, float] = {}
    """When each of those was opened or came back, in monotonic seconds."""
    incident: Incident | None = None
    groups: dict[str, Incident] = {}
    """Groups that had begun before, and are part of it now."""
    calm_since: float | None = None
    """Monotonic seconds."""

    def absorb(self, new: Iterable[Incident]) -> None:
        """These are part of it from now on."""
        for incident in new:
            self.concerned[incident.id] = self.coming.pop(incident.id)
            self.members.add(incident.id)

    def forget(self, since: float) -> None:
        """Those that began before a moment, in monotonic seconds, become no part of it any more."""
        for id_ in list(itertools.takewhile(lambda key: self.started_at[key] < since, self.coming)):
            del self.coming[id_], self.started_at[id_]


class Storms:
    """The storms of all families."""

    def __init__(self, next_id: Callable[[], str], within_s: float = WITHIN_S) -> None:
        """`within_s`: within which time they begin that are one."""
        self._next_id = next_id
        self._within_s = within_s
        self._storms: dict[str, _Storm] = {}
        self._over: list[Incident] = []
        """Groups that ended with their storm, and of which nobody has been told yet."""

    @property
    def open(self) -> list[Incident]:
        """The storms that are going on, and the groups that are part of them."""
        storms = [
            candidate for candidate in self._storms.values() if candidate.incident is not None
        ]
        groups = [group for storm in storms for group in storm.groups.values()]
        return [
            *(candidate.incident for candidate in storms if candidate.incident is not None),
            *groups,
        ]

    def has(self, id_: str) -> bool:
        """Whether a storm of this id is going on."""
        storms = (candidate.incident for candidate in self._storms.values())
        return any(storm is not None and storm.id == id_ for storm in storms)

    def restore(self, incident: Incident, members: Iterable[Incident]) -> None:
        """A storm that was open before, with those of its members that still are."""
        if incident.is_open:
            open_members = {member.id: member for member in members}
            storm = self._storms.setdefault(incident.family, _Storm())
            storm.incident, storm.concerned = incident, open_members
            storm.members = set(incident.members)
            storm.started_at = dict.fromkeys(open_members, float("-inf"))

    def add_group(self, group: Incident) -> None:
        """Have a group as a part of the storm of its family."""
        self._storms.setdefault(group.family, _Storm()).groups[group.id] = group

    def step(
        self,
        changed: Iterable[Incident],
        groups: Sequence[Incident],
        rules: Mapping[str, Rule],
        now: float,
        at: float,
    ) -> list[Incident]:
        """The storms that a tick has changed; `groups` are those that rules ask for and are open.

        `now` in Unix seconds, `at` in monotonic ones.
        """
        touched: set[str] = set()
        for candidate in changed:
            storm = self._storms.get(candidate.family)
            if not candidate.is_open:
                self.left(candidate)
                continue
            if storm is not None and candidate.id in storm.members:
                storm.concerned[candidate.id] = candidate
            elif _counts(candidate, rules):
                storm = storm or self._storms.setdefault(candidate.family, _Storm())
                storm.coming[candidate.id] = candidate
            else:
                continue
            storm.started_at.setdefault(candidate.id, at - max(now - candidate.started_at, 0.0))
            touched.add(candidate.family)
        results: list[Incident | None] = []
        for family in touched:
            own = [group for group in groups if group.family == family]
            results.append(self._grown(family, own, rules, now, at))
        results += [self._calmed(family, now, at) for family in list(self._storms)]
        over, self._over = self._over, []
        return [*(incident for incident in results if incident is not None), *over]

    def left(self, closed: Incident) -> None:
        """A member that is over: no storm waits for its end any more."""
        storm = self._storms.get(closed.family)
        if storm is not None:
            for kept in (storm.concerned, storm.coming, storm.started_at):
                kept.pop(closed.id, None)

    def close(self, id_: str, now: float, actor: str, note: str) -> Incident | None:
        """Close a storm, or a group in it, by hand; None for one that is not open."""
        entry = TimelineEntry(now, TimelineKind.CLOSED, note, actor)
        for family, storm in self._storms.items():
            if id_ in storm.groups:
                return closed_at(storm.groups.pop(id_), entry)
            if storm.incident is not None and storm.incident.id == id_:
                return self._close_storm(family, storm.incident, entry)
        return None

    def _close_storm(self, family: str, incident: Incident, entry: TimelineEntry) -> Incident:
        groups = self._storms.pop(family).groups.values()
        text = f"{incident.id}, which it is part of, is over"
        over = TimelineEntry(entry.time, TimelineKind.CLOSED, text)
        self._over += [closed_at(group, over) for group in groups]
        return closed_at(incident, entry)

    def _grown(
        self,
        family: str,
        own: Sequence[Incident],
        rules: Mapping[str, Rule],
        now: float,
        at: float,
    ) -> Incident | None:
        storm = self._storms[family]
        before, since = storm.incident, at - self._within_s
        coming = [
            incident
            for id_, incident in storm.coming.items()
            if storm.started_at[id_] >= since and incident.rule in rules
        ]
        if before is None:
            recent = coming = _unexplained(coming, own)
            common, alike = _rack_of_most(recent, rules)
        else:
            common, alike = before.entity.group, before.rule
            # Of the storm of the fleet everybody is a part, so that nobody else has to be looked at.
            recent = coming if common == FLEET else [*storm.concerned.values(), *coming]
        if common != FLEET and _is_wide(recent, common, alike):
            common = FLEET
        new = [incident for incident in coming if _belongs(incident, common, alike, rules)]
        if not common or not new:
            return None
        storm.absorb(new)
        if before is None:
            rule = _leading(new, rules)
            opened = group_of(self._next_id(), common, rule, new, now)
            storm.incident = msgspec.structs.replace(opened, storm=True)
            return storm.incident
        storm.incident = _joined(before, new, common, rules, now)
        return storm.incident

    def _calmed(self, family: str, now: float, at: float) -> Incident | None:
        storm = self._storms[family]
        storm.forget(at - self._within_s)
        if storm.incident is None:
            if not storm.coming:
                del self._storms[family]
            return None
        if storm.concerned:
            storm.calm_since = None
            return None
        if storm.calm_since is None:
            storm.calm_since = at
        if at - storm.calm_since < CALM_S:
            return None
        text = f"none of its {len(storm.members)} members is open any more"
        return self._close_storm(
            family, storm.incident, TimelineEntry(now, TimelineKind.CLOSED, text)
        )


def _counts(incident: Incident, rules: Mapping[str, Rule]) -> bool:
    """Whether it may be part of a storm: a rule that groups over the fleet has said from when on."""
    rule = rules.get(incident.rule)
    over_fleet = rule is not None and rule.group is not None and rule.group.by == FLEET
    loud = incident.severity.weight >= Severity.WARNING.weight
    return bool(rule is not None and incident.entity.node and loud and not over_fleet)


def _rack(incident: Incident) -> str:
    return incident.entity.rack or incident.facts.labels.get("rack", "")


def _nodes(incidents: Iterable[Incident]) -> set[str]:
    return {incident.entity.node for incident in incidents}


def _stands_in(incident: Incident, common: str) -> bool:
    return common in (FLEET, f"{_RACK}{_rack(incident)}")


def _belongs(incident: Incident, common: str, alike: str, rules: Mapping[str, Rule]) -> bool:
    """Whether it is part of a storm there; that of a rack is of one rule, as long as that is known."""
    same = incident.rule == alike or alike not in rules
    return common == FLEET or (_stands_in(incident, common) and same)


def _unexplained(recent: list[Incident], own: Sequence[Incident]) -> list[Incident]:
    """Without those whose rules' own group across nodes has most of them: that is the one to tell."""
    half = len(_nodes(recent)) / 2
    explained: set[str] = set()
    for group in own:
        if not group.entity.group.startswith(_NODE):
            members = set(group.members)
            if len(_nodes(incident for incident in recent if incident.id in members)) > half:
                explained |= members
    return [incident for incident in recent if incident.id not in explained]


def _rack_of_most(recent: list[Incident], rules: Mapping[str, Rule]) -> tuple[str, str]:
    """`rack=r7` where most nodes of one rule are, and that rule; both empty when there is none."""
    for id_ in dict.fromkeys(incident.rule for incident in recent):
        group = rules[id_].group
        if group is not None and group.by == "rack":
            continue  # it has said itself from how many on
        nodes = {incident.entity.node: incident for incident in recent if incident.rule == id_}
        racks = Counter(_rack(incident) for incident in nodes.values() if _rack(incident))
        for rack, count in racks.most_common(1):
            if count >= LEAST_OF_RACK and count > len(nodes) / 2:
                return f"{_RACK}{rack}", id_
    return "", ""


def _is_wide(recent: list[Incident], common: str, alike: str) -> bool:
    """Whether it is of the fleet, and not, or no more, of one rack."""
    if len(_nodes(recent)) < LEAST_NODES:
        return False
    inside = (
        incident for incident in recent if _stands_in(incident, common) and incident.rule == alike
    )
    return not common or len(_nodes(recent) - _nodes(inside)) >= LEAST_BESIDES


def _leading(members: list[Incident], rules: Mapping[str, Rule]) -> Rule:
    """The rule that most of the worst go by."""
    worst = max(member.severity.weight for member in members)
    counted = Counter(member.rule for member in members if member.severity.weight == worst)
    return rules[counted.most_common(1)[0][0]]


def _joined(
    storm: Incident, new: list[Incident], common: str, rules: Mapping[str, Rule], now: float
) -> Incident:
    grown = with_members(storm, new, now)
    rule = rules.get(storm.rule) or _leading(new, rules)
    severity = max((storm, *new), key=lambda incident: incident.severity.weight).severity
    return msgspec.structs.replace(
        grown,
        title=title_of(rule, grown.nodes, len(grown.members), common),
        entity=msgspec.structs.replace(storm.entity, group=common),
        severity=severity,
        updated=now,
    )
