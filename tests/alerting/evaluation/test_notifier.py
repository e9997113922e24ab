"""Who tells people of what an agent finds: alone, beside a hub, and after it has gone."""

import asyncio
from pathlib import Path

import pytest

from accelwatch.agent.hub_presence import HubPresence
from accelwatch.agent.rules.evaluator import NodeEvaluator
from accelwatch.alerting.evaluation.notifier_owner import NotifierOwner
from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.base.clock import ManualClock
from accelwatch.config.alerts import Alerts, SinkSettings
from accelwatch.config.model import RuleSettings
from accelwatch.schema.snapshot import DeviceView
from accelwatch.web.http.stream import ALERTING, HUB_HEADER
from support.machines import composed as machines
from support.servers.fake_feed import FakeFeed
from support.servers.receivers import Receiver, receiver

HUB = {HUB_HEADER: ALERTING}
SILENT_S = 600.0
RULES = """\
version: 1
defaults: {keep: 0, cooldown: 0}
rules:
- {id: gpu.lost, title: lost, when: 'state == "lost"', severity: critical, local: true}
- {id: gpu.idle, title: idle, when: power_watts < 150, severity: critical}
"""


class Node:
    """An agent's rules, an agent's stream, and a receiver."""

    def __init__(self, folder: Path, there: Receiver) -> None:
        self.folder = folder
        self.there = there
        (folder / "rules.yaml").write_text(RULES)
        self.clock = ManualClock()
        self.feed = FakeFeed(machines.snapshot())
        self.presence = HubPresence(self.clock)

    def runner(self, *, beside: bool = False) -> RuleRunner:
        sink = SinkSettings(name="a", type="webhook", options={"url": self.there.base})
        return RuleRunner(
            NodeEvaluator(self.feed, self.clock, 60.0),
            RuleSettings(files=(str(self.folder / "rules.yaml"),), interval_s=60.0),
            self.folder,
            alerts=Alerts(sinks=(sink,), storm_wait_s=0.0),
            notifier_owner=NotifierOwner(self.presence, SILENT_S, beside=beside),
        )

    async def tick(self, runner: RuleRunner, *views: DeviceView, after_s: float = 1.0) -> None:
        self.clock.advance(after_s)
        self.feed.put(machines.snapshot(*views, time=self.clock.wall()))
        await runner.tick()

    async def notified(self, count: int) -> list[str]:
        """Titles of what was said, with what kind of notice it was, as soon as there are so many."""
        requests = await self.there.wait_for(count)
        await asyncio.sleep(0.05)
        bodies = [request.json() for request in requests]
        return [f"{one['type']} {one['data']['title']}" for one in bodies]


@pytest.fixture
def lost() -> DeviceView:
    return machines.lost_view(1)


def test_a_hub_that_alerts_notifies_people_and_the_agent_does_not(
    tmp_path: Path, lost: DeviceView
) -> None:
    async def scenario() -> None:
        async with receiver() as there:
            node = Node(tmp_path, there)
            runner = node.runner()
            await runner.start()
            await node.tick(runner, lost)
            assert await node.notified(1) == ["incident.opened lost"]
            with node.presence.stream(HUB):
                await node.tick(runner, lost)
                assert runner.notified_by.value == "hub"
                await node.tick(runner, lost, machines.lost_view(2))
                assert len(runner.open) == 2
                # What was told from here is ended from here.
                await node.tick(runner, machines.view(1), machines.lost_view(2))
                assert await node.notified(2) == ["incident.opened lost", "incident.closed lost"]
            await node.tick(runner, machines.lost_view(2), after_s=SILENT_S - 10)
            assert (runner.notified_by.value, len(there.requests)) == ("hub", 2)
            assert not runner.problems
            await node.tick(runner, machines.lost_view(2), after_s=20.0)
            assert (await node.notified(3))[2] == "incident.opened lost"
            assert runner.notified_by.value == "local"
            assert "silent for 10 min" in runner.problems[0]
            await runner.stop()

    asyncio.run(scenario())


def test_only_rules_marked_local_are_taken_over(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with receiver() as there:
            node = Node(tmp_path, there)
            (tmp_path / "rules.yaml").write_text(RULES.replace("< 150", "< 1e6"))
            runner = node.runner()
            await runner.start()
            with node.presence.stream(HUB):
                await node.tick(runner, machines.view(0), machines.lost_view(1))
            await node.tick(runner, machines.view(0), machines.lost_view(1), after_s=SILENT_S + 1.0)
            assert {one.rule for one in runner.open} == {"gpu.idle", "gpu.lost"}
            assert await node.notified(1) == ["incident.opened lost"]
            # The hub is back, and nobody hears of the next from here.
            with node.presence.stream(HUB):
                await node.tick(runner, machines.lost_view(1), machines.lost_view(2))
                await asyncio.sleep(0.05)
                assert len(there.requests) == 1
            await runner.stop()

    asyncio.run(scenario())


def test_a_hub_is_remembered_over_a_restart(tmp_path: Path, lost: DeviceView) -> None:
    async def scenario() -> None:
        async with receiver() as there:
            node = Node(tmp_path, there)
            runner = node.runner()
            await runner.start()
            with node.presence.stream(HUB):
                await node.tick(runner)
            await node.tick(runner)
            await runner.stop()
            node.clock.advance(60.0)
            node.presence = HubPresence(node.clock)
            again = node.runner()
            await again.start()
            assert again.notified_by.value == "hub"
            await node.tick(again, lost)
            await asyncio.sleep(0.05)
            assert there.requests == []
            await node.tick(again, lost, after_s=SILENT_S)
            assert await node.notified(1) == ["incident.opened lost"]
            await again.stop()

    asyncio.run(scenario())


def test_beside_a_hub_if_configured_so(tmp_path: Path, lost: DeviceView) -> None:
    async def scenario() -> None:
        async with receiver() as there:
            node = Node(tmp_path, there)
            runner = node.runner(beside=True)
            await runner.start()
            with node.presence.stream(HUB):
                await node.tick(runner, lost)
                assert await node.notified(1) == ["incident.opened lost"]
            await runner.stop()

    asyncio.run(scenario())


def test_who_does_not_alert_is_no_such_hub() -> None:
    presence = HubPresence(ManualClock())
    for headers in ({}, {HUB_HEADER: "something newer"}):
        with presence.stream(headers):
            assert presence.silent_s is None
    with presence.stream(HUB), presence.stream(HUB):
        assert presence.silent_s == 0.0
    assert presence.silent_s == 0.0


def test_a_hub_is_written_down_when_it_comes_goes_and_now_and_then() -> None:
    clock = ManualClock()
    presence = HubPresence(clock)
    owner = NotifierOwner(presence, SILENT_S)

    def writes(ticks: int) -> int:
        count = 0
        for _ in range(ticks):
            clock.advance(1.0)
            count += bool(owner.to_write(clock.wall()))
        return count

    assert writes(5) == 0
    with presence.stream(HUB):
        assert writes(600) == 1
        assert writes(600) == 1
    assert writes(1200) == 1
