"""The header: tabs that can be clicked and stay when something is wrong."""

import asyncio
from pathlib import Path

import pytest

from accelwatch.tui.drawing.lines import plain, width_of
from accelwatch.tui.state.actions import numbered_screens
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.header import header, tab_at
from support.dashboards.fleets import FAULTS, FedFleet, FleetStage, fleet_view, following
from support.dashboards.local import FedSource, Stage, board_of, hung, lost, node, running, stale
from support.incidents.incident_documents import everything, fleet_with_incidents
from support.machines.composed import NOW

UNWELL = node(8, d1=lost(1), d3=lost(3), d5=hung(5), d6=stale(6))
WIDTHS = (40, 60, 80, 100, 120, 200)


def board_with(shot: object = UNWELL) -> Board:
    board = board_of()
    board.accept(shot)  # type: ignore[arg-type]  # a snapshot
    return board


def first(board: Board, width: int, screen: str = "local") -> str:
    return plain(header(board, width, 2, NOW, screen)[0])


@pytest.mark.parametrize("width", WIDTHS)
def test_every_tab_is_there_whatever_is_wrong(width: int) -> None:
    board = board_with()
    text = first(board, width)
    for key, _ in numbered_screens(fleet=False):
        assert f" {key} " in text, text
    assert "local" in text
    assert "✕" in text
    assert "◌" in text


@pytest.mark.parametrize("width", [110, 120, 200])
def test_tabs_keep_their_names_on_usual_terminals(width: int) -> None:
    text = first(board_with(), width)
    for key, name in numbered_screens(fleet=False):
        assert f"{key} {name}" in text, text


@pytest.mark.parametrize(("width", "word"), [(40, "✕2 "), (80, "2 lost"), (120, "2 lost")])
def test_states_are_words_where_there_is_room(width: int, word: str) -> None:
    assert word in first(board_with(), width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("screen", ["local", "device", "help", "settings"])
def test_the_line_fits_and_a_tab_is_where_it_is_drawn(width: int, screen: str) -> None:
    board = board_with()
    line = header(board, width, 2, NOW, screen)[0]
    assert width_of(line) == width
    text = plain(line)
    for key, name in numbered_screens(fleet=False):
        if f" {key} " in text:
            assert tab_at(board, width, NOW, screen, text.index(f" {key} ") + 1) == name
    assert tab_at(board, width, NOW, screen, 0) == ""
    assert tab_at(board, width, NOW, screen, width - 1) == ""


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 40), (200, 50)])
def test_a_click_on_a_tab_opens_its_screen(size: tuple[int, int]) -> None:
    async def go() -> None:
        async with running(FedSource(UNWELL), size) as stage:
            for key, name in (("4", "processes"), ("6", "doctor"), ("3", "device"), ("1", "local")):
                await click(stage, f" {key} ")
                assert stage.screen_name == name

    asyncio.run(go())


async def click(stage: Stage, word: str) -> None:
    """A click on a word of the header."""
    line = stage.text().splitlines()[0]
    await stage.pilot.click("#header", offset=(line.index(word) + 1, 0))
    await stage.pilot.pause()


def test_a_click_beside_the_tabs_or_on_the_present_one_does_nothing() -> None:
    async def go() -> None:
        async with running(FedSource(UNWELL)) as stage:
            await stage.pilot.click("#header", offset=(1, 0))
            await stage.pilot.click("#header", offset=(20, 1))
            await click(stage, " 1 ")
            assert stage.screen_name == "local"
            await stage.press("question_mark")
            await click(stage, " 4 ")
            assert stage.screen_name == "processes"

    asyncio.run(go())


@pytest.mark.parametrize("width", [80, 120])
def test_tabs_of_a_fleet_and_of_its_silent_node(width: int) -> None:
    async def check(stage: FleetStage) -> None:
        assert "2 fleet" in stage.text().splitlines()[0]
        await click(stage, " 1 ")
        assert stage.screen_name == "local"
        assert " 4 " in stage.text().splitlines()[0]
        await click(stage, " 2 ")
        assert stage.screen_name == "fleet"

    async def go() -> None:
        source = FedFleet(fleet_view(12, faults=FAULTS), UNWELL)
        async with following(source, (width, 30)) as stage:
            await check(stage)

    asyncio.run(go())


@pytest.mark.parametrize("width", range(60, 131, 5))
def test_names_of_tabs_give_way_one_at_a_time_from_the_right(width: int) -> None:
    board = board_of()
    board.accept(node(8))
    names = [name for _, name in numbered_screens(fleet=False) if name != "local"]
    text = first(board, width)
    shown = [name in text for name in names]
    assert shown == sorted(shown, reverse=True)
    assert "local" in text
    if not all(shown):
        missing = names[shown.index(False)]
        assert width_of(header(board, width, 2, NOW, "local")[0]) == width
        free = len(text) - len(" ".join(text.split()))
        assert free - 2 * len(names) < len(missing) + 16


def test_the_name_of_the_incidents_stays_longest() -> None:
    async def go() -> None:
        view = fleet_with_incidents(*everything())
        async with following(FedFleet(view), (80, 24)) as stage:
            head = stage.text().splitlines()[0]
            assert "5 incidents" in head
            assert "7 events" not in head

    asyncio.run(go())


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_a_recording_bears_a_sign_on_every_terminal(width: int, ascii_only: bool) -> None:
    board = board_of(ascii_only=ascii_only)
    board.accept(UNWELL)
    sign = ">" if ascii_only else "\u25b6"
    assert sign not in first(board, width)
    board.replayed = "night.awz"
    text = first(board, width)
    assert f" {sign} " in text
    assert ("replay night.awz" in text) == (width >= 60)
    if width >= 60:
        assert (
            dict(header(board, width, 2, NOW, "local")[0])[f" {sign} replay night.awz "]
            == "caution"
        )


def test_screens_without_a_number_are_tabs_where_there_is_room() -> None:
    assert "u usage" in first(board_with(node(2)), 200)
    assert "u usage" not in first(board_with(node(2)), 80)
    assert "L topology" not in first(board_with(node(2)), 200)  # nothing here to read it from
    board = board_with(node(2))
    board.root = Path("/")
    assert "L topology  u usage" in first(board, 200)
    assert "L topology" not in first(board, 200, "topology")

    async def go() -> None:
        async with running(FedSource(node(2)), (200, 50)) as stage:
            await click(stage, " u ")
            assert stage.screen_name == "usage"

    asyncio.run(go())
