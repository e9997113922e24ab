"""What a hub's /metrics has for the alerts on outages, the journal and the evaluation of rules."""

import asyncio
import contextlib
import re
from pathlib import Path

import msgspec
import pytest

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.names import SPEAKING
from support.fleet.hub_peers import Running, agent, hub
from support.servers.ports import free_port

RULES = RuleSettings(packs=("storage",))
OUTAGE = "accel_fleet_target_outage"
KEPT, LATE = "accel_fleet_journal_kept", "accel_fleet_evaluation_late_seconds"


async def _values(one: Running, *names: str) -> list[tuple[str, float]]:
    lines = (await one.get("/metrics")).splitlines()
    found = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return [(series, float(value)) for series, _, value in found if series.startswith(names)]


def labels_of(series: str) -> dict[str, str]:
    return dict(re.findall(r'(\w+)="([^"]*)"', series))


@pytest.mark.parametrize(("nodes", "part_of_it"), [(2, 0), (3, 3)])
def test_three_nodes_that_stop_answering_are_an_outage(nodes: int, part_of_it: int) -> None:
    async def main() -> None:
        async with contextlib.AsyncExitStack() as stack:
            rack = await stack.enter_async_context(contextlib.AsyncExitStack())
            targets = [(await rack.enter_async_context(agent())).address for _ in range(nodes)]
            one = await stack.enter_async_context(hub(*targets))
            for target in targets:
                await one.devices(target, 8)
            await rack.aclose()
            fleet = one.hub.fleet
            fleet.thresholds = msgspec.structs.replace(fleet.thresholds, slow_s=0.01, stale_s=0.02)
            await one.until(lambda: all(n.why_silent for n in fleet.nodes.values()))
            for node in fleet.nodes.values():
                for source in node.sources.values():
                    source.interval_s = 0.001
            await one.until(
                lambda: all(fleet.state_of(n) not in SPEAKING for n in fleet.nodes.values())
            )
            found = await _values(one, OUTAGE)
            shown = [labels_of(series) for series, value in found if value == 1.0]
            assert sorted(labels["node"] for labels in shown) == sorted(targets)[:part_of_it]
            assert len({labels["since"] for labels in shown}) == min(part_of_it, 1)

    asyncio.run(main())


def test_nodes_that_never_answered_are_no_outage() -> None:
    targets = [f"127.0.0.1:{free_port()}" for _ in range(3)]

    async def main() -> None:
        async with hub(*targets) as one:
            fleet = one.hub.fleet
            await one.until(lambda: all(n.why_silent for n in fleet.nodes.values()))
            assert await _values(one, OUTAGE) == []
            assert len(await _values(one, "accel_fleet_target_up")) == 3

    asyncio.run(main())


def test_journal_and_evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(rules: RuleSettings, folder: Path | None) -> dict[str, float]:
        async with hub(rules=rules, state_dir=folder) as one:
            return dict(await _values(one, KEPT, LATE))

    assert asyncio.run(main(RuleSettings(), tmp_path)) == {}
    assert asyncio.run(main(RULES, tmp_path)) == {KEPT: 1.0, LATE: 0.0}
    monkeypatch.setattr(RuleRunner, "late_s", 45.0)
    (tmp_path / "journal.sqlite").write_bytes(b"")
    assert asyncio.run(main(RULES, tmp_path)) == {KEPT: 0.0, LATE: 45.0}
    assert asyncio.run(main(RULES, None)) == {LATE: 45.0}
