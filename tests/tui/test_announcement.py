"""What a demonstration says of what comes next."""

import pytest

from accelwatch.tui.drawing.glyphs import UNICODE
from accelwatch.tui.drawing.lines import plain, width_of
from accelwatch.tui.fleet.announcement import announcement
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.theme.preferences import Preferences
from support.dashboards.fleets import FedFleet, FleetStage, fleet_view, on
from support.machines.composed import NOW

EVENTS = ((108.0, "a device falls off the bus"), (118.0, "a driver call hangs"))


@pytest.mark.parametrize(
    ("now", "text"),
    [
        (100.0, "in 8 s a device falls off the bus"),
        (107.0, "in 1 s a device falls off the bus"),
        (108.0, "now: a device falls off the bus"),
        (112.9, "now: a device falls off the bus"),
        (113.0, "in 5 s a driver call hangs"),
        (122.0, "now: a driver call hangs"),
        (130.0, "x goes there  w says why"),
        (149.0, ""),
    ],
)
def test_the_next_thing_is_announced_and_shown_when_it_happens(now: float, text: str) -> None:
    board = FleetBoard(Preferences(), lambda: 0.0, "demo")
    board.demo_events = EVENTS
    line = announcement(board, now, 90, UNICODE)
    assert text in plain(line)
    assert bool(line) == bool(text)
    assert width_of(line) in (0, 90)
    assert ("w says why" in plain(line)) == bool(text)


def test_outside_a_demonstration_nothing_is_announced() -> None:
    board = FleetBoard(Preferences(), lambda: 0.0, "hub")
    assert announcement(board, 100.0, 90, UNICODE) == []


def test_the_line_stands_below_the_header_until_all_is_over() -> None:
    async def check(stage: FleetStage) -> None:
        assert "falls off" not in stage.text()
        assert stage.app.fleet_controller is not None
        stage.app.fleet_controller.board.demo_events = ((NOW + 8, "a device falls off the bus"),)
        await stage.wait(1)
        assert "in 7 s a device falls off the bus" in stage.text().splitlines()[2]
        await stage.wait(7)
        assert "now: a device falls off the bus" in stage.text().splitlines()[2]
        await stage.wait(40)
        assert "falls off" not in stage.text()

    on(check, source=FedFleet(fleet_view(3)))


def test_before_the_first_picture_it_says_what_is_being_started() -> None:
    async def check(stage: FleetStage) -> None:
        assert "no picture of the fleet yet" in stage.text()
        assert stage.app.fleet_controller is not None
        stage.app.fleet_controller.board.starting = "starting 24 simulated nodes ..."
        stage.app.show()
        await stage.pilot.pause()
        assert "starting 24 simulated nodes ..." in stage.text()

    on(check, source=FedFleet(None))


@pytest.mark.parametrize("width", range(50, 90))
def test_no_key_is_shown_in_part(width: int) -> None:
    board = FleetBoard(Preferences(), lambda: 0.0, "demo")
    board.demo_events = EVENTS
    shown = plain(announcement(board, 108.0, width, UNICODE)).rstrip()
    assert shown.endswith(("·", "goes there", "says why", "m map"))
