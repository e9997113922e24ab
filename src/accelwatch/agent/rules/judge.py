"""Rules on the snapshots of one node: tick by tick, which verdicts have changed. Time is given."""

import time
from collections.abc import Callable, Mapping, Sequence

from accelwatch.agent.rules import sight
from accelwatch.agent.rules.sight import lookups_of
from accelwatch.alerting.rules.attention import Stir
from accelwatch.alerting.rules.budget import Budgets
from accelwatch.alerting.rules.document import Mode, Scope
from accelwatch.alerting.rules.engine import Engine, Subject, Subjects
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.verdict import Entity, VerdictChange
from accelwatch.expr.needs import Needs
from accelwatch.expr.scene import HOST, Device, Keeper, Scene
from accelwatch.node.store.events import UNRESOLVED_S
from accelwatch.schema.context_encoder import EventNumbers
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.snapshot import Snapshot

HERE = frozenset({Scope.DEVICE, Scope.NODE})
"""What a node can judge by itself; jobs and racks are judged by a hub."""


class NodeJudge:
    """The verdicts of a set of rules on one node.

    An event whose device is not known yet waits, for one without a device concerns all of them.
    """

    def __init__(
        self,
        rules: Mapping[str, Rule],
        interval_s: float,
        *,
        is_news: Callable[[ErrorEvent], bool] = lambda _: True,
        listened: bool = True,
        patience_s: float = UNRESOLVED_S,
        budgets: Budgets | None = None,
        recalled: Sequence[ErrorEvent] = (),
    ) -> None:
        """`interval_s` is the time between two ticks; an event that is no news is counted only."""
        self._is_news = is_news
        self._listened = listened
        self._recalled = recalled
        self._patience_s = patience_s
        self.rules = judged_here(rules)
        self.engine = Engine(self.rules, time.thread_time_ns, budgets)
        self.keeper = Keeper(needs_of(self.rules), interval_s)
        self._numbers = EventNumbers()
        self._numbered: Mapping[int, ErrorEvent] = {}
        self._waiting: dict[int, float] = {}
        """Events that are not heard yet, by number, and since when (monotonic)."""
        self._last = -1
        self._entities: dict[str, Entity] = {}
        self._host = ""
        self._began: float | None = None
        """Unix time less monotonic time at the first tick: a clock that is set changes no age."""
        self._scene: Scene | None = None
        """Of the last tick."""
        self.seen: Subjects = {}
        """Everybody who was judged at the last tick."""

    def take_over(self, before: "NodeJudge") -> None:
        """Go on where another has come to, with what its rules and windows have in common with these."""
        self.keeper.take_over(before.keeper)
        before.engine.set_rules(self.rules)
        self.engine = before.engine

    def tick(self, snapshot: Snapshot, at: float) -> list[VerdictChange]:
        """Judge a snapshot at a monotonic moment."""
        attention = self.engine.attention
        stir = Stir(attention)
        before, self._scene = self._scene, self.scene(snapshot, at, stir)
        self.seen = self.subjects(self._scene)
        if before is not None:
            before.end()
        for device, who, values in sight.seen(snapshot):
            attention.look(stir, self.entity(device), who, values, host=device == HOST)
        return self.engine.step(self.seen, at, snapshot.time, stir)

    def scene(self, snapshot: Snapshot, at: float, stir: Stir | None = None) -> Scene:
        """The node as it is at this moment, after what it says has been kept; `stir` is told of it."""
        stir = stir or Stir(self.engine.attention)
        stir.anew = snapshot.host != self._host
        if snapshot.host != self._host:
            self._host, self._entities = snapshot.host, {}
        lookups = lookups_of(snapshot)
        for gone in self._entities.keys() - lookups.keys():
            self.keeper.forget(gone)
            self.engine.attention.forget(stir, self._entities.pop(gone))
        for device, lookup in lookups.items():
            for window in self.keeper.sample(at, device, lookup):
                stir.change(window, self.entity(device))
        heard = self.keeper.heard.version
        self._hear(snapshot, at)
        if self.keeper.heard.version != heard:
            stir.hear()
        return Scene(
            self.keeper,
            lookups,
            at=at,
            now=self._steady(snapshot, at),
            firing=self._is_firing,
            listened=self._listened,
            absence=lambda device, key: sight.absence_of(snapshot, device, key),
        )

    def _steady(self, snapshot: Snapshot, at: float) -> float:
        """Unix time as it would be if nobody had set the clock."""
        if self._began is None:
            self._began = snapshot.time - at
        return at + self._began

    def subjects(self, scene: Scene) -> Subjects:
        """Everybody who is judged."""
        devices = [Subject(self.entity(one.id), one) for one in scene.members]
        host = Subject(self.entity(HOST), Device(scene, HOST))
        return {Scope.DEVICE: devices, Scope.NODE: [host]}

    def entity(self, device: str) -> Entity:
        """Whom a device's id, or `HOST`, stands for."""
        found = self._entities.get(device)
        if found is None:
            scope = Scope.NODE if device == HOST else Scope.DEVICE
            found = Entity(scope=scope, node=self._host, device=device)
            self._entities[device] = found
        return found

    def _is_firing(self, rule: str, device: str) -> bool | None:
        return self.engine.is_firing(rule, self.entity(device))

    def _hear(self, snapshot: Snapshot, at: float) -> None:
        recalled, self._recalled = self._recalled, ()
        for before in recalled:
            now, ago_s = self._steady(snapshot, at), snapshot.time - before.time
            self.keeper.heard.add(before, now, ago_s=ago_s)
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
            elif _is_placed(event) or at - since >= self._patience_s:
                del self._waiting[number]
                now, ago_s = self._steady(snapshot, at), snapshot.time - event.time
                self.keeper.heard.add(event, now, ago_s=ago_s, news=self._is_news(event))


def judged_here(rules: Mapping[str, Rule]) -> dict[str, Rule]:
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


def _is_placed(event: ErrorEvent) -> bool:
    return bool(event.device_id) or not event.subject
