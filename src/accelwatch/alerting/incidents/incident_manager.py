"""Verdicts become incidents: one for each entity and family of rules. Pure; ids and facts are given.

An incident is open while any rule of its family fires on its entity. One that comes back within the
cool-down of its rule is the same incident again. When a rule is gone from the files, its open incidents
stay and say so: only a person closes them.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter

import msgspec

from accelwatch.alerting.incidents.course import (
    cleared,
    closed,
    fired_again,
    opened,
    with_visibility,
    without_lost,
)
from accelwatch.alerting.incidents.grouping.incident_groups import IncidentGroups
from accelwatch.alerting.incidents.grouping.storms import WITHIN_S
from accelwatch.alerting.incidents.model.incident import (
    Facts,
    Incident,
    IncidentState,
    TimelineEntry,
    TimelineKind,
    with_entry,
)
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.timing import Transition
from accelwatch.alerting.rules.verdict import (
    Entity,
    VerdictChange,
)

# After how long it is looked again whether an incident may still come back.
_AGAIN_S = 60.0
_LET_GO_AT_ONCE = 256
# Family and entity.
Key = tuple[str, Entity]
Describe = Callable[[Entity], Facts]
NextId = Callable[[], str]


class IncidentManager:
    """All incidents that are open, and those that may still come back."""

    def __init__(
        self,
        rules: Mapping[str, Rule],
        describe: Describe,
        next_id: NextId,
        incidents: Iterable[Incident] = (),
        *,
        storm_within_s: float = WITHIN_S,
    ) -> None:
        """`storm_within_s`: within which time many nodes are a storm."""
        self._rules = rules
        self._describe = describe
        self._next_id = next_id
        self._kept: dict[Key, Incident] = {}
        # Of what is kept, by id.
        self._keys: dict[str, Key] = {}
        self._groups = IncidentGroups(next_id, storm_within_s)
        # By the wall clock a cool-down would end early, or never, where that is set meanwhile.
        # When incidents that may come back were closed by this process, in monotonic seconds.
        self._closed_at: dict[str, float] = {}
        # A heap: until when those that are over may come back, in monotonic seconds, and their ids.
        self._removals: list[tuple[float, str]] = []
        # How many members of a group have it in their history that they are.
        self._joined: dict[str, int] = {}
        self._restore(incidents)

    def _restore(self, incidents: Iterable[Incident]) -> None:
        groups: list[Incident] = []
        for incident in incidents:
            if incident.members or incident.entity.group:
                groups.append(incident)
            else:
                self._store((incident.family, incident.entity), incident)
                if not incident.is_open:
                    self._schedule_removal(incident.id, 0.0)
        members = self.members()
        for group in groups:
            if not (group.group and group.is_open):
                self._joined[group.id] = len(group.members)
            open_members = (member for member in members.get(group.id, ()) if member.is_open)
            self._groups.restore(group, open_members)

    def _store(self, key: Key, incident: Incident) -> None:
        before = self._kept.get(key)
        if before is not None and before.id != incident.id:
            self._keys.pop(before.id, None)
        self._kept[key] = incident
        self._keys[incident.id] = key

    @property
    def open(self) -> list[Incident]:
        """Everything that is going on, groups included, in the order in which it was opened."""
        # Of ten thousand, the property and a lambda would cost three times as much.
        single = [
            incident for incident in self._kept.values() if incident.state is IncidentState.OPEN
        ]
        return sorted((*single, *self._groups.open), key=attrgetter("opened"))

    def set_rules(self, rules: Mapping[str, Rule], now: float) -> list[Incident]:
        """Other rules from now on; the incidents that have lost theirs."""
        self._rules = rules
        changed: list[Incident] = []
        for key, incident in self._kept.items():
            after = without_lost(incident, rules, now) if incident.is_open else incident
            if after is not incident:
                self._kept[key] = after
                changed.append(after)
        return changed

    def step(
        self, changes: Iterable[VerdictChange], now: float, at: float | None = None
    ) -> list[Incident]:
        """The incidents that a tick has changed, each once, as they stand after it.

        `now` in Unix seconds is what incidents say; timers go by `at`, in monotonic seconds, so that a
        clock that is set changes none of them. Without it both are one.
        """
        at = now if at is None else at
        changed: dict[str, Incident] = {}
        for change in changes:
            incident = self._apply(change, at)
            if incident is not None:
                changed[incident.id] = incident
                if not incident.is_open:
                    self._over(incident, at)
        for incident in self._groups.step(list(changed.values()), self._rules, now, at):
            changed[incident.id] = incident
            for member in self._new_members(incident):
                joined = self._join(member, incident, now)
                if joined is not None:
                    changed[joined.id] = joined
        # Last, so that an incident that came back in this step is not forgotten.
        self._forget(now, at)
        return list(changed.values())

    def _over(self, incident: Incident, at: float) -> None:
        """A single incident is over since `at`, monotonic seconds; it may come back for a while."""
        self._closed_at[incident.id] = at
        self._groups.leave(incident)
        rule = self._rules.get(incident.rule)
        self._schedule_removal(incident.id, at + (0.0 if rule is None else rule.cooldown_s))

    def _schedule_removal(self, id_: str, until: float) -> None:
        heapq.heappush(self._removals, (until, id_))

    def _new_members(self, group: Incident) -> Sequence[str]:
        """Members added since the last call; members are only ever added at the end."""
        reported, self._joined[group.id] = self._joined.get(group.id, 0), len(group.members)
        if not group.is_open:
            del self._joined[group.id]
        return () if group.group else group.members[reported:]

    def members(self) -> dict[str, list[Incident]]:
        """The incidents that are part of a group, by the id of the group."""
        members: dict[str, list[Incident]] = {}
        for incident in self._kept.values():
            if incident.group:
                members.setdefault(incident.group, []).append(incident)
        return members

    def close(self, id_: str, now: float, actor: str, note: str) -> Incident | None:
        """Close an incident by hand; None for one that is not open."""
        for key, incident in self._kept.items():
            if incident.id == id_ and incident.is_open:
                self._kept[key] = closed(
                    incident, TimelineEntry(now, TimelineKind.CLOSED, note, actor)
                )
                self._groups.leave(self._kept[key])
                self._schedule_removal(incident.id, 0.0)
                return self._kept[key]
        return self._groups.close(id_, now, actor, note)

    def get(self, id_: str) -> Incident | None:
        """An incident that is kept, or a group that is open, by its id."""
        key = self._keys.get(id_)
        return self._groups.get(id_) if key is None else self._kept[key]

    def follow(self, id_: str, leader: str, now: float) -> Incident | None:
        """Have an open incident follow another one of its cause, or lead it (empty); None for none."""
        key = self._keys.get(id_)
        if key is None or not self._kept[key].is_open or self._kept[key].follows == leader:
            return None
        other = self._keys.get(leader)
        title = "" if other is None else f": {self._kept[other].title}"
        text = f"of one cause with {leader}{title}" if leader else "it leads its cause now"
        after = msgspec.structs.replace(self._kept[key], follows=leader)
        self._kept[key] = with_entry(after, TimelineEntry(now, TimelineKind.JOINED, text))
        return self._kept[key]

    def note(
        self, id_: str, now: float, actor: str, text: str, *, calls: bool = False
    ) -> Incident | None:
        """Write a line into an incident's history; None for a group or one that is not known.

        A line that `calls` is for a person who has to look.
        """
        key = self._keys.get(id_)
        if key is None or self._kept[key].id != id_:
            return None
        kind = TimelineKind.CALL if calls else TimelineKind.NOTE
        self._kept[key] = with_entry(self._kept[key], TimelineEntry(now, kind, text, actor))
        return self._kept[key]

    def release(self, group: Incident, now: float) -> list[Incident]:
        """The members of a group that a person has closed, each for itself from now on."""
        released: list[Incident] = []
        for id_ in group.members:
            key = self._keys.get(id_)
            member = None if key is None else self._kept[key]
            if key is None or member is None or member.group != group.id or not member.is_open:
                continue
            text = f"{group.id}, which it was part of, was closed by hand"
            alone = msgspec.structs.replace(member, group="")
            self._kept[key] = with_entry(alone, TimelineEntry(now, TimelineKind.NOTE, text))
            released.append(self._kept[key])
        return released

    def _fired(
        self, rule: Rule, change: VerdictChange, before: Incident | None, at: float
    ) -> Incident:
        """Opened, back again, or fired on while it goes on."""
        # Within the cool-down the same incident is reopened: a flapping condition is one incident,
        # not ten.
        if before is None or not (before.is_open or self._may_return(before, change.time, at)):
            return opened(rule, change, self._describe(change.entity), self._next_id())
        return fired_again(
            rule, change, before, in_group=self._groups.get(before.group) is not None
        )

    def _apply(self, change: VerdictChange, at: float) -> Incident | None:
        rule = self._rules.get(change.rule)
        key = (rule.family if rule is not None else change.rule, change.entity)
        incident = self._kept.get(key)
        if change.transition is Transition.FIRED:
            after = None if rule is None else self._fired(rule, change, incident, at)
        # A person may have closed it before its rule cleared.
        elif incident is None or not incident.is_open:
            return None
        elif change.transition is Transition.CLEARED:
            after = cleared(change, incident)
        else:
            after = with_visibility(change, incident)
        if after is not None:
            self._store(key, after)
        return after

    def _may_return(self, incident: Incident, now: float, at: float) -> bool:
        rule = self._rules.get(incident.rule)
        cooldown_s = rule.cooldown_s if rule is not None else 0.0
        if incident.closed is None:
            return False
        # After a restart only the wall clock remains. A clock that was set back gives a negative
        # age, which does not count as within the cool-down.
        closed_s = self._closed_at.get(incident.id)
        over_s = now - incident.closed if closed_s is None else at - closed_s
        return 0 <= over_s < cooldown_s

    def _join(self, id_: str, group: Incident, now: float) -> Incident | None:
        key = self._keys.get(id_)
        if key is None or self._kept[key].group == group.id:
            return None
        if not self._groups.may_join(self._kept[key], group):
            return None
        joined = msgspec.structs.replace(self._kept[key], group=group.id)
        entry = TimelineEntry(now, TimelineKind.JOINED, f"part of {group.id}: {group.title}")
        self._kept[key] = with_entry(joined, entry)
        return self._kept[key]

    def _forget(self, now: float, at: float) -> None:
        """Let go of those that cannot come back any more, of many a part at each step."""
        for _ in range(_LET_GO_AT_ONCE):
            if not self._removals or self._removals[0][0] > at:
                return
            _, id_ = heapq.heappop(self._removals)
            key = self._keys.get(id_)
            if key is None or self._kept[key].is_open:
                continue
            if self._may_return(self._kept[key], now, at):
                self._schedule_removal(id_, at + _AGAIN_S)
                continue
            del self._kept[key], self._keys[id_]
            self._closed_at.pop(id_, None)
