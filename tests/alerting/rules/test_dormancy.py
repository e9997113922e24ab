"""A rule that sleeps says the same as one that is evaluated at every tick."""

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.alerting.rules.dormancy import Dormancy, Observed
from accelwatch.alerting.rules.engine import Engine
from accelwatch.alerting.rules.loading.pack_files import pack_file, pack_names
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.alerting.rules.rule import Rule, needs_of
from accelwatch.alerting.rules.testing.world import Member, World
from accelwatch.alerting.rules.timing import Timing, Transition
from accelwatch.alerting.rules.verdict import VerdictChange
from accelwatch.expr.rule import compile_rule
from accelwatch.expr.vocabulary.rule_names import of_host
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.metrics import Kind, Series
from support.rules.observed_worlds import observed
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


class Bench:
    """Two nodes of two devices, whose values stand still, change, are missing, and come back."""

    def __init__(self, rules: Mapping[str, Rule], seed: int, interval_s: float) -> None:
        self.rules = rules
        self.random = random.Random(seed)
        self.interval_s = interval_s
        # Rules that slept, of all ticks.
        self.asleep = 0
        self.needs = needs_of(rules.values())
        fields = {"vendor": "nvidia", "model": "H100", "job": "7", "labels.rack": "r1"}
        self.members = [
            Member(node=node, device=device, fields=fields)
            for node in ("n1", "n2")
            for device in ("", "nvidia0", "nvidia1")
        ]

    def values(self, before: Mapping[Series, float], *, host: bool) -> dict[Series, float]:
        reported: dict[Series, float] = {}
        for series in sorted(self.needs.series):
            if of_host(series) is not host:
                continue
            had, chance = before.get(series, 1.0), self.random.random()
            if chance < 0.05 or (series not in before and self.random.random() < 0.9):
                continue
            row = by_key().get(series[0])
            if chance < 0.7 and series in before:
                reported[series] = had
            elif row is not None and row.kind is Kind.COUNTER:
                reported[series] = had + self.random.choice([0.0, 1.0, 5.0, -had])
            else:
                reported[series] = self.random.choice([0.0, 0.5, 1.0, 2.0, 7.0, 90.0])
        return reported

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
        dormancy, reported = Dormancy(self.rules), set[Series]()
        found: list[list[VerdictChange]] = []
        now = 1000.0
        for _ in range(ticks):
            now += self.interval_s * self.random.choice([1, 1, 1, 1, 1, 3, 0.5])
            for member in members:
                member.values = self.values(member.values, host=not member.device)
            world.tick(now)
            if event := self.event(now):
                world.add_event(self.random.choice(["n1", "n2"]), event)
            awake = None
            if sparing:
                awake = dormancy.awake(observed(world, self.needs.series, reported))
                self.asleep += sum(not is_awake for is_awake in awake.values())
            found.append(engine.step(world.subjects(), now, now, awake))
        return found


def replace_values(member: Member) -> Member:
    return Member(node=member.node, device=member.device, fields=member.fields)


@settings(max_examples=60, deadline=None)
@given(st.lists(conditions, min_size=1, max_size=3), st.integers(0, 2**20), st.booleans())
def test_drawn_rules_say_the_same(texts: list[str], seed: int, slow: bool) -> None:
    rules = drawn_rules(texts)
    interval_s = 10.0 if slow else 1.0
    sparing = Bench(rules, seed, interval_s).played(40, sparing=True)
    assert sparing == Bench(rules, seed, interval_s).played(40, sparing=False)


def test_shipped_rules_say_the_same() -> None:
    bench = Bench(PACKS, 1, 5.0)
    sparing = bench.played(60, sparing=True)
    assert sparing == Bench(PACKS, 1, 5.0).played(60, sparing=False)
    assert any(sparing)
    assert bench.asleep > 60 * 100


POWER: Series = ("power_watts",)


class Bed:
    """One rule, and what is known at its ticks."""

    def __init__(self, text: str, *no_groups: str) -> None:
        (self.rule,) = drawn_rules([text]).values()
        self.dormancy = Dormancy({"a": self.rule}, no_groups)
        self.absent: frozenset[Series] = frozenset()
        self.vendors: tuple[str, ...] = ("nvidia",)
        self.last = float("-inf")

    def is_awake(self, now: float = 1000.0) -> bool:
        known = Observed(now, self.absent, self.vendors, lambda _: self.last)
        return self.dormancy.awake(known)["a"]


def test_a_rule_sleeps_until_its_series_is_reported() -> None:
    bed = Bed("power_watts > 1")
    bed.absent = frozenset({POWER})
    assert not bed.is_awake()
    bed.absent = frozenset()
    assert bed.is_awake()


def test_a_rule_that_asks_whether_a_series_is_missing_does_not_sleep() -> None:
    bed = Bed("missing(power_watts)")
    bed.absent = frozenset({POWER})
    assert bed.is_awake()


def test_a_rule_of_another_vendor_sleeps_until_there_is_one() -> None:
    bed = Bed('vendor == "amd" and power_watts > 1')
    assert not bed.is_awake()
    bed.vendors = ("amd", "nvidia")
    assert bed.is_awake()


def test_a_rule_about_an_event_is_awake_as_long_as_it_counts() -> None:
    bed = Bed('event("xid", within="10s")')
    assert not bed.is_awake(1000.0)
    bed.last = 1001.0
    assert bed.is_awake(1002.0)
    assert bed.is_awake(1011.0)
    assert not bed.is_awake(1012.5)
    bed.last = 1013.0
    assert bed.is_awake(1013.0)


@pytest.mark.parametrize(
    "text",
    [
        "job.any(power_watts > 1)",
        "job.count(power_watts > 1) < 3",
        'peer_z(power_watts, by="job") > 1',
        'peers_affected("a", by="job") < 1',
    ],
)
def test_a_rule_about_groups_of_which_nothing_is_known_sleeps(text: str) -> None:
    assert not Bed(text, "job").is_awake()
    assert Bed(text, "rack").is_awake()


def test_what_woke_it_is_worked_out_once() -> None:
    bed = Bed('event("xid", within="10s") and power_watts > 1')
    bed.is_awake()
    version = bed.dormancy.version
    bed.is_awake(1001.0)
    assert bed.dormancy.version == version
    bed.last = 1001.0
    bed.is_awake(1002.0)
    assert bed.dormancy.version == version + 1


def test_a_rule_that_has_started_is_evaluated_although_it_sleeps() -> None:
    rules = drawn_rules(["power_watts > 1"])
    member = Member(node="n1", device="nvidia0", values={POWER: 2.0})
    world = World(needs_of(rules.values()), 1.0, [member])
    engine = world.engine = Engine(rules)
    (id_,) = rules
    changes: list[VerdictChange] = []
    for at in range(12):
        member.values = {POWER: 2.0 if at < 5 else 0.5}
        world.tick(1000.0 + at)
        changes += engine.step(world.subjects(), 1000.0 + at, 1000.0 + at, {id_: at < 3})
    assert [change.transition for change in changes] == [Transition.FIRED, Transition.CLEARED]
