"""What befalls many nodes at once is one incident, whatever their rules group by. Pure.

A family has one storm at a time, above the groups that its rules configure. It opens when `LEAST_NODES`
nodes have an incident of the family within `WITHIN_S`; or `LEAST_OF_RACK` nodes of one rack one of the
same rule, when they are most of those that have: so few must be alike to have one cause. The storm of
a rack stays the same incident when the trouble leaves the rack. A storm adopts the members of smaller
groups and those groups with them, as members like the others: nothing is a member of a member.
Such a group ends with the storm, for it has nothing left to wait for.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from accelwatch.alerting.incidents.grouping.group_incident import (
    closed_at,
    group_of,
    title_of,
    with_members,
)
from accelwatch.alerting.incidents.grouping.group_state import GroupState
from accelwatch.alerting.incidents.grouping.grouping_key import FLEET
from accelwatch.alerting.incidents.grouping.storm_rules import (
    belongs,
    is_wide,
    leading_rule,
    may_join_storm,
    rack_of_most,
    unexplained,
)
from accelwatch.alerting.incidents.model.incident import Incident, TimelineEntry, TimelineKind
from accelwatch.alerting.rules.rule import Rule

WITHIN_S = 300.0
CALM_S = 600.0


class Storms:
    """The storms of all families."""

    def __init__(self, next_id: Callable[[], str], within_s: float = WITHIN_S) -> None:
        """`within_s`: the time within which the members of one storm open."""
        self._next_id = next_id
        self._within_s = within_s
        # By family: what of it is open on nodes, and the storm that it has become.
        self._storms: dict[str, GroupState] = {}
        # By family: groups of rules that had opened before, and are part of its storm now.
        self._groups_in: dict[str, dict[str, Incident]] = {}
        # Groups that ended with their storm, until the next step reports them.
        self._over: list[Incident] = []

    @property
    def open(self) -> list[Incident]:
        """The storms that are going on, and the groups that are part of them."""
        storms = {
            family: storm.incident
            for family, storm in self._storms.items()
            if storm.incident is not None
        }
        groups = [group for family in storms for group in self._groups_of(family).values()]
        return [*storms.values(), *groups]

    def has(self, id_: str) -> bool:
        """Whether a storm of this id is going on."""
        storms = (candidate.incident for candidate in self._storms.values())
        return any(storm is not None and storm.id == id_ for storm in storms)

    def restore(self, incident: Incident, members: Iterable[Incident]) -> None:
        """A storm that was open before, with those of its members that still are."""
        if incident.is_open:
            storm = self._storms.setdefault(incident.family, GroupState())
            storm.restore(incident, members)

    def add_group(self, group: Incident) -> None:
        """Have a group as a part of the storm of its family."""
        self._storms.setdefault(group.family, GroupState())
        self._groups_in.setdefault(group.family, {})[group.id] = group

    def _groups_of(self, family: str) -> dict[str, Incident]:
        return self._groups_in.get(family, {})

    def step(
        self,
        changed: Iterable[Incident],
        groups: Sequence[Incident],
        rules: Mapping[str, Rule],
        now: float,
        at: float,
    ) -> list[Incident]:
        """The storms that a tick has changed; `groups` are the open groups of rules.

        `now` in Unix seconds, `at` in monotonic ones.
        """
        touched: set[str] = set()
        for incident in changed:
            if not incident.is_open:
                self.leave(incident)
            elif self._is_member(incident) or may_join_storm(incident, rules):
                storm = self._storms.setdefault(incident.family, GroupState())
                storm.update(incident, now, at)
                touched.add(incident.family)
        results: list[Incident | None] = []
        for family in touched:
            own = [group for group in groups if group.family == family]
            results.append(self._grow(family, own, rules, now, at))
        results += [self._calm(family, now, at) for family in list(self._storms)]
        over, self._over = self._over, []
        return [*(incident for incident in results if incident is not None), *over]

    def leave(self, closed: Incident) -> None:
        """An incident is over."""
        storm = self._storms.get(closed.family)
        if storm is not None:
            storm.leave(closed.id)

    def _is_member(self, incident: Incident) -> bool:
        """Whether the incident is, or was, in the storm of its family."""
        storm = self._storms.get(incident.family)
        return storm is not None and incident.id in storm.member_ids

    def close(self, id_: str, now: float, actor: str, note: str) -> Incident | None:
        """Close a storm, or a group in it, by hand; None for one that is not open."""
        entry = TimelineEntry(now, TimelineKind.CLOSED, note, actor)
        for family, storm in self._storms.items():
            if id_ in self._groups_of(family):
                return closed_at(self._groups_in[family].pop(id_), entry)
            if storm.incident is not None and storm.incident.id == id_:
                return self._close_storm(family, storm.incident, entry)
        return None

    def _close_storm(self, family: str, incident: Incident, entry: TimelineEntry) -> Incident:
        groups = self._groups_of(family).values()
        self._forget(family)
        text = f"{incident.id}, which it is part of, is over"
        over = TimelineEntry(entry.time, TimelineKind.CLOSED, text)
        self._over += [closed_at(group, over) for group in groups]
        return closed_at(incident, entry)

    def _forget(self, family: str) -> None:
        del self._storms[family]
        self._groups_in.pop(family, None)

    def _grow(
        self,
        family: str,
        own: Sequence[Incident],
        rules: Mapping[str, Rule],
        now: float,
        at: float,
    ) -> Incident | None:
        storm = self._storms[family]
        before = storm.incident
        candidates = [
            candidate
            for candidate in storm.started_since(at - self._within_s)
            if candidate.rule in rules
        ]
        if before is None:
            recent = candidates = unexplained(candidates, own)
            common, alike = rack_of_most(recent, rules)
        else:
            common, alike = before.entity.group, before.rule
            # The storm of the fleet includes every candidate, so that none needs checking.
            recent = candidates if common == FLEET else [*storm.members.values(), *candidates]
        if common != FLEET and is_wide(recent, common, alike):
            common = FLEET
        new = [candidate for candidate in candidates if belongs(candidate, common, alike, rules)]
        if not common or not new:
            return None
        storm.admit(new)
        if before is None:
            rule = leading_rule(new, rules)
            opened = group_of(self._next_id(), common, rule, new, now)
            storm.incident = msgspec.structs.replace(opened, storm=True)
            return storm.incident
        storm.incident = _joined(before, new, common, rules, now)
        return storm.incident

    def _calm(self, family: str, now: float, at: float) -> Incident | None:
        storm = self._storms[family]
        storm.expire_candidates(at - self._within_s)
        if storm.incident is None:
            if not storm.candidates:
                self._forget(family)
            return None
        if not storm.is_calm(CALM_S, at):
            return None
        text = f"none of its {len(storm.member_ids)} members is open any more"
        entry = TimelineEntry(now, TimelineKind.CLOSED, text)
        return self._close_storm(family, storm.incident, entry)


def _joined(
    storm: Incident, new: list[Incident], common: str, rules: Mapping[str, Rule], now: float
) -> Incident:
    grown = with_members(storm, new, now)
    rule = rules.get(storm.rule) or leading_rule(new, rules)
    severity = max((storm, *new), key=lambda incident: incident.severity.weight).severity
    return msgspec.structs.replace(
        grown,
        title=title_of(rule, grown.nodes, len(grown.members), common),
        entity=msgspec.structs.replace(storm.entity, group=common),
        severity=severity,
        updated=now,
    )
