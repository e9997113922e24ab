"""The graphs of a device or process: what their titles and their right ends tell."""

import re

import msgspec
import pytest

from accelwatch.schema.snapshot import DeviceView, Snapshot
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.graphs import device_graphs as strip_graphs
from support.dashboards.local import (
    board_of,
    busy_process,
    hung,
    lost,
    node,
    stale,
    texts,
    with_history,
)
from support.machines.composed import NOW

WIDE, HIGH = 120, 6


def board_with(*views: DeviceView, seen: Snapshot | None = None) -> Board:
    """A board on which these devices were well for minutes, and are as given now."""
    shot = msgspec.structs.replace(node(len(views)), devices=views)
    board = with_history(board_of(), seen or shot)
    board.accept(shot)
    for _ in board.note(shot):
        pass
    return board


def titles(lines: str) -> dict[str, str]:
    """The present value of each graph."""
    return dict(re.findall(r"(load|memory|power|temperature) (\S+)", lines.splitlines()[1]))


def ends(lines: str) -> list[str]:
    """The right end of each graph's lowest row."""
    each = (WIDE - 1) // 4
    row = lines.splitlines()[-1]
    return [row[1 + column * each : (column + 1) * each - 1] for column in range(4)]


def test_titles_show_the_value_of_the_row_and_not_the_last_one_of_the_graph() -> None:
    one = node(1).devices[0]
    values = {**one.reading.values, ("utilization_ratio",): 0.0, ("power_watts",): 71.0}
    reading = msgspec.structs.replace(one.reading, values=values)
    now = msgspec.structs.replace(one, reading=reading)
    board = with_history(board_of(), node(1))
    board.accept(msgspec.structs.replace(node(1), devices=(now,)))
    shown = titles(texts(strip_graphs.strip(board, WIDE, HIGH)))
    assert (shown["load"], shown["power"]) == ("0%", "71")
    hour = titles(texts(strip_graphs.strip(board, WIDE, HIGH, hour=True)))
    assert hour == shown


@pytest.mark.parametrize(("gone", "word"), [(hung, "hung"), (lost, "lost"), (stale, "stale")])
def test_the_graphs_of_a_silent_device_end_with_a_gap(gone: object, word: str) -> None:
    assert callable(gone)
    view = msgspec.structs.replace(
        gone(0), sample_time=NOW - 60, sample_age_s=60.0, state_since=NOW - 55
    )
    seen = node(1)
    board = board_with(view, seen=msgspec.structs.replace(seen, devices=seen.devices))
    lines = texts(strip_graphs.strip(board, WIDE, HIGH))
    assert f"{word} for 55 s" in lines.splitlines()[0]
    assert set(titles(lines).values()) == {"-"}


def test_the_gap_grows_as_time_passes() -> None:
    lengths = []
    for silent in (30.0, 150.0):
        board = board_of()
        one = node(1).devices[0]
        for second in range(300):
            time = NOW - silent - 300 + second
            board.history.record([msgspec.structs.replace(one, sample_time=time)])
        view = msgspec.structs.replace(hung(0), sample_time=NOW - silent, sample_age_s=silent)
        board.accept(msgspec.structs.replace(node(1), devices=(view,)))
        row = ends(texts(strip_graphs.strip(board, WIDE, HIGH)))[1]
        lengths.append(len(row) - len(row.rstrip()))
    assert 0 < lengths[0] < lengths[1]
    assert lengths[1] == pytest.approx(len(row) / 2, abs=2)


def test_the_graphs_of_a_device_that_answers_reach_now() -> None:
    one = node(1).devices[0]
    late = msgspec.structs.replace(one, sample_time=NOW - 5, sample_age_s=5.0)
    board = board_with(late)
    assert all(not end.endswith(" ") for end in ends(texts(strip_graphs.strip(board, WIDE, HIGH))))


def test_a_device_that_reports_only_its_compute_share_has_a_graph_of_it() -> None:
    one = node(1).devices[0]
    values = {s: v for s, v in one.reading.values.items() if s != ("utilization_ratio",)}
    reading = msgspec.structs.replace(one.reading, values=values)
    board = board_with(msgspec.structs.replace(one, reading=reading), seen=node(0))
    lines = texts(strip_graphs.strip(board, WIDE, HIGH))
    assert titles(lines)["load"] == "88%"
    assert ends(lines)[0].strip()


def test_a_process_shows_its_present_values_and_a_gap_when_it_has_ended() -> None:
    board = board_with(*node(2).devices)
    process = (board.devices[0].reading.processes or ())[0]
    lines = texts(strip_graphs.process_strip(board, process, WIDE, HIGH))
    assert "device memory 1.0 GiB" in lines
    assert "processors 50%" in lines
    ended = busy_process(process.device_id, 99)
    lines = texts(strip_graphs.process_strip(board, ended, WIDE, HIGH))
    assert "device memory - " in lines
    reading = msgspec.structs.replace(board.devices[0].reading, processes=())
    gone = msgspec.structs.replace(board.devices[0], reading=reading)
    board.accept(msgspec.structs.replace(node(2), devices=(gone,), time=NOW + 30))
    assert "device memory - " in texts(strip_graphs.process_strip(board, process, WIDE, HIGH))
