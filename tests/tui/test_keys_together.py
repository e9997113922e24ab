"""Keys that arrive together, over a slow line or pasted, do what they do one after another."""

import asyncio

import pytest
from textual.widgets import Input

from accelwatch.tui.app import Dashboard
from support.dashboards.local import FedSource, Stage, board_of, node, on, running


@pytest.mark.parametrize(
    "keys",
    [
        ("slash", "x", "enter", "enter"),
        ("slash", "x", "enter", "escape"),
        ("colon", "T", "enter", "enter", "enter"),
        ("colon", "T", "enter", "escape"),
        ("colon", "zzz", "enter", "enter"),
        ("colon", "escape", "escape"),
        ("s", "enter", "enter"),
        ("w", "enter", "enter"),
        ("w", "q", "q"),
    ],
)
def test_a_dialog_that_was_left_is_not_left_again(keys: tuple[str, ...]) -> None:
    async def check(stage: Stage) -> None:
        await stage.press_together(*keys)
        assert stage.app.failure is None
        assert stage.screen_name in ("local", "device", "topology")

    on(check, count=1)


@pytest.mark.parametrize("size", [(120, 40), (40, 12)])
def test_a_command_is_typed_and_taken_in_one_go(size: tuple[int, int]) -> None:
    async def check(stage: Stage) -> None:
        before = stage.app.board.preferences.theme
        await stage.press_together("colon", *"theme", "enter")
        assert stage.screen_name == "local"
        assert stage.app.board.preferences.theme != before
        await stage.press_together("colon", *"topology", "enter")
        assert stage.screen_name == "topology"

    on(check, size=size)


def test_a_filter_is_typed_and_taken_in_one_go() -> None:
    async def check(stage: Stage) -> None:
        await stage.press_together("slash", *"qqqq", "enter")
        assert stage.screen_name == "local"
        assert stage.app.board.filter_text == "qqqq"

    on(check)


def test_what_is_taken_back_in_one_go_is_not_in_the_text() -> None:
    async def check(stage: Stage) -> None:
        await stage.press_together("slash", *"nvx", "backspace", *"idia3", "enter")
        assert stage.app.board.filter_text == "nvidia3"
        await stage.press_together("slash", "ctrl+u", *"nvidia4", "enter")
        assert stage.app.board.filter_text == "nvidia4"

    on(check)


def test_what_comes_after_enter_does_not_change_the_filter() -> None:
    async def check(stage: Stage) -> None:
        await stage.press_together("slash", *"nvidia3", "enter", "3", "0")
        assert stage.app.board.filter_text == "nvidia3"
        assert len(stage.app.board.devices) == 1

    on(check)


def test_what_is_typed_before_esc_does_not_filter() -> None:
    async def check(stage: Stage) -> None:
        await stage.press_together("slash", *"nvidia3", "escape")
        assert stage.app.board.filter_text == ""
        assert len(stage.app.board.devices) == 8

    on(check)


def test_a_choice_is_moved_to_and_taken_in_one_go() -> None:
    async def check(stage: Stage) -> None:
        await stage.press_together("4", "s", "up", "up", "up", "enter")
        assert stage.app.board.preferences.sort == "user"

    on(check)


def test_screens_are_opened_and_left_in_one_go() -> None:
    async def check(stage: Stage) -> None:
        await stage.press_together("down", "down", "3", "escape", "down", "4", "slash", *"ada")
        assert stage.app.screen.query_one(Input).value == "ada"
        assert stage.app.board.selected_id == "nvidia:3"

    on(check)


@pytest.mark.parametrize("key", ["colon", "s", "slash", "w", "3", "question_mark"])
@pytest.mark.parametrize("first", ["q", "ctrl+c"])
def test_keys_after_quit_do_nothing(first: str, key: str) -> None:
    async def go() -> Dashboard:
        async with running(FedSource(node(1)), board=board_of()) as stage:
            await stage.press_together(first, key)
        return stage.app

    app = asyncio.run(go())
    assert (app.failure, app.return_code) == (None, 0)


def test_a_key_is_text_while_something_is_typed_and_ctrl_c_quits() -> None:
    async def go() -> Dashboard:
        async with running(FedSource(node(1))) as stage:
            await stage.press_together("slash", "q")
            assert stage.app.screen.query_one(Input).value == "q"
            assert stage.app.is_running
            await stage.press_together("ctrl+c", "x")
        return stage.app

    app = asyncio.run(go())
    assert (app.failure, app.return_code) == (None, 0)


def test_an_entry_below_the_first_is_taken_in_one_go() -> None:
    async def check(stage: Stage) -> None:
        await stage.press_together("colon", *"processes", "down", "down", "enter")
        assert stage.app.board.preferences.sort == "user"

    on(check)
