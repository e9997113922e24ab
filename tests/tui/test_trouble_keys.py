"""While something is wrong the line of keys begins with it, and with the keys that tell more."""

import asyncio

import msgspec
import pytest

from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.views.trouble_hint import trouble_hint
from support.dashboards.fleets import FAULTS, FedFleet, FleetStage, fleet_view, on
from support.dashboards.local import FedSource, board_of, hung, lost, node, running


def footer_of(shot: Snapshot, *keys: str, boxes: bool = False, width: int = 120) -> str:
    async def go() -> str:
        board = board_of()
        board.boxes = list if boxes else None
        async with running(FedSource(shot), (width, 30), board=board) as stage:
            await stage.press(*keys)
            return stage.text().splitlines()[-1]

    return asyncio.run(go())


@pytest.mark.parametrize("keys", [(), ("3",)])
def test_the_keys_start_with_the_worst_device(keys: tuple[str, ...]) -> None:
    foot = footer_of(node(8, d5=hung(5), d6=lost(6)), *keys)
    assert foot.startswith(" ✕ nvidia6 lost: x next problem   w why   q quit")
    assert foot.count(" w why ") == 1


def test_the_black_box_stands_there_where_this_machine_has_one() -> None:
    assert " w why   B black box   q quit" in footer_of(node(8, d5=hung(5)), boxes=True)
    assert "B black box" not in footer_of(node(8, d5=hung(5)))
    assert "B black box" not in footer_of(node(8), boxes=True)


def test_where_all_is_well_the_keys_are_the_usual_ones() -> None:
    assert footer_of(node(8)).startswith(" q quit   ? help   : commands")


def test_other_screens_have_their_own_keys_first() -> None:
    assert footer_of(node(8, d6=lost(6)), "6").startswith(" q quit")
    assert trouble_hint(board_of(), "events") == []


def test_the_keys_follow_what_happens() -> None:
    async def go() -> None:
        source = FedSource(node(8))
        async with running(source, (100, 30)) as stage:
            assert stage.text().splitlines()[-1].startswith(" q quit")
            source.shot = node(8, d2=hung(2))
            stage.app.pull()
            await stage.pilot.pause()
            assert "◌ nvidia2 hung: x next problem" in stage.text().splitlines()[-1]
            source.shot = node(8)
            stage.app.pull()
            await stage.pilot.pause()
            assert stage.text().splitlines()[-1].startswith(" q quit")

    asyncio.run(go())


@pytest.mark.parametrize(
    ("faults", "text"),
    [
        (FAULTS, " n003 down: x next problem   w why "),
        ({"n002/3": "lost"}, " ✕ n002 nvidia3 lost: x next problem"),
        ({"n002/3": "lost", "n002/5": "lost"}, " ✕ n002 2 lost: x next problem"),
        ({"n005": "stale"}, " n005 stale: x next problem"),
        ({}, " q quit"),
    ],
)
def test_of_a_fleet_it_is_the_worst_node(faults: dict[str, str], text: str) -> None:
    async def check(stage: FleetStage) -> None:
        assert stage.text().splitlines()[-1].startswith(text)

    on(check, source=FedFleet(fleet_view(faults=faults)))


def test_a_click_on_a_key_behind_the_trouble_does_what_it_says() -> None:
    async def check(stage: FleetStage) -> None:
        foot = stage.text().splitlines()[-1]
        await stage.pilot.click("#footer", offset=(foot.index("x next") + 3, 0))
        await stage.pilot.pause()
        assert stage.app.screen.selected_node == "n002"  # type: ignore[attr-defined]  # a FleetScreen

    on(check, source=FedFleet(fleet_view(faults={"n002/3": "lost"})))


def test_a_long_name_leaves_room_for_the_keys() -> None:
    view = node(1, d0=lost(0))
    device = msgspec.structs.replace(view.devices[0].device, name="gpu-" + "x" * 90)
    shot = msgspec.structs.replace(
        view, devices=(msgspec.structs.replace(view.devices[0], device=device),)
    )
    assert "w why" in footer_of(shot, width=80)
