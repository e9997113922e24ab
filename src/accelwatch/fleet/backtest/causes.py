"""What belongs to one cause: of it somebody is told once, and once more when it becomes an alert.

A fault shows in many ways: a device is lost, the log says so, its job stands still, its node falls
silent. What follows within `TOGETHER_S` on the same node, or on the job that runs there, is the same.
Whatever may be one of many waits `STORM_WAIT_S` for the others. Pure; time is given.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from accelwatch.fleet.backtest.line import ALERT, GROUP, Line, level_of, line_of
from accelwatch.incidents.grouping import may_be_one_of_many
from accelwatch.incidents.incident import Incident
from accelwatch.rules.document import Scope
from accelwatch.rules.rule import Rule

TOGETHER_S = 900.0
AGAIN_S = 1800.0
"""What comes back so soon after it was over is the same again."""
STORM_WAIT_S = 60.0
_ALONE = frozenset({"node"})
"""Groups for whose members nobody waits: they are of one node anyhow."""

Suspects = Callable[[Incident], Sequence[str]]
"""Nodes that may be to blame for what has befallen a job, the likeliest first."""
Until = Callable[[Sequence[str], float], float | None]
"""Until when nodes are worked on; None where they are not."""


@dataclass
class Cause:
    """Incidents that are one."""

    lines: list[Line]
    nodes: set[str]
    """Nodes that it is on; of a job whose culprit is not known all that it runs on."""
    jobs: set[str]
    device: str
    level: str
    grew: float
    """When anything was added last, Unix seconds."""
    open_: set[str] = field(default_factory=set)
    """Ids of its incidents that are open."""
    closed: float | None = None
    group: bool = False
    located: bool = True
    """Whether it is known where it is."""


class Causes:
    """All that is going on, and what was told of it."""

    def __init__(self, rules: dict[str, Rule], suspects: Suspects, worked_on_until: Until) -> None:
        self._rules = rules
        self._suspects = suspects
        self._worked_on_until = worked_on_until
        self._waiting: dict[str, tuple[float, Incident]] = {}
        """By id: until when, and how it stands."""
        self._of: dict[str, Cause] = {}
        """The cause of each incident that was told, or is part of what was."""
        self._recent: list[Cause] = []

    def step(self, changed: Iterable[Incident], now: float) -> list[tuple[Cause, Line]]:
        """What somebody is told at `now`, Unix seconds."""
        told: list[tuple[Cause, Line]] = []
        for incident in sorted(changed, key=_order):
            self._hear(incident, now)
        ripe = [one for until, one in self._waiting.values() if until <= now]
        for incident in sorted(ripe, key=_order):
            until = self._worked_on_until(self._blamed(incident) or _nodes(incident), now)
            if until is not None and until > now:
                self._waiting[incident.id] = until, incident
                continue
            del self._waiting[incident.id]
            line = self._tell(incident, now)
            if line is not None:
                told.append((self._of[incident.id], line))
        self._forget(now)
        return told

    def _hear(self, incident: Incident, now: float) -> None:
        cause = self._of.get(incident.id)
        if not incident.is_open:
            self._waiting.pop(incident.id, None)
            if cause is not None:
                self._close(cause, incident)
            return
        if incident.group:
            self._waiting.pop(incident.id, None)
            return
        if cause is not None and level_of(incident) in (cause.level, "watch"):
            cause.open_.add(incident.id)
            cause.closed = None
            return
        until = self._waiting.get(incident.id, (now + self._wait_s(incident), incident))[0]
        self._waiting[incident.id] = until, incident

    def _wait_s(self, incident: Incident) -> float:
        """How long it may become part of a group before anybody is told."""
        rule = self._rules.get(incident.rule)
        if rule is None or rule.group is None or incident.members or rule.group.by in _ALONE:
            return 0.0
        return STORM_WAIT_S if may_be_one_of_many(incident, rule) else 0.0

    def _close(self, cause: Cause, incident: Incident) -> None:
        cause.open_.discard(incident.id)
        if not cause.open_:
            cause.closed = incident.closed

    def _tell(self, incident: Incident, now: float) -> Line | None:
        """The line of an incident, or None for one that adds nothing to what was told."""
        suspects = self._blamed(incident)
        cause = self._of.get(incident.id) or self._same(incident, suspects, now)
        level = level_of(incident)
        if cause is not None:
            self._add(cause, incident, now)
            if cause.level in (level, ALERT):
                return None
            cause.level = level
        rules = [self._rules[one] for one in incident.rules if one in self._rules]
        line = line_of(incident, rules, now, suspects)
        if cause is None:
            cause = self._begun(incident, line, now)
        cause.lines.append(line)
        return line

    def _blamed(self, incident: Incident) -> Sequence[str]:
        return self._suspects(incident) if incident.entity.scope is Scope.JOB else ()

    def _begun(self, incident: Incident, line: Line, now: float) -> Cause:
        located = line.node is not None
        cause = Cause(
            lines=[],
            nodes={line.node} if line.node is not None else set(line.nodes),
            jobs=set(incident.facts.jobs) | ({incident.entity.job} - {""}),
            device=incident.entity.device,
            level=line.level,
            grew=now,
            open_={incident.id},
            group=line.scope == GROUP,
            located=located or line.scope == GROUP,
        )
        self._of[incident.id] = cause
        self._recent.append(cause)
        return cause

    def _add(self, cause: Cause, incident: Incident, now: float) -> None:
        cause.open_.add(incident.id)
        cause.closed = None
        cause.grew = max(cause.grew, now)
        self._of[incident.id] = cause
        if cause.group and incident.entity.group:
            cause.nodes |= set(incident.nodes)

    def _same(self, incident: Incident, suspects: Sequence[str], now: float) -> Cause | None:
        """What an incident is a part of; of several the one that grew last."""
        fitting = [
            one
            for one in self._recent
            if (_is_near(one, now) or _adds_nothing(incident, one))
            and _belongs(incident, suspects, one)
        ]
        return max(fitting, key=lambda one: one.grew, default=None)

    def _forget(self, now: float) -> None:
        self._recent = [one for one in self._recent if not is_over(one, now)]
        if len(self._of) > 4 * len(self._recent) + 256:
            kept = {id(one) for one in self._recent}
            self._of = {id_: one for id_, one in self._of.items() if id(one) in kept}


def _is_near(cause: Cause, now: float) -> bool:
    if cause.closed is not None and now - cause.closed < AGAIN_S:
        return True
    return now - cause.grew <= TOGETHER_S


def _adds_nothing(incident: Incident, cause: Cause) -> bool:
    """Whether what goes on explains an incident, however late it comes."""
    device = incident.entity.device
    alone = level_of(incident) == ALERT and device not in ("", cause.device)
    return cause.closed is None and not alone


def is_over(cause: Cause, now: float) -> bool:
    """Whether nothing can be added to a cause any more."""
    return cause.closed is not None and now - cause.closed >= AGAIN_S


def _order(incident: Incident) -> tuple[bool, int, float, str]:
    """What is told first: devices and nodes before jobs and groups, the worst first."""
    wide = incident.entity.scope is Scope.JOB or bool(incident.entity.group)
    return wide, -incident.severity.weight, incident.opened, incident.id


def _nodes(incident: Incident) -> tuple[str, ...]:
    return incident.nodes or ((incident.entity.node,) if incident.entity.node else ())


def _belongs(incident: Incident, suspects: Sequence[str], cause: Cause) -> bool:
    """Whether an incident is a part of a cause."""
    entity, nodes = incident.entity, set(_nodes(incident))
    if entity.group:
        return bool(nodes & cause.nodes) and (cause.group or nodes <= cause.nodes)
    if entity.scope is Scope.JOB:
        named = not suspects or bool(set(suspects) & cause.nodes)
        return entity.job in cause.jobs or (named and bool(nodes & cause.nodes))
    if entity.node not in cause.nodes:
        return False
    if level_of(incident) != ALERT:
        return True
    if not cause.located:
        return False  # it says where, which nobody knew
    other = bool(entity.device and cause.device and entity.device != cause.device)
    return cause.level == ALERT or not other
