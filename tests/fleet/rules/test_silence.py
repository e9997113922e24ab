"""Rules on who has fallen silent: what was received last is true for two intervals, and no longer."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.alerting.rules.timing import Transition
from accelwatch.base.slices import LongWork
from accelwatch.fleet.rules.columns.fleet_rule_context import FleetRuleContext
from accelwatch.fleet.rules.rule_evaluator import FleetRuleEvaluator
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import Owner
from support.fleet.two_nodes import TwoNodes, host, view

POWER = ("power_watts",)
JOB = (Owner(kind="job", job_id="4711", scheduler="slurm"),)
CONDITIONS = {
    "a value": 'when: "power_watts < 200"',
    "a state": "when: state == 'lost'",
    "the health": "when: not health.ok",
    "whether it is up": "when: not device_up",
    "an expected device": "when: state == 'missing'",
    "the host": 'scope: node, when: "host_blocked_processes > 3"',
    "a window": "when: \"avg(power_watts, '1m') < 200\"",
    "a window of the host": "scope: node, when: \"avg(host_blocked_processes, '1m') > 3\"",
    "a device of the node": "scope: node, when: \"node.any(state == 'lost')\"",
    "a device of the job": 'scope: job, when: "job.any(power_watts < 200)"',
    "a device of the rack": "scope: rack, when: \"rack.any(state == 'lost')\"",
}


class Bad(TwoNodes):
    """Node `a` with one device that is well, one that is lost, and one that is gone; `for` is 8 s."""

    def __init__(
        self, folder: Path, rule: str, *, for_: str = "8s", interval_s: float = 1.0
    ) -> None:
        super().__init__()
        file = folder / "rules.yaml"
        text = f"version: 1\nrules:\n- {{id: bad, title: T, for: {for_}, {rule}}}\n"
        file.write_text(text, encoding="utf-8")
        self.judge = FleetRuleEvaluator(FleetRuleContext(self.fleet), load([file]).rules)
        self.interval_s = interval_s
        self.report("a", view(0), view(1), view(2))
        asyncio.run(self.judge.tick(LongWork()))
        self.clock.advance(1.0)

    def send(self) -> None:
        """The node sends that it is bad."""
        lost = {"state": DeviceState.LOST, "owners": JOB, "health": Health.FAILED}
        views = (view(0), view(1, {POWER: 100.0}, **lost), host(host_blocked_processes=9))
        self.fleet.read(self.keys["a"], views, self.clock.wall(), self.interval_s)

    def seconds(self, count: int, *, every: int = 0) -> list[Transition]:
        """So many seconds pass; the node sends `every` so many of them, or not at all."""
        transitions: list[Transition] = []
        for at in range(count):
            if every and at % every == 0:
                self.send()
            changes = asyncio.run(self.judge.tick(LongWork()))
            transitions += [one.transition for one in changes if one.rule == "bad"]
            self.clock.advance(1.0)
        return transitions


@pytest.mark.parametrize("rule", CONDITIONS.values(), ids=CONDITIONS)
@pytest.mark.parametrize("stale_s", [5.0, 10.0, 600.0])
def test_what_was_sent_for_a_second_does_not_last_for_eight(
    tmp_path: Path, rule: str, stale_s: float
) -> None:
    fleet = Bad(tmp_path, rule)
    later = msgspec.structs.replace(fleet.fleet.thresholds, stale_s=stale_s, down_s=stale_s + 1)
    fleet.fleet.thresholds = later
    assert fleet.seconds(2, every=1) == []
    assert fleet.seconds(20) == []


@pytest.mark.parametrize("rule", CONDITIONS.values(), ids=CONDITIONS)
def test_what_goes_on_being_sent_fires_in_time(tmp_path: Path, rule: str) -> None:
    fleet = Bad(tmp_path, rule)
    assert fleet.seconds(60, every=1)[:1] == [Transition.FIRED]


def test_the_time_of_a_silence_is_not_added(tmp_path: Path) -> None:
    fleet = Bad(tmp_path, CONDITIONS["a value"])
    assert fleet.seconds(3, every=1) == []
    assert fleet.seconds(6) == []
    assert fleet.seconds(3, every=1) == []
    assert fleet.seconds(4, every=1) == [Transition.FIRED]


@pytest.mark.parametrize("missed", [0, 1])
def test_the_interval_is_the_nodes_own(tmp_path: Path, missed: int) -> None:
    fleet = Bad(tmp_path, CONDITIONS["a state"], for_="50s", interval_s=15.0)
    assert fleet.seconds(15 * (1 + missed), every=60) == []
    assert fleet.seconds(60 - 15 * missed, every=15) == [Transition.FIRED]


def test_an_exporter_that_has_missed_two_polls_says_nothing(tmp_path: Path) -> None:
    fleet = Bad(tmp_path, CONDITIONS["a state"], for_="50s", interval_s=15.0)
    fleet.fleet.thresholds = msgspec.structs.replace(fleet.fleet.thresholds, stale_s=600.0)
    assert fleet.seconds(90, every=90) == []


def test_that_a_node_is_silent_goes_on_being_known(tmp_path: Path) -> None:
    fleet = Bad(tmp_path, "scope: node, when: \"node_state in ('stale', 'down')\"")
    assert fleet.seconds(2, every=1) == []
    assert fleet.seconds(30) == [Transition.FIRED]


def test_what_has_fired_neither_clears_nor_fires_again(tmp_path: Path) -> None:
    fleet = Bad(tmp_path, CONDITIONS["a value"] + ", keep: 0")
    assert fleet.seconds(10, every=1) == [Transition.FIRED]
    assert fleet.seconds(30) == []
