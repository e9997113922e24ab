"""The shipped rules, judged by a hub: silent on devices that are well, one incident of a fault."""

import asyncio
from pathlib import Path

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.rules.loading.pack_files import pack_names
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.schema.device import DeviceState
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from support.fleet.two_nodes import TwoNodes, view

REBOOT: dict[Series, Number | None] = {
    ("reset_required",): 1,
    ("recovery_action_info", "node_reboot"): 1,
    ("recovery_action_info", "none"): None,
}


class Site(TwoNodes):
    """A fleet that all packs are judged on."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        settings = RuleSettings(packs=tuple(pack_names()))
        self.runner = RuleRunner(FleetEvaluator(self.fleet), settings, folder)

    async def ticks(self, count: int, *changes: dict[Series, Number | None]) -> None:
        """Four devices on each node, the first ones of `a` with changes."""
        for _ in range(count):
            self.report("a", *(view(at, dict(enumerate(changes)).get(at)) for at in range(4)))
            self.report("b", *(view(at) for at in range(4, 8)))
            await self.runner.tick()
            self.clock.advance(20.0)

    def serious(self) -> dict[str, tuple[str, ...]]:
        """Open incidents above `info`: family to rules."""
        found = (one for one in self.runner.open if one.severity is not Severity.INFO)
        return {one.family: one.rules for one in found}


def test_devices_that_are_well_have_no_incident(tmp_path: Path) -> None:
    async def scenario() -> None:
        site = Site(tmp_path)
        await site.runner.start()
        await site.ticks(50)
        assert site.serious() == {}
        assert site.runner.problems == ()
        await site.runner.stop()

    asyncio.run(scenario())


def test_what_the_driver_requests_and_a_lost_device_are_one_incident(tmp_path: Path) -> None:
    async def scenario() -> None:
        site = Site(tmp_path)
        await site.runner.start()
        await site.ticks(2)
        await site.ticks(1, REBOOT)
        assert site.serious() == {"nvidia.gpu": ("nvidia.recovery.reboot",)}
        site.report("a", view(0, REBOOT, state=DeviceState.LOST), *(view(at) for at in range(1, 4)))
        await site.runner.tick()
        (rules,) = site.serious().values()
        assert set(rules) == {"nvidia.recovery.reboot", "nvidia.lost"}
        await site.runner.stop()

    asyncio.run(scenario())
