"""The line in which a filter is typed: it takes effect at once, completes names, knows earlier ones."""

import asyncio
from collections.abc import Callable

import pytest
from textual.widgets import Input

from accelwatch.tui.screens.dialogs.filter_line import completed
from accelwatch.tui.screens.dialogs.prompt import PromptScreen
from accelwatch.tui.state.board import MOST_FILTERS
from support.dashboards.fleets import FleetStage
from support.dashboards.fleets import on as on_fleet
from support.dashboards.local import Stage, board_of, on
from support.processes.waiting import GUARD_S

NAMES = ["temp", "power_watts", "power_limit_watts", "present"]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("power_w", "power_watts"),
        ("temp > 8 and po", "temp > 8 and power_watts"),
        ("power_watts", None),
        ("p", None),
        ("nix", None),
        ("temp > 8", None),
        ("", None),
    ],
)
def test_the_last_word_is_completed(text: str, whole: str | None) -> None:
    assert completed(text, NAMES) == whole


async def typed(stage: Stage, text: str) -> None:
    await stage.press(*(" " if one == " " else one for one in text))


def line(stage: Stage) -> Input:
    return stage.app.screen.query_one(Input)


def test_a_filter_takes_effect_while_it_is_typed_and_esc_takes_it_back() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("slash")
        await typed(stage, "nvidia3")
        assert len(stage.app.board.devices) == 1
        assert "1 of 8 devices" in stage.text()
        await stage.press("escape")
        assert len(stage.app.board.devices) == 8
        assert stage.app.board.filter_text == ""
        assert stage.app.board.typed_filters == {}

    on(check)


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 16), (40, 12)])
@pytest.mark.parametrize(
    ("text", "end"),
    [
        ('state == "hot"', "unresponsive, suspended, excluded"),
        ("temperature_celsius", "as in temperature_celsius > 85"),
    ],
)
def test_what_is_wrong_is_shown_to_its_end(text: str, end: str, size: tuple[int, int]) -> None:
    async def check(stage: Stage) -> None:
        await stage.press("slash")
        await typed(stage, text)
        assert end in " ".join(stage.text().split())
        assert line(stage).value == text
        assert stage.line_with(text) in stage.text().splitlines()[-6:]
        await stage.press("ctrl+u")
        assert "8 of 8 devices" in stage.text().splitlines()[-1]

    on(check, size=size)


@pytest.mark.parametrize(("height", "lines"), [(12, 4), (7, 3), (5, 1), (2, 1)])
def test_what_is_too_long_even_for_all_lines_ends_with_an_ellipsis(height: int, lines: int) -> None:
    async def check(stage: Stage) -> None:
        words = " ".join(f"word{n}" for n in range(60))
        prompt = PromptScreen(stage.app.board, "Go to", "", "hint", lambda _: words)
        stage.app.push_screen(prompt)
        await typed(stage, "x")
        shown = stage.text().splitlines()
        below = [row for row in shown if "word" in row]
        assert len(below) == lines
        assert below == shown[-lines:]
        assert below[-1].rstrip().endswith("…")
        assert all(not row.rstrip().endswith("…") for row in below[:-1])

    on(check, size=(40, height))


def test_a_hint_that_is_cut_beside_the_count_says_so() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("slash")
        await typed(stage, "nv")
        last = stage.text().splitlines()[-1]
        assert last.startswith(" 8 of 8 devices  plain text")
        assert last.rstrip().endswith("…")

    on(check, size=(40, 12))


def test_what_is_wrong_is_wrapped_anew_when_the_terminal_changes() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("slash")
        await typed(stage, "temperature_celsius")
        for width in (40, 120):
            await stage.pilot.resize_terminal(width, 24)
            await stage.pilot.pause()
            assert "as in temperature_celsius > 85" in " ".join(stage.text().split())
        assert "column 1" in stage.text().splitlines()[-1]

    on(check, size=(80, 24))


def test_what_is_wrong_yet_changes_nothing() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("slash")
        await typed(stage, "index<2")
        assert "2 of 8 devices" in stage.text()
        await typed(stage, "<")
        assert len(stage.app.board.devices) == 2
        assert "of 8 devices" not in stage.text()

    on(check)


def test_a_name_is_completed_with_right() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("slash")
        await typed(stage, "power_w")
        await stage.pilot.pause(0.1)
        await stage.press("right")
        assert line(stage).value == "power_watts"

    on(check)


def test_earlier_filters_come_back_with_up_and_the_present_one_with_down() -> None:
    async def check(stage: Stage) -> None:
        for text in ("nvidia1", "nvidia2", "nvidia1"):
            await stage.press("slash", "ctrl+u")
            await typed(stage, text)
            await stage.press("enter")
        assert stage.app.board.typed_filters["devices"] == ["nvidia2", "nvidia1"]
        await stage.press("slash")
        seen = []
        for key in ("up", "up", "up", "down", "down", "down"):
            await stage.press(key)
            seen.append(line(stage).value)
        assert seen == ["nvidia1", "nvidia2", "nvidia2", "nvidia1", "nvidia1", "nvidia1"]

    on(check)


def test_processes_have_their_own_filter_and_count() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("4", "slash")
        await typed(stage, "ada")
        kept, whole = stage.app.processes.kept, stage.app.processes.total
        assert 0 < kept < whole
        assert f"{kept} of {whole} processes" in stage.text()
        await stage.press("enter", "escape")
        assert stage.app.board.typed_filters["processes"] == ["ada"]

    on(check)


def test_a_fleets_filters_are_remembered() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("slash")
        await typed(stage, "n002")
        await stage.press("enter", "slash", "up")
        assert line(stage).value == "n002"
        await stage.press("escape")
        assert stage.app.board.typed_filters["fleet"] == ["n002"]

    on_fleet(check)


def test_so_many_are_kept_and_nothing_empty() -> None:
    board = board_of()
    for number in range(MOST_FILTERS + 5):
        board.remember_filter("devices", f"n{number}")
    board.remember_filter("devices", "  ")

    kept = board.typed_filters["devices"]
    assert (len(kept), kept[-1]) == (MOST_FILTERS, f"n{MOST_FILTERS + 4}")


async def until(stage: Stage, good: Callable[[], bool]) -> None:
    async with asyncio.timeout(GUARD_S):
        while not good():
            await stage.pilot.pause(0.01)


def test_a_fleet_is_filtered_while_it_is_typed_and_esc_takes_it_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("accelwatch.tui.commands.fleet.filter_commands._TYPING_S", 0.01)

    async def check(stage: FleetStage) -> None:
        await stage.press("slash")
        await typed(stage, "n002")
        controller = stage.app.fleet_controller
        assert controller is not None
        await until(stage, lambda: controller.board.shown_nodes == 1)
        await until(stage, lambda: "1 of 12 nodes" in stage.text())
        await stage.press("escape")
        assert controller.board.filter_text == ""
        assert controller.board.shown_nodes == 12

    on_fleet(check)


@pytest.mark.parametrize(("pause_s", "queried_at_once"), [(0.01, True), (3600.0, False)])
def test_the_hub_is_queried_once_nothing_is_typed_any_more(
    pause_s: float, queried_at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accelwatch.tui.commands.fleet.filter_commands._TYPING_S", pause_s)

    async def check(stage: FleetStage) -> None:
        controller = stage.app.fleet_controller
        assert controller is not None
        queried: list[str] = []
        controller.source.set_filter = queried.append  # type: ignore[method-assign,assignment]
        await stage.press("slash")
        await typed(stage, "index<20")
        if queried_at_once:
            await until(stage, lambda: "index<20" in queried)
            await until(stage, lambda: "asking the hub" in stage.text())
        else:
            assert queried == []
            await stage.press("enter")
            assert queried == ["index<20"]

    on_fleet(check)
