"""Many incidents at once: the hub goes on, notifies of one, and forgets none."""

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec
import pytest

from accelwatch.alerting.delivery.formatting.notice import notice_of
from accelwatch.alerting.delivery.messages.message import Traits
from accelwatch.alerting.delivery.queue import Queue
from accelwatch.alerting.delivery.routing import Routes
from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.closed_incidents import MOST_CLOSED
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.sink import Outcome, Status
from accelwatch.base.clock import ManualClock
from accelwatch.config.alerts import Alerts, SinkSettings
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.fleet.target import targets_of
from accelwatch.schema.device import DeviceState
from accelwatch.schema.snapshot import DeviceView
from support.machines import composed as machines

NODES, DEVICES = 1250, 8
RULE = """
version: 1
defaults: {keep: 0}
rules:
- id: site.hot
  title: A device draws too much
  when: power_watts > 1000
  severity: critical
"""
GROUPED = f"{RULE}  group: {{by: fleet, at_least: 3, within: 5m}}\n"


WHOLE = [machines.view(at) for at in range(DEVICES)]


def devices(node: str, watts: float) -> list[DeviceView]:
    views: list[DeviceView] = []
    for at, whole in enumerate(WHOLE):
        uuid = f"{node}-{at}"
        device = msgspec.structs.replace(whole.device, id=uuid, uuid=uuid, serial=uuid)
        values = {("power_watts",): watts}
        reading = msgspec.structs.replace(whole.reading, device_id=uuid, values=values)
        views.append(msgspec.structs.replace(whole, device=device, reading=reading))
    return views


class OneSink:
    """One sink, which accepts every notification."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        alerts = Alerts(sinks=(SinkSettings(name="a", type="x"),))
        self._queue = Queue(
            Routes(alerts),
            {"a": Traits()},
            lambda one, kind, sequence: notice_of(one, kind, sequence=sequence),
            alerts.storm_wait_s,
        )
        self.messages: list[str] = []

    def receive(self, incidents: Sequence[Incident]) -> None:
        """Incidents have changed."""
        for incident in incidents:
            self._queue.changed(incident, False, self._clock.wall())

    def send(self) -> None:
        """Send what is due."""
        now = self._clock.wall()
        while (message := self._queue.next("a", now)) is not None:
            self.messages.append(f"{message.notice.kind.value}: {message.notice.title}")
            self._queue.settle(message, message.notice, Outcome(status=Status.DELIVERED), now)


class Site:
    """A fleet that draws what the test says, and its rules."""

    def __init__(self, folder: Path, rule: str = GROUPED, nodes: int = NODES) -> None:
        file = folder / "rules.yaml"
        file.write_text(rule)
        self.clock = ManualClock(wall=machines.NOW)
        self.fleet = Fleet(self.clock, Thresholds(), None)
        self.targets = targets_of([f"n{at:04d}" for at in range(nodes)], {})
        self.fleet.set_targets(self.targets)
        settings = RuleSettings(files=(str(file),), interval_s=3600.0)
        self.people = OneSink(self.clock)
        self.runner = RuleRunner(FleetEvaluator(self.fleet), settings, folder, self.people.receive)

    async def tick(self, watts: float) -> int:
        """A tick, and how often others had their turn in it."""
        self.clock.advance(20.0)
        for one in self.targets:
            self.fleet.read(one.key, devices(one.node, watts), self.clock.wall(), 1.0)
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        waiting = asyncio.create_task(others())
        await self.runner.tick()
        waiting.cancel()
        self.people.send()
        return turns


def test_ten_thousand_at_once_are_one_and_are_all_known(tmp_path: Path) -> None:
    async def scenario() -> None:
        site = Site(tmp_path)
        await site.runner.start()
        await site.tick(500.0)
        assert site.runner.open == []
        assert await site.tick(1500.0) > 500
        (group,) = [one for one in site.runner.open if one.entity.group]
        assert len(site.runner.open) == NODES * DEVICES + 1
        assert len(group.members) == NODES * DEVICES
        assert group.title == "A device draws too much: 1250 nodes at once"
        assert len(group.timeline) == 1
        assert all(one.group == group.id for one in site.runner.open if one is not group)
        await site.tick(1500.0)
        assert [one.partition(":")[0] for one in site.people.messages] == ["opened"]
        assert "1250 nodes at once" in site.people.messages[0]
        await site.runner.stop()

        again = Site(tmp_path)
        await again.runner.start()
        assert len(again.runner.open) == NODES * DEVICES + 1
        assert await again.tick(500.0) > 500
        assert [one.id for one in again.runner.open] == [group.id]
        assert len(again.runner.closed) == MOST_CLOSED
        await again.runner.stop()

    asyncio.run(scenario())


def test_a_thousand_of_a_rule_without_a_group_are_a_storm_and_two_messages(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        site = Site(tmp_path, RULE, 125)
        await site.runner.start()
        await site.tick(500.0)
        for _ in range(5):
            await site.tick(1500.0)
        (storm,) = [one for one in site.runner.open if not one.group]
        assert (storm.storm, len(storm.members)) == (True, 125 * DEVICES)
        assert 1 <= len(site.people.messages) <= 2, site.people.messages
        assert "125 nodes at once" in site.people.messages[-1]
        await site.runner.stop()

    asyncio.run(scenario())


class ShippedSite:
    """Thirty nodes, in racks of five or none, under the shipped rules, and who is notified."""

    def __init__(self, folder: Path, *, racks: bool) -> None:
        self.clock = ManualClock(wall=machines.NOW)
        self.fleet = Fleet(self.clock, Thresholds(), None)
        self.targets = [
            target
            for at in range(30)
            for target in targets_of([f"n{at:02d}"], {"rack": f"r{at % 6}"} if racks else {})
        ]
        self.fleet.set_targets(self.targets)
        settings = RuleSettings(packs=("nvidia", "service"), interval_s=3600.0)
        self.people = OneSink(self.clock)
        self.runner = RuleRunner(FleetEvaluator(self.fleet), settings, folder, self.people.receive)

    async def tick(self, lost: dict[str, int], silent: Collection[str] = ()) -> None:
        """Two seconds later: how many devices each node has lost, and who says nothing."""
        self.clock.advance(2.0)
        for one in self.targets:
            if one.node not in silent:
                views = devices(one.node, 500.0)
                gone = lost.get(one.node, 0)
                views = [
                    msgspec.structs.replace(view, state=DeviceState.LOST) if at < gone else view
                    for at, view in enumerate(views)
                ]
                self.fleet.read(one.key, views, self.clock.wall(), 1.0)
        await self.runner.tick()
        self.people.send()

    @property
    def top(self) -> list[Incident]:
        """What is open, serious and part of nothing."""
        return [one for one in self.runner.open if not one.group and one.severity != "info"]


@pytest.mark.parametrize(
    ("fault", "racks"),
    [("one-device", True), ("all-devices", False), ("silent", True), ("silent", False)],
)
def test_thirty_nodes_within_a_minute_are_one_incident_and_two_messages(
    tmp_path: Path, fault: str, *, racks: bool
) -> None:
    async def scenario() -> None:
        site = ShippedSite(tmp_path, racks=racks)
        await site.runner.start()
        await site.tick({})
        befallen: list[str] = []
        # A silent node is one only after two minutes.
        for at in range(120 if fault == "silent" else 40):
            befallen += [one.node for one in site.targets[at : at + 1]]
            each = {"one-device": 1, "all-devices": DEVICES, "silent": 0}[fault]
            await site.tick(dict.fromkeys(befallen, each), befallen if fault == "silent" else ())
        (storm,) = site.top
        assert "30 nodes at once" in storm.title
        assert sorted(storm.nodes) == sorted(befallen)
        assert len(storm.members) == 30 * max(each, 1)
        assert len(site.people.messages) <= 2, site.people.messages
        assert "nodes at once" in site.people.messages[-1]
        await site.runner.stop()

    asyncio.run(scenario())
