"""Every key does what the table says, on a running dashboard."""

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui import signals
from accelwatch.tui.actions import ACTIONS
from accelwatch.tui.replay import ReplaySource
from accelwatch.tui.signals import Target
from accelwatch.tui.widgets.row_list import RowList
from dashboards import FedSource, Stage, board_of, node, running

Check = Callable[[Stage], Awaitable[None]]


def on(check: Check, *, count: int = 8, size: tuple[int, int] = (120, 40)) -> None:
    """Run a check on a dashboard with some devices."""

    async def go() -> None:
        async with running(FedSource(node(count)), size) as stage:
            await check(stage)

    asyncio.run(go())


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
            assert stage.screen_name == "PromptScreen"
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
        (["question_mark"], "help"),
        (["f1"], "help"),
        (["f2"], "settings"),
        (["tab"], "device"),
        (["tab", "tab"], "processes"),
        (["tab", "tab", "tab"], "doctor"),
        (["tab", "tab", "tab", "tab"], "local"),
        (["shift+tab"], "doctor"),
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
        place = int(stage.app.board.selected_id.split(":")[1])
        assert place > 5
        await stage.press("end")
        assert stage.app.board.selected_id == "nvidia:63"
        await stage.press("home")
        assert stage.app.board.selected_id == "nvidia:0"

    on(check, count=64)


def test_the_selection_of_a_process_stays_with_it_when_rows_move() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("4", "down", "down")
        chosen = stage.app.chosen_process
        assert chosen is not None
        await stage.press("r")
        assert stage.app.chosen_process == chosen
        shot = stage.app.board.snapshot
        fewer = msgspec.structs.replace(shot, devices=tuple(reversed(shot.devices)))
        await stage.feed(fewer)
        assert stage.app.chosen_process == chosen

    on(check)


def test_sorting_by_picker_keys_and_reverse() -> None:
    async def check(stage: Stage) -> None:
        preferences = stage.app.board.preferences
        await stage.press("4", "s")
        assert stage.screen_name == "ChoiceScreen"
        await stage.press("up", "up", "up", "enter")
        assert (preferences.sort, preferences.descending) == ("user", False)
        await stage.press("greater_than_sign")
        assert preferences.sort == "device"
        await stage.press("less_than_sign", "less_than_sign")
        assert preferences.sort == "pid"
        before = preferences.descending
        await stage.press("r")
        assert preferences.descending is not before
        await stage.press("f6", "escape")
        assert preferences.sort == "pid"

    on(check)


def test_a_click_on_a_heading_sorts() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("4")
        await stage.pilot.click("#processes", offset=(14, 0))
        await stage.pilot.pause()
        assert stage.app.board.preferences.sort == "user"

    on(check)


def test_tree_groups_by_owner() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("4", "t")
        assert "job 48121" in stage.text()
        assert "pod research/llama-0" in stage.text()
        await stage.press("t")
        assert "job 48121" not in stage.text()

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


def test_a_wrong_filter_is_told_with_its_column_and_not_taken() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("slash", *"indx", "equals_sign", "equals_sign", "1", "enter")
        assert stage.screen_name == "PromptScreen"
        assert "unknown name indx (column 1); did you mean index?" in stage.text()
        await stage.press("escape")
        assert len(stage.app.board.devices) == 8

    on(check)


def test_filtering_processes_knows_their_names() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("4", "slash", *'user=="ada"', "enter")
        rows = stage.app.processes.rows
        assert rows
        assert {row.process.user for row in rows if row.process} == {"ada"}

    on(check)


def test_escape_clears_tags_and_filter_before_it_leaves() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("4", "slash", *"vllm", "enter", "space")
        assert "processes vllm" in stage.text().splitlines()[1]
        await stage.press("escape")
        assert stage.screen_name == "processes"
        assert len(stage.app.processes.rows) == 24
        await stage.press("escape")
        assert stage.screen_name == "local"

    on(check)


def test_tagging_goes_on_to_the_next_row() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("4", "space", "space")
        assert len(stage.app.processes.tagged) == 2
        assert "2 tagged" in stage.text()
        await stage.press("up", "space")
        assert len(stage.app.processes.tagged) == 1

    on(check)


class Sent:
    """In place of the real sending."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, str]] = []

    def __call__(self, target: Target, number: signal.Signals) -> str:
        self.calls.append((target.pid, number.name))
        return f"{number.name} sent to {target.pid}"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    given = Sent()
    monkeypatch.setattr(signals, "send", given)
    return given


@pytest.mark.parametrize("key", ["K", "f9"])
def test_the_signal_dialog_has_cancel_under_the_keys(key: str, sent: Sent) -> None:
    async def check(stage: Stage) -> None:
        await stage.press("4", key)
        assert stage.screen_name == "ChoiceScreen"
        assert stage.app.screen.query_one(RowList).selected_key == ""
        await stage.press("enter")
        assert stage.screen_name == "processes"
        await stage.press(key, "escape")

    on(check)
    assert sent.calls == []


def test_a_signal_goes_to_the_tagged_processes(sent: Sent) -> None:
    async def check(stage: Stage) -> None:
        await stage.press("4", "space", "space")
        pids = [row.process.pid for row in stage.app.processes.rows[:2] if row.process]
        await stage.press("K", "down", "enter")
        assert sent.calls == [(pid, "SIGTERM") for pid in pids]
        assert "SIGTERM sent" in stage.text()

    on(check)


def test_readonly_sends_nothing(sent: Sent) -> None:
    async def go() -> None:
        async with running(FedSource(node()), readonly=True) as stage:
            await stage.press("4", "K")
            assert stage.screen_name == "processes"
            assert "signals are off (--readonly)" in stage.text()

    asyncio.run(go())
    assert sent.calls == []


def test_processes_of_another_namespace_are_explained_not_signalled(sent: Sent) -> None:
    shot = node(1)
    reading = shot.devices[0].reading
    foreign = tuple(
        msgspec.structs.replace(process, pid_namespace="foreign")
        for process in reading.processes or ()
    )
    reading = msgspec.structs.replace(reading, processes=foreign)
    views = (msgspec.structs.replace(shot.devices[0], reading=reading),)

    async def go() -> None:
        async with running(FedSource(msgspec.structs.replace(shot, devices=views))) as stage:
            await stage.press("4")
            assert "belong to another pid namespace: no signals" in stage.text()
            await stage.press("K")
            assert "No signal can be sent" in stage.text()
            assert "their numbers mean other processes here" in stage.text().replace("\n", " ")
            assert len(stage.app.screen.query_one(RowList).rows) == 1
            await stage.press("enter")

    asyncio.run(go())
    assert sent.calls == []


def test_environment_hides_values_until_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "accelwatch.tui.screens.process.read_environment",
        lambda process, *, local: {"TOKEN": "secret"},
    )

    async def check(stage: Stage) -> None:
        await stage.press("4", "e")
        assert stage.screen_name == "process"
        await stage.press("G")
        assert "TOKEN=****" in stage.text()
        await stage.press("e", "G")
        assert "TOKEN=secret" in stage.text()

    on(check)


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


def test_the_footer_can_be_clicked() -> None:
    async def check(stage: Stage) -> None:
        footer = stage.text().splitlines()[-1]
        await stage.pilot.click("#footer", offset=(footer.index("? help") + 3, 0))
        await stage.pilot.pause()
        assert stage.screen_name == "help"

    on(check)


class Shots:
    """Frames from memory."""

    def __init__(self, count: int) -> None:
        self.shots = [node(index % 3 + 1) for index in range(count)]

    def times(self) -> list[float]:
        return [1_800_000_000.0 + 10 * index for index in range(len(self.shots))]

    def at(self, index: int) -> Snapshot:
        moment = self.times()[index]
        return msgspec.structs.replace(self.shots[index], time=moment)

    def close(self) -> None:
        """Nothing is held."""


def test_a_recording_is_paused_stepped_sought_sped_up_and_looped() -> None:
    async def go() -> None:
        source = ReplaySource(Shots(30))
        async with running(source, board=board_of()) as stage:
            await stage.press("p")
            assert not source.playing
            await stage.press("full_stop")
            assert source.place == (2, 30)
            await stage.press("comma")
            assert source.place == (1, 30)
            await stage.press("right_square_bracket")
            assert source.place == (7, 30)
            await stage.press("left_square_bracket")
            assert source.place == (1, 30)
            await stage.press("plus")
            assert source.speed == 2.0
            await stage.press("minus", "minus")
            assert source.speed == 0.5
            await stage.press("l")
            assert source.loop
            await stage.press("colon", *"50%", "enter")
            assert source.place == (15, 30)
            stage.app.take()
            await stage.pilot.pause()
            assert "15 of 30" in stage.text()
            await stage.press("4", "K")
            assert "a recording's processes cannot be signalled" in stage.text()

    asyncio.run(go())


def test_every_action_is_pressed_here_or_on_the_fleet() -> None:
    text = Path(__file__).read_text() + Path(__file__).with_name("test_fleet_keys.py").read_text()
    for action in ACTIONS:
        assert any(f'"{key}"' in text for key in action.keys), action.id
