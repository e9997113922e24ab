"""A small world that rules are played on: nodes and devices whose values are given tick by tick.

The tests inside rule files are such worlds. Groups reach over all of its nodes, as they do in a hub.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.engine import Engine, Subject, Subjects
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.expr.checking.tree import EventPattern
from accelwatch.expr.environment import Group
from accelwatch.expr.needs import Needs, WindowNeed
from accelwatch.expr.rule_history import HOST, RuleHistory
from accelwatch.expr.vocabulary.detector_names import DETECTOR_FIELDS
from accelwatch.expr.vocabulary.kleene import MISSING, Key, Missing, Value
from accelwatch.expr.vocabulary.rule_names import LABEL_PREFIX, of_host
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import Series

_GROUPED_BY = {
    "node": ("node",),
    "job": ("job",),
    "rack": (f"{LABEL_PREFIX}rack",),
    "model": ("vendor", "model"),
    "stage": ("job", f"{LABEL_PREFIX}stage"),
    "job_model": ("job", "vendor", "model"),
    "stage_model": ("job", f"{LABEL_PREFIX}stage", "vendor", "model"),
}
# Attributes that a member of a group may lack: members without one are alike.
_OPTIONAL = frozenset({("job_model", "model"), ("stage_model", "model")})


class Member(msgspec.Struct, kw_only=True):
    """A device, or with an empty name the host of a node."""

    node: str
    device: str = ""
    # Identity, owners, and labels as `labels.NAME`.
    fields: Mapping[str, str | float] = {}
    # Those of this tick.
    values: dict[Series, float] = {}


class World:
    """Members over time; `interval_s` is the time between two ticks."""

    def __init__(self, needs: Needs, interval_s: float, members: Sequence[Member]) -> None:
        self.now = 0.0
        # The engine that answers whether other rules fire.
        self.engine: Engine | None = None
        self.members = {
            (participant.node, participant.device): participant for participant in members
        }
        self.histories = {
            participant.node: RuleHistory(needs, interval_s) for participant in members
        }
        self.views = {key: View(self, member) for key, member in self.members.items()}
        self._groups: dict[tuple[str, ...], list[View]] = {}
        for key in _GROUPED_BY:
            for view in self.views.values():
                if view.member.device and (value := view.grouped(key)):
                    self._groups.setdefault((key, *value), []).append(view)

    def tick(self, now: float) -> None:
        """The values of all members count at a moment, in seconds."""
        self.now = now
        for view in self.views.values():
            history = self.histories[view.member.node]
            history.sample(now, view.member.device or HOST, view.own)

    def add_event(self, node: str, event: ErrorEvent) -> None:
        """An event of a node; its `device_id` is the name of a device or empty."""
        self.histories[node].events.add(event, self.now)

    def devices_of(self, by: str, value: tuple[str, ...]) -> "list[View]":
        """The devices of a group."""
        return self._groups.get((by, *value), [])

    def subjects(self) -> Subjects:
        """Everybody that rules are judged for."""
        devices = [view for view in self.views.values() if view.member.device]
        nodes = dict.fromkeys(member.node for member in self.members.values())
        return {
            Scope.DEVICE: [Subject(view.entity, view) for view in devices],
            Scope.NODE: [self._of_node(node) for node in nodes],
            Scope.JOB: [self._of_group(Scope.JOB, name) for name in self._named("job")],
            Scope.RACK: [self._of_group(Scope.RACK, name) for name in self._named("rack")],
        }

    def _of_node(self, node: str) -> Subject:
        member = self.members.get((node, "")) or Member(node=node)
        return Subject(Entity(scope=Scope.NODE, node=node), View(self, member))

    def _of_group(self, scope: Scope, name: str) -> Subject:
        keys = {Scope.JOB: "job", Scope.RACK: f"{LABEL_PREFIX}rack"}
        # What a detector finds of a job is a fact of all of its devices.
        findings = {
            key: value
            for view in self.devices_of(scope.value, (name,))
            for key, value in view.member.fields.items()
            if key in DETECTOR_FIELDS and DETECTOR_FIELDS[key].subject == scope
        }
        member = Member(node="", fields={keys[scope]: name, **findings})
        entity = Entity(scope=scope, **{scope.value: name})
        return Subject(entity, View(self, member))

    def _named(self, by: str) -> Iterator[str]:
        return (key[1] for key in self._groups if key[0] == by)


class View:
    """A member as rules see it (`expr.environment.Environment`)."""

    def __init__(self, world: World, member: Member) -> None:
        self._world = world
        self.member = member

    @property
    def entity(self) -> Entity:
        """Whom a rule is judged for here: a device, or a node."""
        scope = Scope.DEVICE if self.member.device else Scope.NODE
        return Entity(scope=scope, node=self.member.node, device=self.member.device)

    @property
    def now(self) -> float:
        """Seconds of the world, which stand for Unix seconds."""
        return self._world.now

    def own(self, key: Key) -> Value | Missing:
        """What the member itself says."""
        if isinstance(key, tuple):
            return self.member.values.get(key, MISSING)
        value = {"node": self.member.node, **self.member.fields}.get(key)
        return MISSING if value is None or value == "" else value

    def lookup(self, key: Key) -> Value | Missing:
        """A current value; those of the host by any device of it."""
        if isinstance(key, tuple) and of_host(key):
            host = self._world.members.get((self.member.node, ""))
            return MISSING if host is None else host.values.get(key, MISSING)
        if key in ("device", "name", "id"):
            return self.member.device or MISSING
        return self.own(key)

    def window(
        self,
        kind: str,
        key: Series,
        seconds: int,
        quantile: float | None,
        *,
        of_job: bool = False,  # noqa: ARG002 - a device of a test has one job from beginning to end
    ) -> float | None:
        """A window over the samples so far."""
        history = self._world.histories.get(self.member.node)
        kept = None if history is None else history.series_history(self.member.device or HOST, key)
        if kept is None or history is None:
            return None
        need = WindowNeed(kind, key, seconds, quantile)
        return kept.window(self._world.now, need, history.interval_s)

    def last(self, pattern: EventPattern) -> float | None:
        """When a matching event was last received."""
        history = self._world.histories.get(self.member.node)
        return None if history is None else history.events.last(self.member.device, pattern)

    def latest(self, pattern: EventPattern) -> ErrorEvent | None:
        """The matching event that was received last."""
        history = self._world.histories.get(self.member.node)
        return None if history is None else history.events.latest(self.member.device, pattern)

    def occurrences(self, pattern: EventPattern, seconds: int) -> int | None:
        """How many matching events were received within the last `seconds`."""
        history = self._world.histories.get(self.member.node)
        if history is None:
            return None
        return history.events.occurrences(self.member.device, pattern, self._world.now - seconds)

    def grouped(self, by: str) -> tuple[str, ...] | None:
        """What the member has in common with its group; None where it belongs to none."""
        values = [
            "" if own_value is MISSING and (by, name) in _OPTIONAL else own_value
            for name, own_value in ((name, self.own(name)) for name in _GROUPED_BY[by])
        ]
        return None if MISSING in values else tuple(str(value) for value in values)

    def group(self, by: str) -> Group | None:
        """The devices of the same group (`expr/vocabulary/peers.py`)."""
        value = self.grouped(by)
        members = () if value is None else self._world.devices_of(by, value)
        if not members:
            return None
        # Who is no device itself is not among them: rules of such scopes only fold over them.
        return Group(members, members.index(self) if self in members else -1)

    def firing(self, rule: str) -> bool | None:
        """Whether another rule is firing."""
        engine = self._world.engine
        return None if engine is None else engine.is_firing(rule, self.entity)
