"""Groups as rules configure them. Pure.

A group begins when as many entities as its rule says have an open incident of one family with the same
value of what they are grouped by, all within a span. It grows by whoever follows, and is over when none
of its members has been open for as long as the rule calls calm.
"""

from collections.abc import Callable, Iterable

import msgspec

from accelwatch.alerting.incidents.grouping.group_incident import (
    closed_at,
    group_of,
    title_of,
    with_members,
)
from accelwatch.alerting.incidents.grouping.group_state import GroupState
from accelwatch.alerting.incidents.grouping.grouping_key import common_of
from accelwatch.alerting.incidents.model.incident import (
    Incident,
    TimelineEntry,
    TimelineKind,
    with_entry,
)
from accelwatch.alerting.rules.rule import Grouping, Rule

# Family, and what its members have in common.
_Key = tuple[str, str]


class RuleGroups:
    """The groups of all families."""

    def __init__(self, next_id: Callable[[], str]) -> None:
        self._next_id = next_id
        self._groups: dict[_Key, GroupState] = {}
        self._rules: dict[_Key, Grouping] = {}
        # Of which groups an incident is a member or a candidate, by its id.
        self._keys_of: dict[str, set[_Key]] = {}

    @property
    def open(self) -> list[Incident]:
        """The groups that are going on."""
        groups = (group.incident for group in self._groups.values())
        return [incident for incident in groups if incident is not None and incident.is_open]

    def restore(self, incident: Incident, members: Iterable[Incident]) -> None:
        """A group that was open before, with those of its members that still are."""
        if not incident.is_open:
            return
        key = incident.family, incident.entity.group
        group = self._groups[key] = GroupState()
        group.restore(incident, members)
        # Its rule may be gone; where it is not, the next member that changes brings it.
        self._rules[key] = Grouping(by="", at_least=2, within_s=0.0, calm_s=600.0)
        for id_ in group.members:
            self._keys_of.setdefault(id_, set()).add(key)

    def step(
        self, changed: Iterable[tuple[Incident, Rule]], now: float, at: float
    ) -> list[Incident]:
        """The groups that a tick has changed; `now` in Unix seconds, `at` in monotonic ones.

        Of incidents that are over `leave` must have been called. It costs what has changed, not what
        there is.
        """
        touched: dict[_Key, Rule] = {}
        for incident, rule in changed:
            common = None if rule.group is None else common_of(incident, rule.group)
            if rule.group is None or common is None or not incident.is_open:
                continue
            key = incident.family, common
            self._groups.setdefault(key, GroupState()).update(incident, now, at)
            self._rules[key] = rule.group
            self._keys_of.setdefault(incident.id, set()).add(key)
            touched[key] = rule
        results = [self._grow(key, rule, now, at) for key, rule in touched.items()]
        results += [self._calm(key, now, at) for key in list(self._groups)]
        return [incident for incident in results if incident is not None]

    def leave(self, closed: Incident) -> None:
        """An incident is over."""
        for key in self._keys_of.pop(closed.id, ()):
            if key in self._groups:
                self._groups[key].leave(closed.id)

    def yield_to(self, storm: Incident, now: float) -> list[Incident]:
        """Give the members of a storm up to it, and the groups that have none left; those groups."""
        of_storm, yielded = set(storm.members), []
        for key, group in list(self._groups.items()):
            joining = of_storm & (group.members.keys() | group.candidates.keys())
            if key[0] != storm.family or not joining:
                continue
            for id_ in joining:
                group.members.pop(id_, None)
                group.candidates.pop(id_, None)
            if group.incident is None or group.members or group.candidates:
                continue
            self._forget(key)
            text = f"part of {storm.id}: {storm.title}"
            within = msgspec.structs.replace(group.incident, group=storm.id)
            yielded.append(with_entry(within, TimelineEntry(now, TimelineKind.JOINED, text)))
        return yielded

    def close(self, id_: str, now: float, actor: str, note: str) -> Incident | None:
        """Close a group by hand; None for one that is not open."""
        for key, group in self._groups.items():
            incident = group.incident
            if incident is not None and incident.id == id_ and incident.is_open:
                self._forget(key)
                return closed_at(incident, TimelineEntry(now, TimelineKind.CLOSED, note, actor))
        return None

    def _grow(self, key: _Key, rule: Rule, now: float, at: float) -> Incident | None:
        group = self._groups[key]
        if group.incident is None:
            return self._start(group, key, rule, now, at)
        new = list(group.candidates.values())
        if not new:
            return None
        group.admit(new)
        grown = with_members(group.incident, new, now)
        title = title_of(rule, grown.nodes, len(grown.members), key[1])
        group.incident = msgspec.structs.replace(grown, title=title)
        return group.incident

    def _start(
        self, group: GroupState, key: _Key, rule: Rule, now: float, at: float
    ) -> Incident | None:
        recent = group.started_since(at - self._rules[key].within_s)
        # Two incidents of one device, as of one that comes back, are no two devices.
        if len({candidate.entity for candidate in recent}) < self._rules[key].at_least:
            return None
        group.admit(recent)
        group.incident = group_of(self._next_id(), key[1], rule, recent, now)
        return group.incident

    def _calm(self, key: _Key, now: float, at: float) -> Incident | None:
        group = self._groups[key]
        incident = group.incident
        if incident is None:
            if not group.candidates:
                self._forget(key)
            return None
        if not group.is_calm(self._rules[key].calm_s, at):
            return None
        self._forget(key)
        text = f"none of its {len(incident.members)} members is open any more"
        return closed_at(incident, TimelineEntry(now, TimelineKind.CLOSED, text))

    def _forget(self, key: _Key) -> None:
        del self._groups[key], self._rules[key]
