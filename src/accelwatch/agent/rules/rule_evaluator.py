"""Rules on the snapshots of one node: tick by tick, which verdicts have changed. Time is given."""

import time
from collections.abc import Callable, Mapping, Sequence

from accelwatch.agent.rules.detected import DetectedDevice, NodeFindings
from accelwatch.agent.snapshots.lookups import absence_of, lookups_of, reported_series
from accelwatch.agent.snapshots.new_events import NewEvents
from accelwatch.alerting.rules.budget import Budgets
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.dormancy import Dormancy, Observed
from accelwatch.alerting.rules.engine import Engine, Subject, Subjects
from accelwatch.alerting.rules.rule import Rule, enabled_rules, needs_of
from accelwatch.alerting.rules.verdict import Entity, VerdictChange
from accelwatch.expr.evaluation_context import GROUPS_OF_A_NODE, EvaluationContext, MakeDevice
from accelwatch.expr.rule_history import HOST, RuleHistory
from accelwatch.expr.vocabulary.peers import GROUPS
from accelwatch.node.store.events import UNRESOLVED_S
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.snapshot import Snapshot

# What a node can judge by itself; jobs and racks are judged by a hub.
HERE = frozenset({Scope.DEVICE, Scope.NODE})


class NodeRuleEvaluator:
    """The verdicts of a set of rules on one node."""

    def __init__(
        self,
        rules: Mapping[str, Rule],
        interval_s: float,
        *,
        is_new: Callable[[ErrorEvent], bool] = lambda _: True,
        listened: bool = True,
        patience_s: float = UNRESOLVED_S,
        budgets: Budgets | None = None,
        recalled: Sequence[ErrorEvent] = (),
        findings: NodeFindings | None = None,
    ) -> None:
        """`interval_s` is the time between two ticks; an event that is no news is counted only.

        `findings` are those of a detector; without one, nothing is known of them.
        """
        self._is_new = is_new
        self._listened = listened
        self._recalled = recalled
        self._findings = findings
        self.rules = node_rules(rules)
        self.engine = Engine(self.rules, time.thread_time_ns, budgets)
        needs = needs_of(self.rules.values())
        self.history = RuleHistory(needs, interval_s)
        self._dormancy = Dormancy(self.rules, GROUPS.keys() - GROUPS_OF_A_NODE)
        self._series = needs.series
        # Those of these series that nobody has reported so far.
        self._absent: frozenset[Series] = needs.series
        self._events = NewEvents(patience_s)
        self._entities: dict[str, Entity] = {}
        self._host = ""
        # Unix time less monotonic time at the first tick: a clock that is set changes no age.
        self._wall_offset: float | None = None
        # Of the last tick.
        self._context: EvaluationContext | None = None
        # Everybody who was judged at the last tick.
        self.evaluated: Subjects = {}

    def adopt(self, before: "NodeRuleEvaluator") -> None:
        """Go on where another has come to, with what its rules and windows have in common with these."""
        self.history.adopt(before.history)
        self._absent -= before._series - before._absent
        before.engine.set_rules(self.rules)
        self.engine = before.engine

    def tick(self, snapshot: Snapshot, at: float) -> list[VerdictChange]:
        """Judge a snapshot at a monotonic moment."""
        before, self._context = self._context, self.context(snapshot, at)
        self.evaluated = self.subjects(self._context)
        if before is not None:
            before.close()
        for reported in reported_series(snapshot):
            if not self._absent.isdisjoint(reported):
                self._absent = self._absent.difference(reported)
        vendors = tuple(sorted({view.device.vendor for view in snapshot.devices}))
        newest = self.history.events.newest
        awake = self._dormancy.awake(Observed(self._context.now, self._absent, vendors, newest))
        return self.engine.step(self.evaluated, at, snapshot.time, awake)

    def context(self, snapshot: Snapshot, at: float) -> EvaluationContext:
        """The node as it is at this moment, after what it says has been kept."""
        if snapshot.host != self._host:
            self._host, self._entities = snapshot.host, {}
        lookups = lookups_of(snapshot)
        for removed in self._entities.keys() - lookups.keys():
            self.history.forget(removed)
            del self._entities[removed]
        if self._findings is not None:
            answers = self._findings.lookup
            lookups = {device: answers(device, lookup) for device, lookup in lookups.items()}
        for device, lookup in lookups.items():
            self.history.sample(at, device, lookup)
        self._record_events(snapshot, at)
        return EvaluationContext(
            self.history,
            lookups,
            at=at,
            now=self._steady(snapshot, at),
            firing=self._is_firing,
            listened=self._listened,
            absence=lambda device, key: absence_of(snapshot, device, key),
            make_device=self._make_device(),
        )

    def _make_device(self) -> MakeDevice | None:
        findings = self._findings
        if findings is None:
            return None
        return lambda context, device: DetectedDevice(context, device, findings)

    def _steady(self, snapshot: Snapshot, at: float) -> float:
        """Unix time as it would be if nobody had set the clock."""
        if self._wall_offset is None:
            self._wall_offset = snapshot.time - at
        return at + self._wall_offset

    def subjects(self, context: EvaluationContext) -> Subjects:
        """Everybody who is judged."""
        devices = [Subject(self.entity(device.id), device) for device in context.members]
        host = Subject(self.entity(HOST), context.device(HOST))
        return {Scope.DEVICE: devices, Scope.NODE: [host]}

    def entity(self, device: str) -> Entity:
        """Whom a device's id, or `HOST`, stands for."""
        entity = self._entities.get(device)
        if entity is None:
            scope = Scope.NODE if device == HOST else Scope.DEVICE
            entity = Entity(scope=scope, node=self._host, device=device)
            self._entities[device] = entity
        return entity

    def _is_firing(self, rule: str, device: str) -> bool | None:
        return self.engine.is_firing(rule, self.entity(device))

    def _record_events(self, snapshot: Snapshot, at: float) -> None:
        recalled, self._recalled = self._recalled, ()
        for before in recalled:
            now, ago_s = self._steady(snapshot, at), snapshot.time - before.time
            self.history.events.add(before, now, ago_s=ago_s)
        for event in self._events.of(snapshot, at):
            now, ago_s = self._steady(snapshot, at), snapshot.time - event.time
            self.history.events.add(event, now, ago_s=ago_s, is_new=self._is_new(event))


def node_rules(rules: Mapping[str, Rule]) -> dict[str, Rule]:
    """Those of the rules that a node can judge by itself."""
    return {id_: rule for id_, rule in enabled_rules(rules).items() if rule.scope in HERE}
