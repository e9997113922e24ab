"""Who is asked only when something has changed says the same as who is asked at every tick."""

import random
from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.alerting.rules.attention import ChangeSet
from accelwatch.alerting.rules.engine import Engine
from accelwatch.alerting.rules.loading.rule_files import load, pack_file, pack_names
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.testing.world import Member, World
from accelwatch.alerting.rules.timing import Timing
from accelwatch.alerting.rules.verdict import VerdictChange
from accelwatch.expr.needs import Needs
from accelwatch.expr.rule import compile_rule
from accelwatch.expr.vocabulary.rule_names import of_host
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.metrics import Kind, Series, by_key
from support.rules.rule_worlds import conditions

PACKS = dict(load([pack_file(name) for name in pack_names()], tests=False).rules)
CODES = ("xid_79", "xid_48", "xid_63", "xid_45", "boot", "hung_task")


def drawn_rules(texts: list[str]) -> dict[str, Rule]:
    """Rules of devices; one of them has the id that conditions ask about."""
    model = PACKS["nvidia.lost"]
    timing = Timing(for_s=2.0, keep_s=3.0, unknown_after_s=8.0)
    return {
        id_: replace(model, id=id_, select=None, when=compile_rule(text), confirm=None, clear=None,
                     timing=timing, show=())
        for id_, text in zip(("other.rule", "a", "b"), texts, strict=False)
    }  # fmt: skip


class Scene:
    """Two nodes of two devices, whose values stand still, change, are missing, and come back."""

    def __init__(self, rules: Mapping[str, Rule], seed: int, interval_s: float) -> None:
        self.rules = rules
        self.random = random.Random(seed)
        self.interval_s = interval_s
        self.needs = Needs()
        for rule in rules.values():
            for one in rule.expressions:
                self.needs |= one.needs
        fields = {"vendor": "nvidia", "model": "H100", "job": "7", "labels.rack": "r1"}
        self.members = [
            Member(node=node, device=device, fields=fields)
            for node in ("n1", "n2")
            for device in ("", "nvidia0", "nvidia1")
        ]

    def values(self, before: Mapping[Series, float], *, host: bool) -> dict[Series, float]:
        told: dict[Series, float] = {}
        for series in sorted(self.needs.series):
            if of_host(series) is not host:
                continue
            had, chance = before.get(series, 1.0), self.random.random()
            if chance < 0.05:
                continue
            row = by_key().get(series[0])
            if chance < 0.7 and series in before:
                told[series] = had
            elif row is not None and row.kind is Kind.COUNTER:
                told[series] = had + self.random.choice([0.0, 1.0, 5.0, -had])
            else:
                told[series] = self.random.choice([0.0, 0.5, 1.0, 2.0, 7.0, 90.0])
        return told

    def event(self, now: float) -> ErrorEvent | None:
        if self.random.random() > 0.08:
            return None
        return ErrorEvent(
            code=self.random.choice(CODES),
            category=Category.OTHER,
            time=now - self.random.choice([0.0, 0.0, 5.0, 4000.0]),
            text="NVRM: Xid",
            source="kernel_log",
            device_id=self.random.choice(["", "nvidia0"]),
        )

    def played(self, ticks: int, *, sparing: bool) -> list[list[VerdictChange]]:
        members = [replace_values(one) for one in self.members]
        world = World(self.needs, self.interval_s, members)
        engine = world.engine = Engine(self.rules)
        found: list[list[VerdictChange]] = []
        now = 1000.0
        for _ in range(ticks):
            stir = ChangeSet(engine.attention) if sparing else None
            now += self.interval_s * self.random.choice([1, 1, 1, 1, 1, 3, 0.5])
            for member in members:
                member.values = self.values(member.values, host=not member.device)
            world.tick(now, stir)
            if event := self.event(now):
                world.add_event(self.random.choice(["n1", "n2"]), event, stir)
            found.append(engine.step(world.subjects(), now, now, stir))
        return found


def replace_values(member: Member) -> Member:
    return Member(node=member.node, device=member.device, fields=member.fields)


@settings(max_examples=60, deadline=None)
@given(st.lists(conditions, min_size=1, max_size=3), st.integers(0, 2**20), st.booleans())
def test_drawn_rules_say_the_same(texts: list[str], seed: int, slow: bool) -> None:
    rules = drawn_rules(texts)
    interval_s = 10.0 if slow else 1.0
    sparing = Scene(rules, seed, interval_s).played(40, sparing=True)
    assert sparing == Scene(rules, seed, interval_s).played(40, sparing=False)


def test_shipped_rules_say_the_same() -> None:
    sparing = Scene(PACKS, 1, 5.0).played(60, sparing=True)
    assert sparing == Scene(PACKS, 1, 5.0).played(60, sparing=False)
    assert any(sparing)


def test_who_stands_still_is_asked_once() -> None:
    """The clock is read before the first rule that is worked out, and after each."""
    rules = drawn_rules(
        ["power_watts > 1", 'max(power_watts, "5m") > 1', 'count("xid", within="1h") > 3']
    )
    readings: list[int] = []

    def nanoseconds() -> int:
        readings.append(0)
        return 0

    scene = Scene(rules, 1, 1.0)
    for member in scene.members:
        member.values = {("power_watts",): 0.5}
    world = World(scene.needs, 1.0, scene.members)
    engine = world.engine = Engine(rules, nanoseconds)
    worked: list[int] = []
    for at in range(9):
        stir = ChangeSet(engine.attention)
        world.tick(1000.0 + at, stir)
        engine.step(world.subjects(), 1000.0 + at, 1000.0 + at, stir)
        worked.append(max(len(readings) - 1, 0))
        readings.clear()
    assert worked == [3, *[0] * 8]
