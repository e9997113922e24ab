"""Rules evaluated over columns: the same verdicts as one by one, and only where something started."""

import asyncio
from itertools import accumulate, cycle
from pathlib import Path

import pytest

from accelwatch.alerting.rules.budget import MOST_OVERRUNS, Budgets
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.timing import Transition
from accelwatch.alerting.rules.verdict import Entity, Evidence, VerdictChange
from accelwatch.base.slices import LongWork
from accelwatch.fleet.rules.columns.fleet_rule_context import FleetRuleContext
from accelwatch.fleet.rules.rule_evaluator import FleetRuleEvaluator
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.snapshot import Owner
from support.fleet.two_nodes import TwoNodes, view
from support.machines import composed as machines

POWER = ("power_watts",)
FIRED, CLEARED = Transition.FIRED, Transition.CLEARED


def rules_of(folder: Path, *rules: str) -> dict[str, Rule]:
    file = folder / "rules.yaml"
    written = "".join(f"- {{title: T, {one}}}\n" for one in rules)
    text = f"version: 1\ndefaults: {{keep: 0}}\nrules:\n{written}"
    file.write_text(text, encoding="utf-8")
    return dict(load([file]).rules)


LOW = 'id: low, when: "power_watts < 200"'


class Judged(TwoNodes):
    """A fleet and the verdicts on it."""

    def __init__(self, rules: dict[str, Rule]) -> None:
        super().__init__()
        self.judge = FleetRuleEvaluator(FleetRuleContext(self.fleet), rules)

    def tick(self) -> list[VerdictChange]:
        changes = asyncio.run(self.judge.tick(LongWork()))
        self.clock.advance(1.0)
        return changes

    def watts(self, *watts: float | None, node: str = "a", **changes: object) -> None:
        self.report(node, *(view(at, {POWER: one}, **changes) for at, one in enumerate(watts)))


def device(index: int, node: str = "a") -> Entity:
    return Entity(scope=Scope.DEVICE, node=node, device=machines.device(index).id)


def transitions(changes: list[VerdictChange]) -> list[tuple[str, Entity, Transition]]:
    return [(one.rule, one.entity, one.transition) for one in changes]


def test_a_condition_fires_where_it_holds_and_clears(tmp_path: Path) -> None:
    fleet = Judged(rules_of(tmp_path, LOW))
    fleet.watts(500.0, 120.0, None)
    (change,) = fleet.tick()
    assert transitions([change]) == [("low", device(1), FIRED)]
    assert [one.text for one in change.evidence] == ["power_watts is 120 W, < 200 W"]
    assert change.time == change.since == machines.NOW
    assert fleet.tick() == []
    fleet.watts(500.0, 450.0, None)
    assert transitions(fleet.tick()) == [("low", device(1), CLEARED)]


def test_it_must_hold_for_its_time(tmp_path: Path) -> None:
    fleet = Judged(rules_of(tmp_path, LOW + ", for: 2s"))
    fleet.watts(120.0)
    assert fleet.tick() + fleet.tick() == []
    (change,) = fleet.tick()
    assert (change.time, change.since) == (machines.NOW + 2, machines.NOW)


def test_a_value_that_goes_missing_clears_nothing(tmp_path: Path) -> None:
    fleet = Judged(rules_of(tmp_path, LOW))
    fleet.watts(120.0)
    fleet.tick()
    fleet.watts(None)
    assert fleet.tick() == []
    assert fleet.judge.alert_states.is_firing("low", device(0))


def test_a_node_that_falls_silent_clears_nothing(tmp_path: Path) -> None:
    fleet = Judged(rules_of(tmp_path, LOW))
    fleet.watts(120.0)
    fleet.tick()
    fleet.clock.advance(300.0)
    assert CLEARED not in [one.transition for one in fleet.tick()]
    assert fleet.judge.alert_states.is_firing("low", device(0))


def test_only_who_is_selected_is_judged(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, LOW + ", select: {labels: {pool: dev}}")
    fleet = Judged(rules)
    fleet.watts(120.0)
    fleet.watts(120.0, node="b")
    assert transitions(fleet.tick()) == [("low", device(0, "b"), FIRED)]


def test_a_second_reading_and_a_clear_of_its_own_count(tmp_path: Path) -> None:
    confirmed = LOW + ", confirm: temperature_celsius > 80, clear: power_watts > 400"
    fleet = Judged(rules_of(tmp_path, confirmed))
    hot = ("temperature_celsius", "gpu")
    fleet.report("a", view(0, {POWER: 120.0, hot: 60.0}))
    assert fleet.tick() == []
    fleet.report("a", view(0, {POWER: 120.0, hot: 90.0}))
    assert [one.transition for one in fleet.tick()] == [FIRED]
    fleet.report("a", view(0, {POWER: 300.0, hot: 60.0}))
    assert fleet.tick() == []
    fleet.report("a", view(0, {POWER: 401.0, hot: 60.0}))
    assert [one.transition for one in fleet.tick()] == [CLEARED]


def test_nodes_jobs_and_racks_are_judged_once_each(tmp_path: Path) -> None:
    rules = rules_of(
        tmp_path,
        'id: node, scope: node, when: "node.count(power_watts < 200) >= 2"',
        'id: job, scope: job, when: "job.any(power_watts < 200)"',
        'id: rack, scope: rack, when: "rack.count(power_watts < 200) >= 3"',
    )
    fleet = Judged(rules)
    owner = (Owner(kind="job", job_id="4711", scheduler="slurm"),)
    fleet.watts(120.0, 110.0, owners=owner)
    fleet.watts(120.0, 500.0, node="b", owners=owner)
    assert transitions(fleet.tick()) == [
        ("node", Entity(scope=Scope.NODE, node="a"), FIRED),
        ("job", Entity(scope=Scope.JOB, job="4711"), FIRED),
        ("rack", Entity(scope=Scope.RACK, rack="r1"), FIRED),
    ]
    fleet.watts(500.0, 500.0, owners=owner)
    fleet.watts(500.0, 500.0, node="b", owners=owner)
    assert {one.transition for one in fleet.tick()} == {CLEARED}


def test_a_job_that_has_ended_is_unknown_not_healthy(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, 'id: job, scope: job, when: "job.any(power_watts < 200)"')
    fleet = Judged(rules)
    fleet.watts(120.0, owners=(Owner(kind="job", job_id="4711", scheduler="slurm"),))
    fleet.tick()
    fleet.watts(500.0)
    assert fleet.tick() == []


def test_a_rule_can_refer_to_another_that_fires(tmp_path: Path) -> None:
    rules = rules_of(
        tmp_path,
        """id: many, when: 'peers_affected("low", by="node") >= 2'""",
        LOW,
    )
    fleet = Judged(rules)
    fleet.watts(120.0, 110.0, 500.0)
    assert {one.rule for one in fleet.tick()} == {"low"}
    assert {one.rule for one in fleet.tick()} == {"many"}


@pytest.mark.parametrize("part", ["confirm", "clear"])
def test_other_parts_than_the_condition_can_refer_to_it_too(tmp_path: Path, part: str) -> None:
    referring = (
        f"""id: many, when: power_watts < 200, {part}: 'peers_affected("low", by="node") >= 2'"""
    )
    fleet = Judged(rules_of(tmp_path, referring, LOW))
    fleet.watts(120.0, 110.0, 500.0)
    first = [one.rule for one in fleet.tick()]
    assert first.count("many") == (0 if part == "confirm" else 2)
    fleet.watts(*(120.0, 110.0, 500.0) if part == "confirm" else (300.0, 300.0, 500.0))
    later = [one for one in fleet.tick() if one.rule == "many"]
    assert [one.transition for one in later] == [FIRED if part == "confirm" else CLEARED] * 2


def test_a_rule_that_is_off_is_not_judged(tmp_path: Path) -> None:
    fleet = Judged(rules_of(tmp_path, LOW + ", mode: off"))
    fleet.watts(120.0)
    assert fleet.tick() == []


def test_a_rule_that_costs_too_much_is_switched_off(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, LOW, 'id: other, when: "power_watts < 150"')
    fleet = Judged(rules)
    budgets = Budgets(0.01)
    # The first of the two rules takes 12 ms, between the readings of the program round it.
    readings = accumulate(cycle([0, 0, 12_000_000, 0, 0, 0, 0, 0, 0]))
    fleet.judge = FleetRuleEvaluator(
        FleetRuleContext(fleet.fleet), rules, budgets=budgets, clock_ns=lambda: next(readings)
    )
    fleet.watts(120.0)
    for _ in range(MOST_OVERRUNS):
        assert budgets.switched_off == {}
        fleet.tick()
    assert list(budgets.switched_off) == ["low"]
    fleet.watts(500.0)
    assert [one.rule for one in fleet.tick()] == ["other"]


@pytest.mark.parametrize("watts", [None, 100.0, 200.0, 300.0])
def test_windows_are_kept_for_rules_only(tmp_path: Path, watts: float | None) -> None:
    fleet = Judged(rules_of(tmp_path, """id: low, when: 'avg(power_watts, "30s") < 200'"""))
    fired = []
    for _ in range(40):
        fleet.watts(watts)
        fired += fleet.tick()
    assert bool(fired) is (watts == 100.0)
    assert fleet.fleet.table.windows.bytes > 0
    fleet.judge.close()
    assert fleet.fleet.table.windows.bytes == 0


@pytest.mark.parametrize(("trusted", "when"), [(True, "code == 79"), (False, "not trusted")])
def test_an_event_has_its_text_and_its_trust_as_evidence(
    tmp_path: Path, *, trusted: bool, when: str
) -> None:
    fleet = Judged(rules_of(tmp_path, f"""id: hit, when: 'event("xid", {when})'"""))
    fleet.watts(500.0, 500.0)
    assert fleet.tick() == []
    event = ErrorEvent(
        code="xid_79",
        category=Category.BUS,
        time=machines.NOW,
        text="GPU has fallen off the bus",
        source="kernel_log",
        device_id=machines.device(1).id,
        trusted=trusted,
    )
    fleet.fleet.events.note("a", "nvidia1", event)
    (change,) = fleet.tick()
    assert change.entity == device(1)
    assert change.evidence == (
        Evidence(
            signal="xid_79",
            text="xid_79: GPU has fallen off the bus",
            since=machines.NOW,
            source="kernel_log",
            trusted=trusted,
            event=event,
        ),
    )


def test_a_group_is_shown_by_a_member_of_it(tmp_path: Path) -> None:
    rules = rules_of(
        tmp_path,
        "id: one, scope: node, when: node.any(power_watts < 200)",
        "id: other, scope: rack, when: rack.any(power_watts < 200)",
    )
    fleet = Judged(rules)
    fleet.watts(500.0, 120.0)
    evidence_by = {one.rule: [line.text for line in one.evidence] for one in fleet.tick()}
    assert evidence_by == {
        "one": ["nvidia1: power_watts is 120 W, < 200 W"],
        "other": ["a nvidia1: power_watts is 120 W, < 200 W"],
    }
