"""Every key does what the table says, on a running dashboard."""

import asyncio
import json
from pathlib import Path

import pytest

from accelwatch.tui.screens.local import LocalScreen
from accelwatch.tui.state.actions import ACTIONS
from support.dashboards.local import FedSource, Stage, node, on, running


@pytest.mark.parametrize("key", ["q", "ctrl+c", "f10"])
def test_quit_keys_end_the_program_and_the_source(key: str) -> None:
    source = FedSource(node())

    async def go() -> None:
        async with running(source) as stage:
            await stage.pilot.press(key)
        assert stage.app.return_code == 0

    asyncio.run(go())
    assert source.ended


def test_quit_works_while_something_is_typed() -> None:
    source = FedSource(node())

    async def go() -> None:
        async with running(source) as stage:
            await stage.press("slash", "q")
            assert stage.screen_name == "FilterScreen"
            await stage.pilot.press("ctrl+c")
        assert source.ended

    asyncio.run(go())


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        (["1"], "local"),
        (["3"], "device"),
        (["4"], "processes"),
        (["6"], "doctor"),
        (["7"], "events"),
        (["L"], "topology"),
        (["u"], "usage"),
        (["question_mark"], "help"),
        (["f1"], "help"),
        (["f2"], "settings"),
        (["tab"], "device"),
        (["tab", "tab"], "processes"),
        (["tab", "tab", "tab"], "doctor"),
        (["tab", "tab", "tab", "tab"], "events"),
        (["tab"] * 5, "local"),
        (["shift+tab"], "events"),
        (["enter"], "device"),
        (["3", "escape"], "local"),
        (["4", "6", "1"], "local"),
        (["escape", "escape"], "local"),
    ],
)
def test_keys_lead_to_screens(keys: list[str], name: str) -> None:
    async def check(stage: Stage) -> None:
        await stage.press(*keys)
        assert stage.screen_name == name
        assert stage.app.is_running

    on(check)


@pytest.mark.parametrize(
    ("keys", "selected"),
    [
        (["down"], "nvidia:1"),
        (["j", "j"], "nvidia:2"),
        (["down", "up"], "nvidia:0"),
        (["j", "k"], "nvidia:0"),
        (["end"], "nvidia:7"),
        (["G"], "nvidia:7"),
        (["G", "g"], "nvidia:0"),
        (["end", "home"], "nvidia:0"),
        (["right", "right", "left"], "nvidia:1"),
        (["pagedown"], "nvidia:7"),
        (["pagedown", "pageup"], "nvidia:0"),
        (["3", "right"], "nvidia:1"),
    ],
)
def test_moving_selects_devices(keys: list[str], selected: str) -> None:
    async def check(stage: Stage) -> None:
        await stage.press(*keys)
        assert stage.app.board.selected_id == selected

    on(check)


def test_below_the_last_device_come_the_processes_and_back() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("end", "down")
        assert stage.app.chosen_process is not None
        await stage.press("up")
        assert stage.app.chosen_process is None

    on(check)


def test_the_heat_grid_is_moved_in_by_cells_and_lines() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("right")
        assert stage.app.board.selected_id == "nvidia:1"
        await stage.press("down", "left")
        index = int(stage.app.board.selected_id.split(":")[1])
        assert index > 5
        await stage.press("end")
        assert stage.app.board.selected_id == "nvidia:63"
        await stage.press("home")
        assert stage.app.board.selected_id == "nvidia:0"

    on(check, count=64)


def test_the_grid_has_the_focus_before_the_list_is_hidden() -> None:
    async def check(stage: Stage) -> None:
        screen = stage.app.screen
        assert isinstance(screen, LocalScreen)
        assert screen.focused is screen.query_one("#devices")
        stage.app.source.shot = node(64)  # type: ignore[attr-defined]  # a FedSource
        stage.app.pull()
        assert screen.focused is screen.query_one("#grid")
        await stage.press("home")
        assert screen.query_one("#grid").has_focus

    on(check)


def test_filtering_devices_by_text_and_expression() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("slash", *"nvidia3", "enter")
        assert [view.device.name for view in stage.app.board.devices] == ["nvidia3"]
        assert "filter nvidia3" in stage.text()
        await stage.press("escape")
        assert len(stage.app.board.devices) == 8
        await stage.press("slash", *"index", "less_than_sign", "2", "enter")
        assert len(stage.app.board.devices) == 2

    on(check)


def test_a_wrong_filter_is_shown_with_its_column_and_not_taken() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("slash", *"indx", "equals_sign", "equals_sign", "1", "enter")
        assert stage.screen_name == "FilterScreen"
        assert "unknown name indx (column 1); did you mean index?" in stage.text()
        await stage.press("escape")
        assert len(stage.app.board.devices) == 8

    on(check)


def test_a_message_longer_than_the_terminal_ends_with_an_ellipsis() -> None:
    async def check(stage: Stage) -> None:
        stage.app.show_message("a word " * 30)
        await stage.pilot.pause()
        assert stage.text().splitlines()[-1].endswith("…")

    on(check, size=(80, 24))


def test_pause_holds_the_picture_and_history_goes_on() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("p")
        assert "paused" in stage.text()
        await stage.feed(node(2))
        assert len(stage.app.board.devices) == 8
        await stage.press("p")
        assert len(stage.app.board.devices) == 2

    on(check)


def test_faster_and_slower_set_the_interval() -> None:
    async def check(stage: Stage) -> None:
        source = stage.app.source
        assert isinstance(source, FedSource)
        await stage.press("plus")
        assert source.interval_s == 1.0
        await stage.press("minus", "minus")
        assert source.interval_s == 5.0
        await stage.press("equals_sign")
        assert source.interval_s == 2.0

    on(check)


def test_density_goes_round() -> None:
    async def check(stage: Stage) -> None:
        seen = []
        for _ in range(3):
            await stage.press("c")
            seen.append(stage.app.board.preferences.density)
        assert seen == ["compact", "full", "auto"]

    on(check)


def test_themes_go_round_and_leave_the_text_alone() -> None:
    async def check(stage: Stage) -> None:
        seen = []
        for _ in range(6):
            await stage.press("T")
            seen.append(stage.app.board.preferences.theme)
            assert "nvidia0" in stage.text()
        assert seen == ["dark", "light", "contrast", "ansi", "mono", "safe"]

    on(check)


def test_span_switches_between_five_minutes_and_an_hour() -> None:
    async def check(stage: Stage) -> None:
        assert "last 5 min" in stage.text()
        await stage.press("h")
        assert "last 60 min" in stage.text()

    on(check)


def test_copying_the_uuid_the_pid_and_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check(stage: Stage) -> None:
        copied: list[str] = []
        monkeypatch.setattr(stage.app, "copy_to_clipboard", copied.append)
        await stage.press("y", "Y", "4", "y", "Y")
        assert copied[0] == "GPU-0000"
        assert json.loads(copied[1])["id"] == "nvidia:0"
        assert copied[2].isdecimal()
        assert json.loads(copied[3])["pid"] == int(copied[2])

    on(check)


@pytest.mark.parametrize("key", ["f5", "ctrl+l"])
def test_redraw_changes_nothing(key: str) -> None:
    async def check(stage: Stage) -> None:
        before = stage.text()
        await stage.press(key)
        assert stage.text() == before

    on(check)


def test_settings_are_written_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "accelwatch" / "dashboard.yaml"

    async def go() -> None:
        async with running(FedSource(node()), path=path) as stage:
            await stage.press("f2", "enter")
            assert stage.app.board.preferences.theme == "dark"
            assert not path.exists()
            await stage.press("G", "enter")
            assert "written to" in stage.text()

    asyncio.run(go())
    assert "theme: dark\n" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("key", ["8", "9", "0"])
def test_a_digit_without_a_screen_says_so(key: str) -> None:
    async def check(stage: Stage) -> None:
        await stage.press("3", key)
        assert stage.screen_name == "device"
        message = f"no screen {key}; there are 1 local, 3 device, 4 processes, 6 doctor"
        assert message in stage.text()

    on(check)


def test_a_terminal_that_cannot_be_given_back_is_kept() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("ctrl+z")
        assert "no shell waits for this program" in stage.text()
        await stage.press("slash", "ctrl+z")
        assert stage.screen_name == "FilterScreen"

    on(check)


def test_help_starts_with_the_screen_it_was_opened_on() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("4", "question_mark")
        assert "On this screen: processes" in stage.text()
        await stage.press("escape", "1", "question_mark")
        assert "On this screen: local" in stage.text()

    on(check)


def test_the_footer_can_be_clicked() -> None:
    async def check(stage: Stage) -> None:
        footer = stage.text().splitlines()[-1]
        await stage.pilot.click("#footer", offset=(footer.index("? help") + 3, 0))
        await stage.pilot.pause()
        assert stage.screen_name == "help"

    on(check)


def test_every_action_is_pressed_in_one_of_these_files() -> None:
    found = sorted(Path(__file__).parent.glob("test_*keys.py"))
    text = "".join(path.read_text() for path in found)
    for action in ACTIONS:
        assert any(f'"{key}"' in text for key in action.keys), action.id
