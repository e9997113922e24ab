"""Rules that are evaluated too late: people are notified once, and nothing new is started meanwhile."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.alerting.evaluation.self_check import checks, lateness, own_problems
from accelwatch.alerting.evaluation.self_check.own_problems import evaluation_problem
from accelwatch.config.alerts import Alerts, SinkSettings
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.remediation.policy.guards import data_guard
from accelwatch.remediation.policy.guards.denial import Denial
from fleet.remedies.hub_site import HubSite, until
from remediation.fake_scheduler import FakeScheduler
from support.servers.receivers import Receiver, receiver


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks and waits are shorter than half a minute."""
    monkeypatch.setattr(checks, "CHECK_EVERY_S", 0.1)
    monkeypatch.setattr(lateness, "LATE_INTERVALS", 0.5)
    monkeypatch.setattr(lateness, "LATE_S", 2.0)
    monkeypatch.setattr(own_problems, "NOTIFIED_AFTER_S", 0.3)


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """While it is set every evaluation waits."""
    held = asyncio.Event()
    evaluate = FleetEvaluator.evaluate

    async def slow(self: FleetEvaluator) -> Any:
        while held.is_set():
            await asyncio.sleep(0.05)
        return await evaluate(self)

    monkeypatch.setattr(FleetEvaluator, "evaluate", slow)
    return held


def notices(there: Receiver) -> list[dict[str, Any]]:
    return [request.json()["data"] for request in there.requests]


def test_late_rules_are_notified_once_and_stop_what_is_new(
    tmp_path: Path, fake_plugin: list[FakeScheduler], stuck: asyncio.Event
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)
    guard = msgspec.structs.replace(site.settings.data_guard, late_s=1.0)
    site.settings = msgspec.structs.replace(site.settings, data_guard=guard)

    async def scenario() -> None:
        async with receiver() as there:
            sink = SinkSettings(name="a", type="webhook", options={"url": f"{there.base}/x"})
            site.alerts = Alerts(sinks=(sink,), storm_wait_s=0.0)
            async with site.running() as (rules, remedies):
                await until(lambda: rules.evaluated_age_s is not None)
                await until(lambda: remedies.engine.state.world.guard.is_warmed_up)
                assert rules.late_s == 0.0
                stuck.set()
                await there.wait_for(1)
                await until(lambda: "late" in remedies.engine.state.world.guard.why)
                denied = data_guard.may_start(remedies.engine.state.world.guard)
                assert isinstance(denied, Denial)

                stuck.clear()
                await there.wait_for(2)
                await until(lambda: remedies.engine.state.world.guard.why == "")
                assert rules.late_s == 0.0
            first, last = notices(there)
            assert (first["kind"], last["kind"]) == ("opened", "closed")
            assert first["rule"] == "accelwatch.own.evaluation"
            assert first["title"] == "rules are evaluated late: nothing new is done about incidents"
            assert "no evaluation for" in first["evidence"][0]

    asyncio.run(scenario())


@pytest.mark.parametrize("acts", [False, True])
def test_rules_in_time_are_no_problem_and_late_ones_say_what_waits(acts: bool) -> None:
    assert evaluation_problem(0.0, acts) is None
    late = evaluation_problem(41.0, acts)
    assert late is not None
    assert ("nothing new is done" in late.title) is acts
    assert "no evaluation for 41 s" in late.text
