"""Data that are missing, counters that start anew, clocks that jump: nothing is opened or closed."""

import asyncio
from pathlib import Path

import pytest

from accelwatch.base.absence import Absence
from accelwatch_lab.simulator.nodes import FleetSize
from support.rules.simulated_hub import ProvingGround, played

HOT = """
version: 1
defaults: {keep: 0}
rules:
- {id: site.hot, title: Hot, when: throttle_active.thermal_hardware}
"""
TICK = 20.0
# Everything by which a value is not there.
MISSING = (
    *(f"kind: absent, quantity: throttle_active, reason: {one.value}" for one in Absence),
    *(f"kind: {kind}" for kind in ("hang", "error", "permission", "suspended", "lost", "gone")),
    *(f"kind: {kind}" for kind in ("node_down", "node_hung", "garbage", "slow_loris")),
)


class Ground(ProvingGround):
    """Two nodes of two devices; device 0 of n001 is hot from 1 to 30 minutes."""

    def __init__(self, folder: Path, rules: str, *faults: str) -> None:
        day, file = folder / "day.yaml", folder / "rules.yaml"
        hot = "{kind: throttle, nodes: n001, device: 0, at: 1m, back: 30m}"
        lines = "".join(f"- {one}\n" for one in (hot, *faults))
        day.write_text(
            f"scenario: 1\njobs: [{{name: a, nodes: '*', warm_up: 0}}]\nfaults:\n{lines}"
        )
        file.write_text(rules)
        size = FleetSize(nodes=2, devices=2, vendor="nvidia")
        super().__init__(size, played(day), folder, interval_s=TICK, rules=file)

    def active(self) -> list[tuple[str, str, bool]]:
        """Of every incident that there was: whom it is about, and whether it is open."""
        return [
            (one.entity.node, one.facts.device_name, one.is_open and not one.reopened)
            for one in self.known
        ]


OPEN = [("n001", "nvidia0", True)]
OVER = [("n001", "nvidia0", False)]


@pytest.mark.parametrize("missing", MISSING)
def test_missing_data_neither_open_nor_close_an_incident(tmp_path: Path, missing: str) -> None:
    faults = (f"{{{missing}, nodes: '{nodes}', at: 5m, back: 10m}}" for nodes in ("n001", "n002"))
    ground = Ground(tmp_path, HOT, *faults)

    async def scenario() -> None:
        await ground.runner.start()
        await ground.play(290.0)
        assert ground.active() == OPEN
        for _ in range(20):
            await ground.tick()
            assert ground.active() == OPEN
        await ground.play(30 * 60 - ground.elapsed_s)
        assert ground.active() == OVER
        await ground.runner.stop()

    asyncio.run(scenario())


SPIKES = """
version: 1
defaults: {keep: 0}
rules:
- {id: site.power, title: More than it can, when: 'rate(energy_joules_total, "1m") > 800'}
- {id: site.pcie, title: More than it can, when: 'rate(pcie_bytes_total.receive, "1m") > 64e9'}
- {id: site.less, title: A counter that falls, when: 'delta(energy_joules_total, "5m") < 0'}
- {id: site.changed, title: An error, when: 'delta(ecc_errors_total.corrected, "10m") > 0'}
"""


def test_a_counter_that_starts_over_is_no_spike(tmp_path: Path) -> None:
    reboot = "{kind: reboot, nodes: n002, at: 6m, back: 7m, every: 5m}"
    restart = "{kind: node_down, nodes: n001, at: 5m, back: 320, every: 3m}"
    ground = Ground(tmp_path, SPIKES, reboot, restart)

    async def scenario() -> None:
        await ground.runner.start()
        await ground.play(25 * 60.0)
        assert ground.known == []
        await ground.runner.stop()

    asyncio.run(scenario())


EVENTS = f"""{HOT}
- {{id: site.xid, title: An Xid, when: 'event("xid", code == 119)'}}
- {{id: site.silent, title: Silent, scope: node, when: 'node_state in ("down", "never")'}}
"""
XID = "{kind: event, nodes: n002, device: 1, code: 119, at: 2m}"
BOTH = [("n001", "nvidia0", True), ("n002", "nvidia1", True)]


@pytest.mark.parametrize("hours", [1, -1])
def test_a_hub_whose_clock_jumps_judges_on(tmp_path: Path, hours: int) -> None:
    ground = Ground(tmp_path, EVENTS, XID)

    async def scenario() -> None:
        await ground.runner.start()
        await ground.play(240.0)
        assert ground.active() == BOTH
        ground.clock.step_wall(hours * 3600.0)
        for _ in range(12):
            await ground.tick()
            # Nobody is called silent, and what is hot is as hot as before.
            assert ground.active()[:1] == OPEN
            assert [whom[:2] for whom in ground.active()] == [whom[:2] for whom in BOTH]
        await ground.play(30 * 60 - ground.elapsed_s)
        assert [is_open for *_, is_open in ground.active()] == [False, False]
        await ground.runner.stop()

    asyncio.run(scenario())


@pytest.mark.parametrize("by", ["1h", "-1h"])
def test_a_node_whose_clock_jumps_is_judged_on(tmp_path: Path, by: str) -> None:
    skews = (
        f"{{kind: clock_skew, nodes: {node}, by: {by}, at: 4m, back: 9m}}"
        for node in ("n001", "n002")
    )
    ground = Ground(tmp_path, EVENTS, XID, *skews)

    async def scenario() -> None:
        await ground.runner.start()
        await ground.play(230.0)
        assert ground.active() == BOTH
        await ground.play(8 * 60 - ground.elapsed_s)
        assert ground.active() == BOTH
        await ground.play(30 * 60 - ground.elapsed_s)
        assert ground.active() == [(*whom, False) for *whom, _ in BOTH]
        await ground.runner.stop()

    asyncio.run(scenario())
