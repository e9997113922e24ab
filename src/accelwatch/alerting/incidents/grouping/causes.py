"""What belongs to one cause: people are notified of it once, and once more when its level rises.

A fault shows in many ways: a device is lost, the log says so, its job stands still, its node falls
silent. What follows within `TOGETHER_S` on the same node, or on the job that runs there, is the same.
Whatever may be one of many waits `STORM_WAIT_S` for the others, and so does what begins on a node
right after it began on another; the first does not wait. Of a cause one incident leads, the most
severe; when that is over and others are not, another one does. Pure; time is given.
"""

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from accelwatch.alerting.incidents.grouping.cause import AT_ONCE, Cause, Leading
from accelwatch.alerting.incidents.grouping.cause_rules import (
    adds_nothing,
    belongs,
    is_near,
    is_over,
)
from accelwatch.alerting.incidents.grouping.grouping_key import may_join_group
from accelwatch.alerting.incidents.grouping.levels import WEIGHT, level_of
from accelwatch.alerting.incidents.grouping.location import GROUP, jobs_of, nodes_of, where_of
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.document import Scope, Severity
from accelwatch.alerting.rules.rule import Rule
from accelwatch.base.slices import Steps, at_once

STORM_WAIT_S = 60.0
_FORGET_EVERY_S = 60.0
# Groups for whose members nobody waits: they are of one node anyhow.
_ALONE = frozenset({"node"})

# Nodes that may be to blame for what has befallen a job, the likeliest first.
Suspects = Callable[[Incident], Sequence[str]]
# Until when nodes are worked on; None where they are not.
Until = Callable[[Sequence[str], float], float | None]


class CauseReport(NamedTuple):
    """What people are notified of."""

    cause: Cause
    incident: Incident
    suspects: Sequence[str]


class Causes:
    """All that is going on, and what people were notified of."""

    def __init__(
        self, rules: Mapping[str, Rule], suspects: Suspects, worked_on_until: Until
    ) -> None:
        self.rules = rules
        self._suspects = suspects
        self._worked_on_until = worked_on_until
        # By id: until when, and how it stands.
        self._waiting: dict[str, tuple[float, Incident]] = {}
        # The cause of each incident that was reported, or is part of what was.
        self._of: dict[str, Cause] = {}
        self._recent: dict[Cause, None] = {}
        # Causes by their nodes, and by `job:` and their jobs.
        self._at: dict[str, dict[Cause, None]] = {}
        self._leading = Leading()
        self._forgot_at = float("-inf")
        self._number = 0
        # By family: when an incident of it was last reported first, and on which node.
        self._last_started: dict[str, tuple[float, str]] = {}

    def step(self, changed: Iterable[Incident], now: float) -> list[CauseReport]:
        """What people are notified of at `now`, Unix seconds."""
        return at_once(self.steps(changed, now))

    def steps(self, changed: Iterable[Incident], now: float) -> Steps[list[CauseReport]]:
        """The same an incident at a time."""
        reports: list[CauseReport] = []
        concerned: list[Incident] = []
        for incident in changed:
            # Nobody is notified of members of a group, and a storm has thousands.
            if not incident.group or incident.id in self._of or incident.id in self._waiting:
                concerned.append(incident)
            yield
        for incident in (yield from _ordered(concerned)):
            self._observe(incident, now)
            yield
        ripe = [waiting for until, waiting in self._waiting.values() if until <= now]
        for incident in (yield from _ordered(ripe)):
            until = self._worked_on_until(self._blamed(incident) or nodes_of(incident), now)
            if until is not None and until > now:
                self._waiting[incident.id] = until, incident
                continue
            del self._waiting[incident.id]
            suspects = self._blamed(incident)
            if self._needs_report(incident, suspects, now):
                reports.append(CauseReport(self._of[incident.id], incident, suspects))
            yield
        yield from self._leading.settle()
        yield from self._forget(now)
        return reports

    def drain_moves(self) -> dict[str, str]:
        """By id of those that follow another incident than before, whom; empty: it leads itself."""
        return self._leading.drain_moves()

    def restore(self, incidents: Iterable[Incident]) -> None:
        """Incidents that were open before, and what belonged together."""
        going_on = [incident for incident in incidents if incident.is_open and not incident.group]
        for incident in sorted(going_on, key=lambda incident: bool(incident.follows)):
            cause = self._of.get(incident.follows)
            if cause is None:
                self._start_cause(incident, (), incident.updated)
            else:
                cause.follows[incident.id] = incident.follows
                self._add(cause, incident, incident.updated)

    def drop(self, id_: str) -> None:
        """A person says that an incident, and so its cause, is over: nothing is added to it."""
        cause = self._of.get(id_)
        if cause is not None:
            self._of = {
                other_id: other for other_id, other in self._of.items() if other is not cause
            }
            self._remove(cause)

    def _remove(self, cause: Cause) -> None:
        self._recent.pop(cause, None)
        for key in _keys(cause):
            there = self._at.get(key)
            if there is not None:
                there.pop(cause, None)
                if not there:
                    del self._at[key]

    def _observe(self, incident: Incident, now: float) -> None:
        cause = self._of.get(incident.id)
        if not incident.is_open:
            self._waiting.pop(incident.id, None)
            if cause is not None:
                self._leading.leave(cause, incident)
            return
        if cause is not None and incident.id in cause.open_:
            self._leading.update_incident(cause, incident)
        if incident.group:
            self._waiting.pop(incident.id, None)
            return
        if cause is not None and WEIGHT[level_of(incident)] <= WEIGHT[cause.level]:
            cause.closed = None
            self._leading.update_incident(cause, incident)
            return
        if incident.id not in self._waiting:
            until = now + max(self._wait_s(incident), self._storm_wait_s(incident, now))
        else:
            until = self._waiting[incident.id][0]
        self._waiting[incident.id] = until, incident

    def _wait_s(self, incident: Incident) -> float:
        """How long it may become part of a group before anybody is notified."""
        rule = self.rules.get(incident.rule)
        if rule is None or rule.group is None or incident.members or rule.group.by in _ALONE:
            return 0.0
        return STORM_WAIT_S if may_join_group(incident, rule) else 0.0

    def _storm_wait_s(self, incident: Incident, now: float) -> float:
        """How long it waits because another node began a moment ago: both may be part of a storm."""
        node, family = incident.entity.node, incident.family
        if not node or incident.severity is Severity.INFO:
            return 0.0
        last, where = self._last_started.get(family, (float("-inf"), ""))
        self._last_started[family] = now, node
        return STORM_WAIT_S if where != node and now - last <= STORM_WAIT_S else 0.0

    def _needs_report(self, incident: Incident, suspects: Sequence[str], now: float) -> bool:
        """Whether people are notified of it: not where it adds nothing to what they know."""
        cause = self._of.get(incident.id) or self._same(incident, suspects, now)
        level = level_of(incident)
        if cause is None:
            self._start_cause(incident, suspects, now)
            return True
        self._add(cause, incident, now)
        if WEIGHT[level] <= WEIGHT[cause.level]:
            return False
        cause.level = level
        return True

    def _blamed(self, incident: Incident) -> Sequence[str]:
        return self._suspects(incident) if incident.entity.scope is Scope.JOB else ()

    def _start_cause(self, incident: Incident, suspects: Sequence[str], now: float) -> None:
        where = where_of(incident, suspects)
        group = where.scope == GROUP
        self._number += 1
        cause = Cause(
            number=self._number,
            leader=incident.id,
            nodes={where.node} if where.node is not None else set(where.nodes),
            jobs=jobs_of(incident),
            device=incident.entity.device,
            level=level_of(incident),
            grew=now,
            open_={incident.id: incident},
            group=group,
            shared={incident.family} if incident.entity.group else set(),
            located=where.node is not None or group,
        )
        self._of[incident.id] = cause
        self._recent[cause] = None
        for key in _keys(cause):
            self._at.setdefault(key, {})[cause] = None

    def _add(self, cause: Cause, incident: Incident, now: float) -> None:
        cause.closed = None
        # A watch that goes with an alert of hours ago brings nothing nearer to that.
        if WEIGHT[level_of(incident)] >= WEIGHT[cause.level]:
            cause.grew = max(cause.grew, now)
        self._of[incident.id] = cause
        if cause.group and incident.entity.group:
            cause.shared.add(incident.family)
            for node in set(incident.nodes) - cause.nodes:
                cause.nodes.add(node)
                self._at.setdefault(node, {})[cause] = None
        self._leading.update_incident(cause, incident)

    def _same(self, incident: Incident, suspects: Sequence[str], now: float) -> Cause | None:
        """What an incident is a part of; of several the one that grew last."""
        fitting = [
            cause
            for cause in self.near(incident, suspects)
            if not is_over(cause, now)
            and (is_near(incident, cause, now) or adds_nothing(incident, cause))
            and belongs(incident, suspects, cause)
        ]
        return max(fitting, key=lambda cause: (cause.grew, -cause.number), default=None)

    def near(self, incident: Incident, suspects: Sequence[str] = ()) -> Collection[Cause]:
        """Causes on the same nodes, or of the same jobs: no others need checking."""
        keys = (*nodes_of(incident), *suspects, *(f"job:{job}" for job in jobs_of(incident)))
        return dict.fromkeys(cause for key in keys for cause in self._at.get(key, ()))

    def _forget(self, now: float) -> Iterator[None]:
        if 0 <= now - self._forgot_at < _FORGET_EVERY_S:
            return
        self._forgot_at = now
        for cause in [recent for recent in self._recent if is_over(recent, now)]:
            self._remove(cause)
            yield
        if len(self._of) > 4 * len(self._recent) + 256:
            self._of = {
                id_: tracked for id_, tracked in self._of.items() if tracked in self._recent
            }


def _ordered(incidents: Sequence[Incident]) -> Steps[Iterator[Incident]]:
    """Those that are reported first come first; put in order in steps, for a storm has thousands."""
    chunks: list[list[Incident]] = []
    for start in range(0, len(incidents), AT_ONCE):
        chunks.append(sorted(incidents[start : start + AT_ONCE], key=_order))
        yield
    return heapq.merge(*chunks, key=_order)


def _order(incident: Incident) -> tuple[bool, int, float, str]:
    """What is reported first: devices and nodes before jobs and groups, the worst first."""
    wide = incident.entity.scope is Scope.JOB or bool(incident.entity.group)
    return wide, -incident.severity.weight, incident.opened, incident.id


def _keys(cause: Cause) -> Iterator[str]:
    yield from cause.nodes
    yield from (f"job:{job}" for job in cause.jobs)
