"""What is told in the place of the keys makes room for them again, on whichever screen."""

import asyncio

import pytest

from accelwatch.tui.app import Dashboard
from support.dashboards.fleets import FedFleet, fleet_view, following
from support.dashboards.local import FedSource, Stage, node, running


@pytest.fixture(autouse=True)
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages go when the test says so."""
    monkeypatch.setattr(Dashboard, "MESSAGE_S", 3600.0)


def foot(stage: Stage) -> str:
    return stage.text().splitlines()[-1]


async def expired(stage: Stage) -> None:
    """Its time is over."""
    stage.app.unsay()
    await stage.pilot.pause()


@pytest.mark.parametrize(
    "between",
    [
        [],
        ["slash", "escape"],
        ["slash"],
        ["4"],
        ["4", "K"],
        ["question_mark"],
    ],
)
def test_a_message_goes_from_every_screen_that_showed_it(between: list[str]) -> None:
    async def go() -> None:
        async with running(FedSource(node())) as stage:
            await stage.press("c")
            assert "density" in foot(stage)
            await stage.press(*between)
            await expired(stage)
            await stage.press(*["escape"] * len(between))
            assert stage.screen_name == "local"
            assert "q quit" in foot(stage)
            assert "density" not in stage.text()

    asyncio.run(go())


def test_a_message_shown_in_a_node_is_not_there_back_in_the_fleet() -> None:
    async def go() -> None:
        async with following(FedFleet(fleet_view(3))) as stage:
            await stage.press("T", "enter")
            await expired(stage)
            await stage.press("escape")
            assert stage.screen_name == "fleet"
            assert "q quit" in foot(stage)

    asyncio.run(go())


def test_a_message_goes_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dashboard, "MESSAGE_S", 0.01)

    async def go() -> None:
        async with running(FedSource(node())) as stage:
            stage.app.show_message("something")
            while stage.app.board.message:
                await asyncio.sleep(0.01)
            await stage.pilot.pause()
            assert "q quit" in foot(stage)

    asyncio.run(go())
