"""The groups of rules, and the storms above them, as one: what single incidents are a part of. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from accelwatch.alerting.incidents.grouping.rule_groups import RuleGroups
from accelwatch.alerting.incidents.grouping.storms import WITHIN_S, Storms
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.rule import Rule


class IncidentGroups:
    """An incident is a member of one group at most; that of a storm comes before that of a rule."""

    def __init__(self, next_id: Callable[[], str], storm_within_s: float = WITHIN_S) -> None:
        """`storm_within_s`: within which time many nodes are a storm."""
        self._rule_groups = RuleGroups(next_id)
        self._storms = Storms(next_id, storm_within_s)

    @property
    def open(self) -> list[Incident]:
        """What is going on: groups of rules, storms, and groups that are part of a storm."""
        return [*self._rule_groups.open, *self._storms.open]

    def get(self, id_: str) -> Incident | None:
        """A group that is open, by its id."""
        return next((group for group in self.open if group.id == id_), None)

    def restore(self, group: Incident, members: Iterable[Incident]) -> None:
        """A group that was there before, with those of its members that are open."""
        if group.group and group.is_open:
            self._storms.add_group(group)
        elif group.storm:
            self._storms.restore(group, members)
        else:
            self._rule_groups.restore(group, members)

    def may_join(self, incident: Incident, group: Incident) -> bool:
        """Whether an incident that is in a group, or in none, may be a member of this one."""
        return group.storm or not self._storms.has(incident.group)

    def step(
        self, changed: Sequence[Incident], rules: Mapping[str, Rule], now: float, at: float
    ) -> list[Incident]:
        """The groups that a tick has changed; `now` in Unix seconds, `at` in monotonic ones."""
        before = {group.id for group in self._rule_groups.open}
        groups = self._rule_groups.step(self._candidates(changed, rules), now, at)
        storms = self._storms.step(changed, self._rule_groups.open, rules, now, at)
        yielded = [
            group
            for storm in storms
            if storm.storm and storm.is_open
            for group in self._rule_groups.yield_to(storm, now)
        ]
        # Of a group that would begin and be given up in one tick nobody needs to know.
        reported = [group for group in yielded if group.id in before]
        for group in reported:
            self._storms.add_group(group)
        yielded_ids = {group.id for group in yielded}
        return [*(group for group in groups if group.id not in yielded_ids), *reported, *storms]

    def _candidates(
        self, changed: Iterable[Incident], rules: Mapping[str, Rule]
    ) -> Iterator[tuple[Incident, Rule]]:
        """Changed incidents that are in no storm, and whose rule says that many of them are one."""
        for incident in changed:
            rule = rules.get(incident.rule)
            if rule is not None and rule.group is not None and not self._storms.has(incident.group):
                yield incident, rule

    def leave(self, closed: Incident) -> None:
        """An incident is over: no group waits for its end any more."""
        self._rule_groups.leave(closed)
        self._storms.leave(closed)

    def close(self, id_: str, now: float, actor: str, note: str) -> Incident | None:
        """Close a group by hand; None for one that is not open."""
        closed = self._rule_groups.close(id_, now, actor, note)
        return closed or self._storms.close(id_, now, actor, note)
