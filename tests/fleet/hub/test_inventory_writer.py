"""A folder that another hub had, or that was full, is kept once it can be: nothing meanwhile is lost."""

import asyncio
import os
from pathlib import Path

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.fleet.hub import hub as hub_module
from accelwatch.fleet.state.inventory.file import FILE, Changes, Expected, InventoryFile
from accelwatch.fleet.state.inventory.opening import Opened, open_inventory
from accelwatch.fleet.state.inventory.writer import InventoryWriter
from fleet.misbehaving_targets.short_waits import START, simulation, ward
from support.fleet.hub_sources import until
from support.machines import composed as machines

FIRST, SECOND = machines.device(0), machines.device(1)


def node() -> Expected:
    return Expected(first_seen=1.0, last_seen=2.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An inventory that knows a node with a device."""
    file = InventoryFile(tmp_path)
    file.write(Changes(updated={"n1": node()}, added=[("n1", FIRST, 1.0)]))
    file.close()
    return tmp_path


def ended(opened: Opened) -> None:
    opened.file.close()
    assert opened.lock is not None
    os.close(opened.lock)


def kept(folder: Path) -> dict[str, list[str]]:
    """The devices that are expected, by node, as the next hub would know them."""
    opened = open_inventory(folder)
    devices = {name: sorted(one.devices) for name, one in opened.expected.items()}
    ended(opened)
    return devices


def test_changes_wait_for_the_folder_and_are_then_written(folder: Path) -> None:
    async def main() -> None:
        other = open_inventory(folder)
        writer = InventoryWriter(folder)
        writer.changes.updated["n2"] = node()
        await writer.flush()
        assert await writer.open_again() == {}
        assert (writer.owns_folder, len(writer.problems)) == (False, 1)
        other.file.write(Changes(updated={"n3": node()}, added=[("n3", SECOND, 1.0)]))
        ended(other)
        assert sorted(await writer.open_again()) == ["n1", "n3"]
        assert (writer.owns_folder, writer.problems) == (True, ())
        assert await writer.open_again() == {}
        await writer.flush()
        writer.close()

    asyncio.run(main())
    assert kept(folder) == {"n1": [FIRST.id], "n2": [], "n3": [SECOND.id]}


@pytest.mark.parametrize(
    ("changes", "known"),
    [
        (Changes(removed=[("n1", FIRST.id)]), {"n1": []}),
        (Changes(removed=[("n1", SECOND.id)]), {"n1": [FIRST.id]}),
        (Changes(removed=[("n9", FIRST.id)]), {"n1": [FIRST.id]}),
        (Changes(forgotten=["n1"]), {}),
    ],
)
def test_what_was_acknowledged_meanwhile_does_not_come_back(
    folder: Path, changes: Changes, known: dict[str, list[str]]
) -> None:
    async def main() -> None:
        other = open_inventory(folder)
        writer = InventoryWriter(folder)
        writer.changes = changes
        ended(other)
        expected = await writer.open_again()
        assert {name: list(one.devices) for name, one in expected.items()} == known
        await writer.flush()
        writer.close()

    asyncio.run(main())
    assert kept(folder) == known


def test_without_a_folder_nothing_is_tried() -> None:
    async def main() -> None:
        writer = InventoryWriter(None)
        assert await writer.open_again() == {}
        writer.changes.updated["n1"] = node()
        await writer.flush()
        assert not writer.changes
        writer.close()

    asyncio.run(main())


def test_a_folder_whose_file_cannot_be_opened_stays_ours_until_it_can(folder: Path) -> None:
    async def main() -> None:
        (folder / FILE).rename(folder / "aside")
        (folder / FILE).mkdir()
        writer = InventoryWriter(folder)
        assert (writer.owns_folder, len(writer.problems)) == (True, 1)
        assert await writer.open_again() == {}
        (folder / FILE).rmdir()
        (folder / "aside").rename(folder / FILE)
        assert list(await writer.open_again()) == ["n1"]
        assert writer.problems == ()
        writer.close()

    asyncio.run(main())


def test_a_hub_keeps_the_folder_of_one_that_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "_FLUSH_EVERY_S", 0.02)
    monkeypatch.setattr(hub_module, "_OPEN_AGAIN_EVERY", 2)

    async def main() -> None:
        clock = ManualClock(wall=START)
        async with simulation(clock, 3) as simulated:
            async with ward(simulated, clock, state_dir=tmp_path) as first:
                second = ward(simulated, clock, healthy=2, state_dir=tmp_path)
                running = await second.__aenter__()
                assert "another hub" in (await running.get("/v1/fleet"))["problems"][0]
                await first.hub.fleet.flush()
            fleet = running.hub.fleet
            await until(lambda: fleet.owns_folder and fleet.problems == ())
            await running.all_well()
            assert len(fleet.nodes) == 3, "what the first has found is expected"
            await second.__aexit__(None, None, None)

    asyncio.run(main())
    assert len(kept(tmp_path)) == 3
