"""What a hub's /metrics has for the alerts on outages, the journal and the evaluation of rules."""

import asyncio
from pathlib import Path

import pytest

from accelwatch.config.model import RuleSettings
from accelwatch.judging.runner import RuleRunner
from hub_peers import Running, hub
from store_servers import free_port

RULES = RuleSettings(packs=("storage",))
KEPT, LATE = "accel_fleet_journal_kept", "accel_fleet_evaluation_late_seconds"


async def _values(one: Running, *names: str) -> list[tuple[str, float]]:
    lines = (await one.get("/metrics")).splitlines()
    found = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return [(series, float(value)) for series, _, value in found if series.startswith(names)]


@pytest.mark.parametrize(("nodes", "part_of_it"), [(2, 0), (3, 3)])
def test_three_nodes_that_do_not_answer_are_an_outage(nodes: int, part_of_it: int) -> None:
    targets = sorted(f"127.0.0.1:{free_port()}" for _ in range(nodes))

    async def main() -> None:
        async with hub(*targets) as one:
            fleet = one.hub.fleet
            await one.until(lambda: sum(bool(n.why_silent) for n in fleet.nodes.values()) == nodes)
            wanted = [(f'accel_fleet_target_outage{{node="{node}"}}', 1.0) for node in targets]
            found = await _values(one, "accel_fleet_target_outage")
            assert sorted(found) == wanted[:part_of_it]

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
