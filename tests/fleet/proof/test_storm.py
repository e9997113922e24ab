"""Ten thousand incidents at once: the hub goes on, tells of one, and forgets none."""

import asyncio
from pathlib import Path

import msgspec

import machines
from accelwatch.clock import ManualClock
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.liveness import Thresholds
from accelwatch.fleet.target import targets_of
from accelwatch.incidents.register import MOST_CLOSED
from accelwatch.judging.runner import RuleRunner
from accelwatch.schema.snapshot import DeviceView

NODES, DEVICES = 1250, 8
RULE = """
version: 1
defaults: {keep: 0}
rules:
- id: site.hot
  title: A device draws too much
  when: power_watts > 1000
  severity: critical
  group: {by: fleet, at_least: 3, within: 5m}
"""


def devices(node: str, watts: float) -> list[DeviceView]:
    views: list[DeviceView] = []
    for at in range(DEVICES):
        whole = machines.view(at)
        uuid = f"{node}-{at}"
        device = msgspec.structs.replace(whole.device, id=uuid, uuid=uuid, serial=uuid)
        values = {("power_watts",): watts}
        reading = msgspec.structs.replace(whole.reading, device_id=uuid, values=values)
        views.append(msgspec.structs.replace(whole, device=device, reading=reading))
    return views


class Site:
    """A fleet that draws what it is told, and its rules."""

    def __init__(self, folder: Path) -> None:
        file = folder / "rules.yaml"
        file.write_text(RULE)
        self.clock = ManualClock(wall=machines.NOW)
        self.fleet = Fleet(self.clock, Thresholds(), None)
        self.targets = targets_of([f"n{at:04d}" for at in range(NODES)], {})
        self.fleet.set_targets(self.targets)
        settings = RuleSettings(files=(str(file),), interval_s=3600.0)
        self.runner = RuleRunner(FleetEvaluator(self.fleet), settings, folder)

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
        return turns


def test_ten_thousand_at_once_are_one_and_are_all_known(tmp_path: Path) -> None:
    async def story() -> None:
        site = Site(tmp_path)
        await site.runner.start()
        await site.tick(500.0)
        assert site.runner.open == []
        assert await site.tick(1500.0) > 100
        (group,) = [one for one in site.runner.open if one.entity.group]
        assert len(site.runner.open) == NODES * DEVICES + 1
        assert len(group.members) == NODES * DEVICES
        assert group.title == "A device draws too much: 1250 nodes at once"
        assert len(group.timeline) == 1
        assert all(one.group == group.id for one in site.runner.open if one is not group)
        await site.runner.stop()

        again = Site(tmp_path)
        await again.runner.start()
        assert len(again.runner.open) == NODES * DEVICES + 1
        await again.tick(500.0)
        assert [one.id for one in again.runner.open] == [group.id]
        assert len(again.runner.closed) == MOST_CLOSED
        await again.runner.stop()

    asyncio.run(story())
