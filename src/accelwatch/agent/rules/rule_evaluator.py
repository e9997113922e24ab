"""Rules on the snapshots of one node: tick by tick, which verdicts have changed. Time is given."""

import time
from collections.abc import Callable, Mapping, Sequence

from accelwatch.agent.rules import snapshot_lookups
from accelwatch.agent.rules.snapshot_lookups import lookups_of
from accelwatch.alerting.rules.attention import ChangeSet
from accelwatch.alerting.rules.budget import Budgets
from accelwatch.alerting.rules.document import Mode, Scope
from accelwatch.alerting.rules.engine import Engine, Subject, Subjects
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.verdict import Entity, VerdictChange
from accelwatch.expr.needs import Needs
from accelwatch.expr.scene import HOST, Device, RuleHistory, Scene
from accelwatch.node.store.events import UNRESOLVED_S
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.snapshot import Snapshot
from accelwatch.schema.stream.context_encoder import EventNumbers

# What a node can judge by itself; jobs and racks are judged by a hub.
HERE = frozenset({Scope.DEVICE, Scope.NODE})


class NodeRuleEvaluator:
    """The verdicts of a set of rules on one node.

    An event whose device is not known yet waits, for one without a device concerns all of them.
    """

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
    ) -> None:
        """`interval_s` is the time between two ticks; an event that is no news is counted only."""
        self._is_new = is_new
        self._listened = listened
        self._recalled = recalled
        self._patience_s = patience_s
        self.rules = node_rules(rules)
        self.engine = Engine(self.rules, time.thread_time_ns, budgets)
        self.history = RuleHistory(needs_of(self.rules), interval_s)
        self._numbers = EventNumbers()
        self._numbered: Mapping[int, ErrorEvent] = {}
        # Events that are not heard yet, by number, and since when (monotonic).
        self._waiting: dict[int, float] = {}
        self._last = -1
        self._entities: dict[str, Entity] = {}
        self._host = ""
        # Unix time less monotonic time at the first tick: a clock that is set changes no age.
        self._wall_offset: float | None = None
        # Of the last tick.
        self._scene: Scene | None = None
        # Everybody who was judged at the last tick.
        self.evaluated: Subjects = {}

    def adopt(self, before: "NodeRuleEvaluator") -> None:
        """Go on where another has come to, with what its rules and windows have in common with these."""
        self.history.adopt(before.history)
        before.engine.set_rules(self.rules)
        self.engine = before.engine

    def tick(self, snapshot: Snapshot, at: float) -> list[VerdictChange]:
        """Judge a snapshot at a monotonic moment."""
        attention = self.engine.attention
        changed = ChangeSet(attention)
        before, self._scene = self._scene, self.scene(snapshot, at, changed)
        self.evaluated = self.subjects(self._scene)
        if before is not None:
            before.close()
        for device, who, values in snapshot_lookups.observed_values(snapshot):
            attention.compare(changed, self.entity(device), who, values, host=device == HOST)
        return self.engine.step(self.evaluated, at, snapshot.time, changed)

    def scene(self, snapshot: Snapshot, at: float, changed: ChangeSet | None = None) -> Scene:
        """The node as it is at this moment, after what it says has been kept; `changed` is told
        of it.
        """
        changed = changed or ChangeSet(self.engine.attention)
        changed.is_full = snapshot.host != self._host
        if snapshot.host != self._host:
            self._host, self._entities = snapshot.host, {}
        lookups = lookups_of(snapshot)
        for gone in self._entities.keys() - lookups.keys():
            self.history.forget(gone)
            self.engine.attention.forget(changed, self._entities.pop(gone))
        for device, lookup in lookups.items():
            for window in self.history.sample(at, device, lookup):
                changed.change(window, self.entity(device))
        version = self.history.events.version
        self._record_events(snapshot, at)
        if self.history.events.version != version:
            changed.note_events()
        return Scene(
            self.history,
            lookups,
            at=at,
            now=self._steady(snapshot, at),
            firing=self._is_firing,
            listened=self._listened,
            absence=lambda device, key: snapshot_lookups.absence_of(snapshot, device, key),
        )

    def _steady(self, snapshot: Snapshot, at: float) -> float:
        """Unix time as it would be if nobody had set the clock."""
        if self._wall_offset is None:
            self._wall_offset = snapshot.time - at
        return at + self._wall_offset

    def subjects(self, scene: Scene) -> Subjects:
        """Everybody who is judged."""
        devices = [Subject(self.entity(device.id), device) for device in scene.members]
        host = Subject(self.entity(HOST), Device(scene, HOST))
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
        self._numbers.assign(snapshot.events, snapshot.time)
        numbered = self._numbers.numbered
        if numbered is not self._numbered:
            self._numbered = numbered
            for number in numbered:
                if number > self._last:
                    self._waiting[number] = at
            self._last = max(self._last, *numbered, -1)
        for number, since in tuple(self._waiting.items()):
            event = numbered.get(number)
            if event is None:
                del self._waiting[number]
            elif _is_located(event) or at - since >= self._patience_s:
                del self._waiting[number]
                now, ago_s = self._steady(snapshot, at), snapshot.time - event.time
                self.history.events.add(event, now, ago_s=ago_s, is_new=self._is_new(event))


def node_rules(rules: Mapping[str, Rule]) -> dict[str, Rule]:
    """Those of the rules that a node can judge by itself."""
    return {
        id_: rule for id_, rule in rules.items() if rule.scope in HERE and rule.mode is not Mode.OFF
    }


def needs_of(rules: Mapping[str, Rule]) -> Needs:
    """What must be kept for all of these rules."""
    needs = Needs()
    for rule in rules.values():
        for expression in rule.expressions:
            needs |= expression.needs
    return needs


def _is_located(event: ErrorEvent) -> bool:
    return bool(event.device_id) or not event.subject
