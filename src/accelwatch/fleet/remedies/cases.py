"""The cases sent to the engine, and those to send again because their incidents have changed.

An incident's case follows from the incident, its rule, what mutes it and the groups that it is part of.
While these are the same things as before, nothing is worked out again: a hub may have thousands open.
"""

from collections.abc import Iterable, Mapping

import msgspec

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.remediation.policy.plan.of_incident import acting_rule, case_changed
from accelwatch.remediation.policy.state.changes import CaseChanged
from accelwatch.remediation.policy.state.model import RemedyState

# The things that a case follows from.
_Basis = tuple[object, ...]


class Cases:
    """For the hub's event loop."""

    def __init__(self, rules: RuleRunner) -> None:
        self._rules = rules
        # By the incident's id; those that are over are gone.
        self._reported: dict[str, CaseChanged] = {}
        # What each incident was worked out from, by its id.
        self._bases: dict[str, _Basis] = {}

    def restore(self, state: RemedyState) -> None:
        """What an engine knows from before."""
        for node, remedy in state.remedies.items():
            self._reported.update(
                {case.incident: CaseChanged(node=node, case=case) for case in remedy.cases}
            )

    def changed(self, incidents: Iterable[Incident]) -> list[CaseChanged]:
        """Cases that differ from those sent, of incidents that have changed just now."""
        changed = list(incidents)
        if any(incident.members or incident.entity.group for incident in changed):
            # A group that begins or ends changes what its members are.
            return self.all_changed()
        by_id: dict[str, Incident] = {}
        for incident in changed:
            group = self._rules.incident(incident.group) if incident.group else None
            while group is not None and group.id not in by_id:
                by_id[group.id] = group
                group = self._rules.incident(group.group) if group.group else None
        return self._changes_of(changed, by_id)

    def all_changed(self) -> list[CaseChanged]:
        """Cases that differ from those sent."""
        going = {incident.id: incident for incident in self._rules.open}
        closed: list[CaseChanged] = []
        for id_ in self._reported.keys() - going.keys():
            reported, incident = self._reported[id_], self._rules.incident(id_)
            if incident is not None:
                going[id_] = incident
            else:
                # What is open is never forgotten: it ended while nobody was here.
                over = msgspec.structs.replace(reported.case, open=False)
                closed.append(msgspec.structs.replace(reported, case=over))
                del self._reported[id_]
        for id_ in self._bases.keys() - going.keys():
            del self._bases[id_]
        return [*closed, *self._changes_of(going.values(), going)]

    def _changes_of(
        self, incidents: Iterable[Incident], by_id: Mapping[str, Incident]
    ) -> list[CaseChanged]:
        rules, changes = self._rules.rules.rules, []
        for incident in incidents:
            rule, mute = acting_rule(incident, rules), self._rules.mute_of(incident)
            muted = "" if mute is None else mute.id
            basis = (incident, rule, *_groups_of(incident, by_id), muted)
            if _same(self._bases.get(incident.id, ()), basis):
                continue
            self._bases[incident.id] = basis
            change = case_changed(incident, rule, by_id, muted)
            reported = self._reported.get(incident.id)
            if change is None or reported == change or (reported is None and not change.case.open):
                continue
            changes.append(change)
            self._reported[incident.id] = change
            if not change.case.open:
                del self._reported[incident.id]
        return changes


def _groups_of(incident: Incident, by_id: Mapping[str, Incident]) -> list[Incident]:
    """The groups above an incident, the nearest first."""
    groups: list[Incident] = []
    group = by_id.get(incident.group)
    while group is not None and group not in groups:
        groups.append(group)
        group = by_id.get(group.group)
    return groups


def _same(basis: _Basis, other: _Basis) -> bool:
    """Whether they are the very same things; their contents need not be compared."""
    if len(basis) != len(other) or basis[-1:] != other[-1:]:
        return False
    return all(ours is theirs for ours, theirs in zip(basis[:-1], other[:-1], strict=True))
