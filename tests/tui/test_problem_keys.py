"""`x`: the next thing that is wrong."""

import asyncio

import pytest

from accelwatch.tui.commands.problem_commands import following
from support.dashboards.fleets import FedFleet, FleetStage, fleet_view, on
from support.dashboards.local import FedSource, hung, lost, node, running


@pytest.mark.parametrize(("present", "index"), [(None, 2), (0, 2), (2, 5), (4, 5), (5, 2), (7, 2)])
def test_the_first_index_after_the_present_one_and_round(present: int | None, index: int) -> None:
    assert following([2, 5], present) == index


@pytest.mark.parametrize("screen", ["1", "3"])
def test_devices_that_are_wrong_are_gone_through(screen: str) -> None:
    async def go() -> None:
        async with running(FedSource(node(8, d2=lost(2), d5=hung(5)))) as stage:
            chosen = []
            await stage.press(screen)
            for _ in range(3):
                await stage.press("x")
                chosen.append(stage.app.board.selected_id)
            devices = stage.app.board.devices
            assert chosen == [devices[n].device.id for n in (2, 5, 2)]

    asyncio.run(go())


def test_where_nothing_is_wrong_the_screen_says_so() -> None:
    async def go() -> None:
        async with running(FedSource(node(2))) as stage:
            before = stage.app.board.selected_id
            await stage.press("x")
            assert "nothing is wrong here" in stage.text()
            assert stage.app.board.selected_id == before

    asyncio.run(go())


def test_nodes_of_the_list_are_gone_through_in_its_order() -> None:
    view = fleet_view(6, faults={"n002/1": "lost", "n004": "down"})

    async def check(stage: FleetStage) -> None:
        seen = []
        for _ in range(3):
            seen.append(stage.app.screen.selected_node)  # type: ignore[attr-defined]
            await stage.press("x")
        assert seen == ["n004", "n002", "n004"]

    on(check, source=FedFleet(view))


def test_nodes_of_the_map_are_gone_through_by_name() -> None:
    view = fleet_view(6, faults={"n002/1": "lost", "n004": "down"})

    async def check(stage: FleetStage) -> None:
        await stage.press("m", "home")
        seen = []
        for _ in range(3):
            await stage.press("x")
            seen.append(stage.app.screen.selected_node)  # type: ignore[attr-defined]
        assert seen == ["n002", "n004", "n002"]

    on(check, source=FedFleet(view))


def test_a_fleet_on_which_nothing_is_wrong_says_so() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("x")
        assert "nothing is wrong here" in stage.text()

    on(check, source=FedFleet(fleet_view(2)))
