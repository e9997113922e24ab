"""Keys that are about processes: sort, group, filter, tag, signal, look at."""

import asyncio
import signal

import msgspec
import pytest

from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.drawing.lines import plain
from accelwatch.tui.local.processes import signals
from accelwatch.tui.local.processes.signals import Target
from accelwatch.tui.views.process_list import ProcessList
from accelwatch.tui.widgets.row_list import RowList
from support.dashboards.local import FedSource, Stage, board_of, empty_node, node, on, running


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


def test_processes_sorted_by_device_are_in_the_order_of_their_numbers() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("4", "s", *["up"] * 2, "enter")
        preferences = stage.app.board.preferences
        assert (preferences.sort, preferences.descending) == ("device", False)
        rows = [row.view.device.index for row in stage.app.processes.rows if row.view]
        assert rows == sorted(rows)
        assert max(rows) == 11

    on(check, count=12)


def test_tree_groups_by_owner() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("4", "t")
        assert "job 48121" in stage.text()
        assert "pod research/llama-0" in stage.text()
        await stage.press("t")
        assert "job 48121" not in stage.text()

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


def foreigners() -> Snapshot:
    """A device all of whose processes are of another namespace."""
    shot = node(1)
    reading = shot.devices[0].reading
    foreign = tuple(
        msgspec.structs.replace(process, pid_namespace="foreign")
        for process in reading.processes or ()
    )
    reading = msgspec.structs.replace(reading, processes=foreign)
    views = (msgspec.structs.replace(shot.devices[0], reading=reading),)
    return msgspec.structs.replace(shot, devices=views)


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (80, "3 belong to another pid namespace: no signals"),
        (70, "3 of another pid namespace: no signals"),
        (60, "3 foreign: no signals"),
        (45, "3 foreign"),
        (36, "3 processes hold"),
    ],
)
def test_the_word_on_another_namespace_is_whole(width: int, expected: str) -> None:
    board = board_of()
    board.show(foreigners())
    processes = ProcessList(board)
    processes.update()
    text = plain(processes.note(width))
    assert len(text) == width
    assert text.rstrip().endswith(expected) or "foreign" not in text
    assert expected in text


def test_processes_of_another_namespace_are_explained_not_signalled(sent: Sent) -> None:
    async def go() -> None:
        async with running(FedSource(foreigners())) as stage:
            await stage.press("4")
            assert "belong to another pid namespace: no signals" in stage.text()
            await stage.press("K")
            assert "No signal can be sent" in stage.text()
            assert "their numbers mean other processes here" in stage.text().replace("\n", " ")
            assert len(stage.app.screen.query_one(RowList).rows) == 1
            await stage.press("enter")

    asyncio.run(go())
    assert sent.calls == []


def test_environment_hides_values_until_the_key_is_pressed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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


def backgrounds(stage: Stage, line: int) -> set[str]:
    """The background colours of a line of the processes, below their heading."""
    rows = stage.app.screen.query_one("#processes", RowList)
    (strip,) = rows.draw([line])
    return {str(segment.style.bgcolor) for segment in strip if segment.style is not None}


def test_a_process_stands_out_only_while_keys_go_to_it(sent: Sent) -> None:
    async def check(stage: Stage) -> None:
        assert backgrounds(stage, 1) == backgrounds(stage, 2)
        await stage.press("K")
        assert stage.screen_name == "local"
        assert "no process is selected: go down past the last device, or press 4" in stage.text()
        await stage.press(*["down"] * len(stage.app.board.devices))
        assert backgrounds(stage, 1) != backgrounds(stage, 2)
        await stage.press("K")
        assert "Signal 1 process" in stage.text()

    on(check)
    assert sent.calls == []


@pytest.mark.parametrize("key", ["K", "f9", "e"])
def test_where_there_is_no_process_no_key_sends_to_another_screen(key: str, sent: Sent) -> None:
    async def go() -> None:
        async with running(FedSource(empty_node())) as stage:
            await stage.press("4", key)
            assert stage.screen_name == "processes"
            assert "there is no process" in stage.text()
            assert "go down past the last device" not in stage.text()

    asyncio.run(go())
    assert sent.calls == []
