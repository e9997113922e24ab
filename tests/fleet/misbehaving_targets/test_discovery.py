"""Target files that are half written, gone or nonsense: who was followed is followed on."""

import asyncio
import json
from pathlib import Path

import pytest

from accelwatch.base.clock import ManualClock
from fleet.misbehaving_targets.short_waits import START, simulation, ward


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_a_file_that_is_half_written_changes_nothing(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"targets.{suffix}"

    async def main() -> None:
        clock = ManualClock(wall=START)
        async with simulation(clock, 5) as simulated:
            first, second = (simulated.target(name) for name in simulated.names[3:])
            before = json.dumps([{"targets": [first], "labels": {"node": "n4", "rack": "r1"}}])
            after = json.dumps(
                [
                    {"targets": [first], "labels": {"node": "n4", "rack": "r2"}},
                    {"targets": [second], "labels": {"node": "n5"}},
                ]
            )
            file.write_text(before)
            async with ward(simulated, clock, files=(str(file),)) as running:
                await running.settle("n4")
                halves = [after[: len(after) * part // 8] for part in range(8)]
                for half in (*halves, "\0" * 100, "null", '{"targets": 1}', "[[[[", after[::-1]):
                    file.write_text(half)
                    await asyncio.sleep(0.06)  # longer than the hub waits between two looks
                    await running.beat(3)
                    assert set(running.hub.fleet.nodes) == set(running.healthy)
                await running.all_well()
                file.unlink()
                await asyncio.sleep(0.06)
                await running.beat(3)
                await running.all_well()
                file.write_text(after)
                await running.settle("n5")
                assert running.node("n4").labels == {"rack": "r2"}
                await running.all_well()

    asyncio.run(main())
