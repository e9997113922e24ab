"""What has one cause: who leads, who follows, who is told, and that a journal keeps it."""

import asyncio
import itertools
import sys
from pathlib import Path

import pytest

from accelwatch.alerting.incidents.grouping.cause_rules import AGAIN_S, TOGETHER_S
from accelwatch.alerting.incidents.grouping.causes import Causes
from accelwatch.alerting.incidents.grouping.levels import level_of
from accelwatch.alerting.incidents.incident_manager import IncidentManager
from accelwatch.alerting.incidents.incident_store import IncidentStore
from accelwatch.alerting.incidents.model.incident import Facts, Incident
from accelwatch.alerting.incidents.model.silence import Silence, matchers
from accelwatch.alerting.rules.document import Advice, Scope, Severity
from accelwatch.alerting.rules.rule import Grouping, Rule, RuleSet
from accelwatch.alerting.rules.timing import Transition
from accelwatch.alerting.rules.verdict import Entity
from alerting.incidents.incident_rules import START, change, device, rule

FIRED, CLEARED = Transition.FIRED, Transition.CLEARED
RULES = {
    "hint": rule("hint", severity=Severity.INFO),
    "warn": rule("warn"),
    "other": rule("other"),
    "lost": rule("lost", severity=Severity.CRITICAL),
}


class Site:
    """An incident store, and what it said last of each incident."""

    def __init__(self, jobs: dict[str, str] | None = None) -> None:
        """`jobs` by node."""
        self.now = START
        self.notified: dict[str, Incident] = {}
        ran = jobs or {}
        self.incident_store = IncidentStore(
            RULES,
            lambda entity: Facts(jobs=(ran[entity.node],) if entity.node in ran else ()),
            self._notified_of,
            lambda: self.now,
        )

    def _notified_of(self, incidents: object) -> None:
        self.notified.update((one.id, one) for one in incidents)  # type: ignore[attr-defined]

    async def start(self, folder: Path | None = None) -> "Site":
        await self.incident_store.start(folder, RuleSet(rules=RULES, digest="d"), self.now)
        return self

    async def apply(
        self, transition: Transition, rule_id: str, at_s: float, entity: Entity
    ) -> None:
        self.now = START + at_s
        verdict = change(transition, at_s, rule_id=rule_id, entity=entity)
        await self.incident_store.step([verdict], self.now)

    @property
    def follows(self) -> dict[str, str]:
        return {one.rule: one.follows for one in self.incident_store.open}

    def quiet(self) -> list[str]:
        """Rules of open incidents of which nobody is told besides another."""
        return [
            one.rule
            for one in self.incident_store.open
            if self.incident_store.is_covered_by_leader(one)
        ]


def play(
    *changes: tuple[Transition, str, float, Entity], jobs: dict[str, str] | None = None
) -> Site:
    async def scenario() -> Site:
        site = await Site(jobs).start()
        for one in changes:
            await site.apply(*one)
        await site.incident_store.stop()
        return site

    return asyncio.run(scenario())


ONE, TWO, ELSEWHERE = device("n1", 0), device("n1", 1), device("n2", 0)


def test_what_follows_on_a_node_follows_the_first() -> None:
    site = play((FIRED, "warn", 0, ONE), (FIRED, "other", 60, TWO), (FIRED, "hint", 90, ONE))
    assert site.follows == {"warn": "", "other": "i1", "hint": "i1"}
    assert site.quiet() == ["other", "hint"]
    assert site.notified["i2"].timeline[-1].text == "of one cause with i1: Title of warn"


@pytest.mark.parametrize(
    ("rule_id", "at_s", "where", "follows"),
    [
        ("other", TOGETHER_S, ONE, "i1"),
        ("other", 60, ELSEWHERE, ""),
        ("other", TOGETHER_S + 1, ONE, "i1"),  # what goes on explains it, however late it comes
        ("lost", TOGETHER_S + 1, TWO, ""),
    ],
)
def test_how_long_and_where(rule_id: str, at_s: float, where: Entity, follows: str) -> None:
    site = play((FIRED, "warn", 0, ONE), (FIRED, rule_id, at_s, where))
    assert site.follows[rule_id] == follows


@pytest.mark.parametrize(
    ("rule_id", "jobs", "follows"),
    [
        ("hint", {"n1": "4711", "n2": "4711"}, "i1"),
        ("hint", {"n1": "4711", "n2": "4712"}, ""),
        ("hint", {}, ""),
        ("other", {"n1": "4711", "n2": "4711"}, ""),  # a warning of another node is its own
    ],
)
def test_what_a_job_leaves_on_its_other_nodes_follows_the_fault_that_ended_it(
    rule_id: str, jobs: dict[str, str], follows: str
) -> None:
    site = play((FIRED, "lost", 0, ONE), (FIRED, rule_id, 30, ELSEWHERE), jobs=jobs)
    assert site.follows == {"lost": "", rule_id: follows}


@pytest.mark.parametrize(("at_s", "follows"), [(TOGETHER_S, "i1"), (TOGETHER_S + 1, "")])
def test_a_job_that_stops_long_after_one_of_its_devices_fell_ill_is_news(
    at_s: float, follows: str
) -> None:
    job = Entity(scope=Scope.JOB, job="4711")
    site = play((FIRED, "lost", 0, ONE), (FIRED, "lost", at_s, job), jobs={"n1": "4711"})
    assert site.notified["i2"].follows == follows


@pytest.mark.parametrize(("after_s", "follows"), [(AGAIN_S - 1, True), (AGAIN_S + 70, False)])
def test_what_comes_soon_after_it_was_over_is_the_same_again(after_s: float, follows: bool) -> None:
    site = play(
        (FIRED, "warn", 0, ONE),
        (CLEARED, "warn", 2000, ONE),
        (FIRED, "other", 2000 + after_s, ONE),
        (FIRED, "warn", 2001 + after_s, ONE),
    )
    # Who is alone leads, and a cause that is over has nothing added to it.
    assert site.follows["other"] == ""
    assert site.follows["warn"] == site.notified["i2"].id


def test_the_most_severe_leads_and_what_is_critical_is_reported_in_any_case() -> None:
    site = play((FIRED, "hint", 0, ONE), (FIRED, "warn", 10, ONE))
    assert site.follows == {"hint": "i2", "warn": ""}
    site = play((FIRED, "warn", 0, ONE), (FIRED, "lost", 10, ONE), (FIRED, "other", 20, ONE))
    assert site.follows == {"warn": "i2", "lost": "", "other": "i2"}
    assert site.quiet() == ["warn", "other"]
    other = device("n1", 3)
    site = play((FIRED, "lost", 0, ONE), (FIRED, "lost", 10, other), (FIRED, "lost", 20, ONE))
    assert [one.follows for one in site.incident_store.open] == ["", "i1"]
    assert site.quiet() == []


def test_when_the_leader_is_over_another_one_leads_and_is_reported() -> None:
    site = play(
        (FIRED, "warn", 0, ONE),
        (FIRED, "other", 60, ONE),
        (FIRED, "hint", 70, ONE),
        (CLEARED, "warn", 100, ONE),
    )
    assert site.follows == {"other": "", "hint": "i2"}
    assert site.quiet() == ["hint"]
    assert site.notified["i2"].timeline[-1].text == "it leads its cause now"


def test_a_leader_that_is_muted_reports_for_nobody() -> None:
    async def scenario() -> None:
        site = await Site().start()
        await site.apply(FIRED, "warn", 0, ONE)
        await site.apply(FIRED, "other", 60, ONE)
        assert site.quiet() == ["other"]
        site.notified.clear()
        silence = Silence(
            id="s9", matchers=matchers("rule=warn"), starts=0, ends=START + 9e5, by="", reason=""
        )
        await site.incident_store.mutes.mute(silence)
        assert site.quiet() == []
        assert set(site.notified) == {"i1", "i2"}
        site.notified.clear()
        await site.incident_store.mutes.unmute("s9", "ana")
        assert site.quiet() == ["other"]
        assert set(site.notified) == {"i1", "i2"}
        await site.incident_store.stop()

    asyncio.run(scenario())


def test_a_restart_keeps_who_follows_whom(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = await Site().start(tmp_path)
        await first.apply(FIRED, "warn", 0, ONE)
        await first.apply(FIRED, "other", 60, ONE)
        await first.incident_store.stop()
        again = await Site().start(tmp_path)
        assert again.follows == {"warn": "", "other": "i1"}
        await again.apply(FIRED, "hint", 90, ONE)
        assert again.follows["hint"] == "i1"
        await again.apply(CLEARED, "warn", 100, ONE)
        assert again.follows == {"other": "", "hint": "i2"}
        await again.incident_store.stop()

    asyncio.run(scenario())


def test_ten_thousand_causes_are_not_held_against_each_other() -> None:
    causes = Causes(RULES, lambda _: (), lambda _nodes, _now: None)
    site = play(*((FIRED, "hint", 0, device(f"n{at:03d}")) for at in range(300)))
    assert len(causes.step(site.incident_store.open, START)) == 300
    assert causes.drain_moves() == {}
    assert all(len(causes.near(one)) == 1 for one in site.incident_store.open)


def test_a_cause_is_reported_again_each_time_its_level_rises() -> None:
    async def scenario() -> list[str]:
        site = await Site().start()
        causes = Causes(RULES, lambda _: (), lambda _nodes, _now: None)
        sent: list[str] = []
        for at, rule_id in enumerate(("hint", "warn", "other", "lost", "hint")):
            await site.apply(FIRED, rule_id, at * 5.0, device("n1"))
            changes = causes.step(site.notified.values(), START + at * 5.0)
            sent += [f"{one.incident.rule} {level_of(one.incident)}" for one in changes]
        await site.incident_store.stop()
        return sent

    assert asyncio.run(scenario()) == ["hint info", "warn watch", "lost alert"]


def test_of_a_storm_that_comes_the_first_is_reported_and_then_the_storm() -> None:
    async def scenario() -> list[tuple[str, bool]]:
        site = await Site().start()
        causes = Causes(RULES, lambda _: (), lambda _nodes, _now: None)
        sent: list[tuple[str, bool]] = []
        for at in range(12):
            await site.apply(FIRED, "lost", at * 5.0, device(f"n{at}"))
            changes = causes.step(site.notified.values(), START + at * 5.0)
            sent += [(one.incident.id, one.incident.storm) for one in changes]
        sent += [(one.incident.id, one.incident.storm) for one in causes.step((), START + 900)]
        await site.incident_store.stop()
        return sent

    assert asyncio.run(scenario()) == [("i1", False), ("i11", True)]


@pytest.mark.parametrize(
    ("rule_id", "at_s", "where", "sent"),
    [
        ("lost", 60, ELSEWHERE, ["i1"]),  # it waits for others
        ("lost", 61, ELSEWHERE, ["i1", "i2"]),
        ("other", 10, ELSEWHERE, ["i1", "i2"]),  # of another family
        ("lost", 10, device("n1", 7), ["i1"]),  # the same cause
        ("hint", 10, ELSEWHERE, ["i1", "i2"]),
    ],
)
def test_who_waits_for_a_storm(rule_id: str, at_s: float, where: Entity, sent: list[str]) -> None:
    causes = Causes(RULES, lambda _: (), lambda _nodes, _now: None)
    site = play((FIRED, "lost", 0, ONE), (FIRED, rule_id, at_s, where))
    first, second = site.incident_store.open
    changes = [*causes.step([first], START), *causes.step([second], START + at_s)]
    assert [one.incident.id for one in changes] == sent
    if sent == ["i1"] and where is ELSEWHERE:
        assert [one.incident.id for one in causes.step([], START + at_s + 60)] == ["i2"]


@pytest.mark.parametrize(
    ("second", "nodes", "after_s", "notified"),
    [
        ("fabric", ("n1", "n2"), TOGETHER_S + 120, ["storage", "fabric"]),
        ("lost", ("n1",), TOGETHER_S + 120, ["storage", "lost"]),
        ("storage.again", ("n1", "n2"), TOGETHER_S + 120, ["storage"]),  # in the same way
        ("warn", ("n1",), TOGETHER_S + 120, ["storage"]),  # it wakes nobody
        ("fabric", ("n1", "n2"), TOGETHER_S - 120, ["storage"]),  # together with it
        ("lost", ("n1",), TOGETHER_S - 120, ["storage"]),
        # A device that is broken is so for no storage.
        ("broken", ("n1",), TOGETHER_S - 120, ["storage", "broken"]),
        ("broken", ("n9",), TOGETHER_S - 120, ["storage", "broken"]),
        ("broken.watch", ("n1",), TOGETHER_S - 120, ["storage"]),
    ],
)
def test_what_starts_long_after_many_nodes_suffer_is_a_cause_of_its_own(
    second: str, nodes: tuple[str, ...], after_s: float, notified: list[str]
) -> None:
    fleet = Grouping(by="fleet", at_least=2, within_s=300.0, calm_s=300.0)
    wide = {
        id_: rule(id_, family=family, severity=Severity.CRITICAL, group=fleet)
        for id_, family in (("storage", ""), ("storage.again", "storage"), ("fabric", ""))
    }
    rules = RULES | wide | broken()
    assert _notified(rules, ("storage", 0.0, ("n1", "n2")), (second, after_s, nodes)) == notified


def broken() -> dict[str, Rule]:
    """Rules by which a device is broken, and may be."""
    critical = rule("broken", severity=Severity.CRITICAL, advice=Advice.RESET)
    return {"broken": critical, "broken.watch": rule("broken.watch", advice=Advice.RESET)}


@pytest.mark.parametrize(("node", "notified"), [("n1", ["wide"]), ("n2", ["wide", "slow"])])
def test_what_one_node_of_many_had_explains_nothing_of_another(
    node: str, notified: list[str]
) -> None:
    fleet = Grouping(by="fleet", at_least=2, within_s=300.0, calm_s=300.0)
    slow = rule("slow", severity=Severity.CRITICAL)
    again = rule("slow.again", family="slow", severity=Severity.CRITICAL)
    rules = {
        "wide": rule("wide", severity=Severity.CRITICAL, group=fleet),
        "slow": slow,
        "slow.again": again,
    }
    late = "slow.again" if node == "n1" else "slow"
    changes = (
        ("wide", 0.0, ("n1", "n2")),
        # Together with it.
        ("slow", 120.0, ("n1",)),
        (late, 120.0 + TOGETHER_S + 120, (node,)),
    )
    assert _notified(rules, *changes) == notified


@pytest.mark.parametrize(
    ("between", "notified"), [("warn", ["wide", "lost"]), ("wide.again", ["wide"])]
)
def test_a_watch_in_between_makes_two_alerts_no_one_cause(
    between: str, notified: list[str]
) -> None:
    fleet = Grouping(by="fleet", at_least=2, within_s=300.0, calm_s=300.0)
    rules = RULES | {
        name: rule(name, severity=Severity.CRITICAL, group=fleet) for name in ("wide", "wide.again")
    }
    nodes = ("n1", "n2") if between == "wide.again" else ("n1",)
    changes = (
        ("wide", 0.0, ("n1", "n2")),
        (between, TOGETHER_S - 120, nodes),
        ("lost", TOGETHER_S + 120, ("n1",)),
    )
    assert _notified(rules, *changes) == notified


@pytest.mark.parametrize(
    ("second", "nodes", "notified"),
    [
        ("wide", ("n1", "n2"), ["wide"]),
        ("other.wide", ("n1", "n2"), ["wide", "other.wide"]),
        ("lost", ("n1",), ["wide", "lost"]),
        ("warn", ("n1",), ["wide"]),
    ],
)
def test_what_comes_after_many_are_well_again_is_the_same_only_in_the_same_way(
    second: str, nodes: tuple[str, ...], notified: list[str]
) -> None:
    fleet = Grouping(by="fleet", at_least=2, within_s=300.0, calm_s=300.0)
    wide = {
        name: rule(name, severity=Severity.CRITICAL, group=fleet) for name in ("wide", "other.wide")
    }
    over_s = 2.0 * TOGETHER_S
    changes = (("wide", 0.0, ("n1", "n2")), (second, over_s + AGAIN_S - 400.0, nodes))
    assert _notified(RULES | wide, *changes, over_s=over_s) == notified


@pytest.mark.parametrize(
    ("after_s", "notified"), [(TOGETHER_S - 60, ["wide"]), (TOGETHER_S + 60, ["wide", "lost"])]
)
def test_what_follows_soon_is_the_same_although_the_first_is_over_already(
    after_s: float, notified: list[str]
) -> None:
    fleet = Grouping(by="fleet", at_least=2, within_s=300.0, calm_s=300.0)
    rules = RULES | {"wide": rule("wide", severity=Severity.CRITICAL, group=fleet)}
    changes = (("wide", 0.0, ("n1", "n2")), ("lost", after_s, ("n1",)))
    assert _notified(rules, *changes, over_s=120.0) == notified


def _notified(
    rules: dict[str, Rule],
    *changes: tuple[str, float, tuple[str, ...]],
    over_s: float | None = None,
) -> list[str]:
    """Rules of incidents that people are notified of, when each fires on its nodes at its time.

    At `over_s` the first is over.
    """
    numbers = itertools.count(1)
    kept = IncidentManager(rules, lambda _: Facts(), lambda: f"i{next(numbers)}")
    causes = Causes(rules, lambda _: (), lambda _nodes, _now: None)
    names: list[str] = []
    for rule_id, at_s, where in changes:
        entities = [Entity(scope=Scope.NODE, node=node) for node in where]
        fired = [change(FIRED, at_s, rule_id=rule_id, entity=entity) for entity in entities]
        changed = kept.step(fired, START + at_s)
        reports = causes.step(changed, START + at_s) + causes.step((), START + at_s + 61)
        names += [report.incident.rule for report in reports]
        if over_s is not None and rule_id == changes[0][0]:
            for after_s in (0.0, 400.0):
                gone = [
                    change(CLEARED, over_s, rule_id=rule_id, entity=entity) for entity in entities
                ]
                now = START + over_s + after_s
                causes.step(kept.step([] if after_s else gone, now), now)
    return names


def calls_of(count: int) -> int:
    """Calls of functions while so many incidents begin, and then end, on a node."""
    causes, calls = Causes(RULES, lambda _: (), lambda _nodes, _now: None), 0
    kept = IncidentManager(RULES, lambda _: Facts(), lambda: f"i{next(numbers)}")
    numbers = itertools.count(1)
    entities = [device("n1", number) for number in range(count)]
    sent = [
        kept.step(
            [change(what, at_s, rule_id="warn", entity=one) for one in entities], START + at_s
        )
        for what, at_s in ((FIRED, 0), (CLEARED, 10))
    ]

    def call(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(call)
    try:
        for at_s, changed in zip((0, 10), sent, strict=True):
            causes.step(changed, START + at_s)
    finally:
        sys.setprofile(None)
    return calls


def test_one_of_many_costs_no_more_than_one_of_few() -> None:
    assert calls_of(2000) < 1.5 * 10 * calls_of(200)


def test_of_many_the_next_one_leads_and_all_follow_it() -> None:
    causes = Causes(RULES, lambda _: (), lambda _nodes, _now: None)
    numbers = itertools.count(1)
    kept = IncidentManager(RULES, lambda _: Facts(), lambda: f"i{next(numbers)}")
    changes = [change(FIRED, 0, rule_id="warn", entity=device("n1", at)) for at in range(600)]
    causes.step(kept.step(changes, START), START)
    assert causes.drain_moves() == {f"i{at}": "i1" for at in range(2, 601)}
    ended = kept.step([change(CLEARED, 5, rule_id="warn", entity=device("n1", 0))], START + 5)
    causes.step(ended, START + 5)
    rest = {f"i{at}" for at in range(2, 601)} - {"i10"}
    assert causes.drain_moves() == {"i10": "", **dict.fromkeys(rest, "i10")}
