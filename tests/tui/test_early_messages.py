"""What comes before a screen is on the terminal does not end the program."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.events import Resize
from textual.geometry import Size
from textual.screen import Screen

from accelwatch.tui.app import Dashboard
from accelwatch.tui.context import DashboardContext, View
from accelwatch.tui.opening import OPENINGS, Opening
from accelwatch.tui.screens.process import process_screen
from accelwatch.tui.state.actions import ACTIONS
from support.dashboards.fleets import FAULTS, FedFleet, fleet_view, following
from support.dashboards.local import FedSource, board_of, node


def _process(app: DashboardContext) -> Screen[None]:
    processes = app.board.devices[0].reading.processes or ()
    return process_screen(app.board, processes[0], app.clock.wall, local=False)


SCREENS: dict[str, Opening] = {**OPENINGS, "process": _process}


def _resize(screen: View) -> None:
    screen.on_resize(Resize(Size(80, 24), Size(80, 24)))  # type: ignore[attr-defined]  # a Screen


def _keys(screen: View) -> None:
    for action in ACTIONS:
        screen.perform(action.id)


MESSAGES: dict[str, Callable[[View], None]] = {
    "news": lambda screen: screen.show(),
    "a second": lambda screen: screen.show_age(),
    "a resize": _resize,
    "keys": _keys,
}


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_that_is_not_mounted_yet_bears_everything(
    name: str, message: str, tmp_path: Path
) -> None:
    async def go() -> None:
        source = FedFleet(fleet_view(12, faults=FAULTS))
        async with following(source, path=tmp_path / "settings.yaml") as stage:
            app = stage.app
            await stage.press("enter")
            app.board.accept(node())
            app.processes.update()
            screen = SCREENS[name](app)
            assert isinstance(screen, View)
            app.push_screen(screen)
            assert not screen.is_mounted
            MESSAGES[message](screen)
            await stage.pilot.pause()
            assert screen.is_mounted
            assert app.is_running
            assert stage.text().strip()

    asyncio.run(go())


def test_a_program_without_any_screen_bears_them_too() -> None:
    """Timers may fire while the screens are taken down at the end."""
    app = Dashboard(board_of(), FedSource(node()))
    app.snapshot_feed.second()
    app.show()
    app.pull()
    assert app.view is None
    assert app.process_list is None
    assert app.chosen_process is None


def test_a_second_that_comes_between_a_push_and_the_mount_is_borne(tmp_path: Path) -> None:
    async def go() -> None:
        source = FedFleet(fleet_view(12, faults=FAULTS))
        async with following(source, path=tmp_path / "settings.yaml") as stage:
            for name in OPENINGS:
                stage.app.push_screen(OPENINGS[name](stage.app))
                assert stage.app.view is None
                stage.app.snapshot_feed.second()
                await stage.pilot.pause()
                assert stage.app.view is stage.app.screen

    asyncio.run(go())
