"""A trace's outages through the state machine: when each node would be taken out and given back.

What decides is the policy as it is shipped; the scheduler and the clock are stand-ins. A node is looked
at as often as verification wants while that matters, and not while nothing can happen.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import msgspec

from accelwatch.action.intent import IntentKind
from accelwatch.remediation.policy.state.case import Policy
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import Budget, RemedySettings
from accelwatch_lab.recovery.outages import Outage
from support.remediation.small_fleet import POLICY, Ground

DAY_S = 86_400.0
_NODE = "n00"
_LOOK_S = 60.0
# Until a fault that began is decided upon, and until a node that may be released is.
_DECIDED_S = 300.0
_LONGEST_ROW_S = 1800.0
# Everything is seen for so long before something is decided upon after a pause.
_SEEN_S = 180.0
_ROOMY = Budget(spacing_s=0.0, per_hour=100_000, releases_per_minute=10_000)


class Absence(NamedTuple):
    """From when to when a node was out of service, in days of the trace."""

    start: float
    end: float


@dataclass
class Replay:
    """One node through its outages. `repair_s` is how long a person takes to repair what stays out."""

    passive_s: float = 600.0
    relapse_s: float = 3600.0
    probation_s: float = 0.0
    repair_s: float = 6 * DAY_S
    ground: Ground = field(init=False)
    absences: list[Absence] = field(default_factory=list)
    repairs: int = 0
    _started_at: float = field(init=False)
    _out_since: float | None = None
    _repaired_at: float | None = None

    def __post_init__(self) -> None:
        self.ground = Ground(count=1, settings=self.settings)
        self._started_at = self.ground.now

    @property
    def settings(self) -> RemedySettings:
        return RemedySettings(ceiling="resume", relapse_s=self.relapse_s, budget=_ROOMY)

    @property
    def policy(self) -> Policy:
        return msgspec.structs.replace(
            POLICY, ladder=(), passive_s=self.passive_s, probation_s=self.probation_s
        )

    def run(self, outages: Sequence[Outage], days: float) -> list[Absence]:
        """All outages of the node; what it is still out for at the end ends with the trace."""
        for at, outage in enumerate(outages):
            self._until(self._started_at + outage.start * DAY_S)
            case = self.ground.fault(_NODE, incident=f"i-{at}", policy=self.policy)
            self._decided()
            self._jump(self._started_at + outage.end * DAY_S)
            self.ground.clear(_NODE, case)
        self._until(self._started_at + days * DAY_S)
        if self._out_since is not None:
            self._back(days)
        return self.absences

    @property
    def _days(self) -> float:
        return (self.ground.now - self._started_at) / DAY_S

    def _decided(self) -> None:
        """The fault that began has the node taken out, unless it is out."""
        until = self.ground.now + _DECIDED_S
        started = self._days
        while self._out_since is None and self.ground.now < until:
            self.ground.wait(_LOOK_S / 2)
            if self._pending() is IntentKind.QUARANTINE:
                self._out_since = started
                self.ground.end(_NODE)
        assert self._out_since is not None, f"not taken out: {self.ground.stage(_NODE)}"

    def _until(self, until: float) -> None:
        """Time passes, in which a node that is out may come back."""
        while self._out_since is not None and self.ground.now < until:
            if self.ground.stage(_NODE) is Stage.SERVICE:
                self._serviced(until)
                continue
            self._looks(until)
            if self._pending() is IntentKind.RELEASE:
                self.ground.end(_NODE)
                self._back(self._days)
        self._jump(until)

    @property
    def _row_s(self) -> float:
        """For how long looks at a node that is verified may be told at once: a small part of that."""
        return min(max(self.passive_s / 48, _LOOK_S), _LONGEST_ROW_S)

    def _looks(self, until: float) -> None:
        """Time passes with a look each minute; what they showed is evaluated at its end."""
        ground, node = self.ground, self.ground.nodes[_NODE]
        start, ground.now = ground.now, min(ground.now + self._row_s, until)
        count = math.ceil((ground.now - start) / _LOOK_S)
        row = [node.status(start + at * _LOOK_S) for at in range(1, count)]
        ground.step(look=False, seen=(*row, *ground.looks()))
        if row:
            ground.wait(min(_SEEN_S, until - ground.now), every=_LOOK_S / 2)

    def _serviced(self, until: float) -> None:
        """A person repairs what only a person gives back, and says so."""
        if self._repaired_at is None:
            self._repaired_at = self.ground.now + self.repair_s
        if self._repaired_at >= until:
            self._jump(until)
            return
        self._jump(self._repaired_at)
        self.ground.send_command(Verb.RECOVERED, _NODE)
        self._repaired_at = None
        self.repairs += 1

    def _back(self, at: float) -> None:
        assert self._out_since is not None
        self.absences.append(Absence(self._out_since, at))
        self._out_since = None

    def _jump(self, until: float) -> None:
        """Nothing can happen until shortly before the moment."""
        if until - _SEEN_S > self.ground.now:
            self.ground.now = until - _SEEN_S
            self.ground.step()
        if until > self.ground.now:
            self.ground.wait(until - self.ground.now, every=_LOOK_S / 2)

    def _pending(self) -> IntentKind | None:
        intent = self.ground.flying.get(_NODE)
        return None if intent is None else intent.kind


class Outcome(NamedTuple):
    """What became of a trace under one policy."""

    returns: int
    relapses: int
    # Days that nodes were out besides those of their outages, over all nodes.
    held_days: float
    repairs: int

    @property
    def share(self) -> float:
        """Of the nodes that came back, how many failed again soon."""
        return self.relapses / self.returns if self.returns else 0.0


def replayed(
    by_node: Mapping[str, Sequence[Outage]],
    days: float,
    *,
    passive_s: float,
    relapse_s: float,
    probation_s: float = 0.0,
    repair_s: float = 6 * DAY_S,
    within_days: float = 7.0,
) -> Outcome:
    """Every node by itself, for budgets are not what is asked about."""
    returns = relapses = repairs = 0
    held = 0.0
    for outages in by_node.values():
        replay = Replay(passive_s, relapse_s, probation_s, repair_s)
        absences = replay.run(outages, days)
        returns += sum(one.end < days for one in absences)
        relapses += sum(
            after.start - before.end < within_days for before, after in pairwise(absences)
        )
        held += sum(end - start for start, end in absences)
        held -= sum(outage.end - outage.start for outage in outages)
        repairs += replay.repairs
    return Outcome(returns, relapses, held, repairs)
