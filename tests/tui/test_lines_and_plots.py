"""Text, graphs and history, without a terminal."""

import math

import msgspec
import pytest

from accelwatch.tui.drawing.lines import (
    clipped,
    fit,
    plain,
    spread,
    width_of,
    wrapped,
)
from accelwatch.tui.drawing.plot import columns_of, graph, pooled
from accelwatch.tui.local.history import History, Ring
from accelwatch.tui.local.process_history import MOST, ProcessHistory
from accelwatch.tui.state.board import Board
from accelwatch.tui.theme.appearance import Appearance
from accelwatch.tui.theme.preferences import Preferences
from support.dashboards.local import busy_process, busy_view, lost, node
from support.machines import composed as machines
from support.machines.composed import NOW

KINDS = ("braille", "block", "ascii")


@pytest.mark.parametrize("width", range(8))
@pytest.mark.parametrize("text", ["", "abc", "abcdefghij", "模型训练", "a模b型"])
def test_fit_gives_exactly_the_width(text: str, width: int) -> None:
    for right in (False, True):
        assert width_of([(fit(text, width, right=right), "text")]) == width


def test_fit_marks_a_cut() -> None:
    assert fit("abcdef", 4) == "abc…"
    assert fit("abcdef", 4, ellipsis="~") == "abc~"
    assert fit("ab", 4, right=True) == "  ab"


@pytest.mark.parametrize("width", range(12))
def test_clipped_gives_exactly_the_width(width: int) -> None:
    assert width_of(clipped([("模型", "a"), ("abc", "b")], width)) == width


def test_spread_lets_the_left_give_way() -> None:
    assert plain(spread([("left", "a")], [("right", "b")], 12)) == "left   right"
    assert plain(spread([("left side", "a")], [("right", "b")], 8)) == "lefright"


def test_wrapped_cuts_long_words() -> None:
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("abcdefgh", 4) == ["abcd"]
    assert wrapped("", 4) == [""]


def test_pooling_keeps_a_spike() -> None:
    values = [0.1] * 300
    values[137] = 1.0
    assert max(pooled(values, 10)) == 1.0
    assert pooled(values, 10).count(1.0) == 1


def test_pooling_leaves_gaps_and_stretches_few_values() -> None:
    assert all(math.isnan(value) for value in pooled([math.nan] * 9, 3))
    assert pooled([1.0, 2.0], 4) == [1.0, 1.0, 2.0, 2.0]
    assert len(pooled([], 3)) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_has_its_size_and_its_spike(kind: str) -> None:
    values = [0.0] * 100
    values[50] = 1.0
    rows = graph(values, 20, 3, 1.0, kind)
    assert [len(row) for row in rows] == [20, 20, 20]
    assert all(sum(sign != " " for sign in row) == 1 for row in rows[:-1])
    assert len(set(rows[-1])) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_value_and_zero_are_seen_and_nothing_is_not(kind: str) -> None:
    assert graph([0.0001], 1, 2, 1.0, kind)[-1].strip()
    assert graph([0.0], 1, 2, 1.0, kind)[-1].strip()
    assert not graph([0.0], 1, 2, 1.0, kind)[0].strip()
    assert not graph([math.nan], 1, 2, 1.0, kind)[-1].strip()


def test_braille_fills_from_below() -> None:
    assert graph([1.0, 0.5], 1, 1, 1.0, "braille") == ["⣧"]
    assert columns_of("braille", 10) == 20
    assert graph([1.0], 4, 1, 1.0, "block") == ["████"]
    assert graph([0.5], 1, 2, 1.0, "ascii") == [" ", "#"]


def test_ascii_graphs_are_ascii() -> None:
    assert all(row.isascii() for row in graph([0.1, 0.7, 0.4], 30, 5, 1.0, "ascii"))


def test_a_ring_forgets_what_is_older_than_its_size() -> None:
    ring = Ring(1, 10, 1)
    for second in range(25):
        ring.add(1000.0 + second, (float(second),))
    assert list(ring.series(0, 1024.0)) == [float(second) for second in range(15, 25)]


def test_a_ring_keeps_the_greatest_of_a_stretch() -> None:
    ring = Ring(10, 3, 1)
    for value in (1.0, 9.0, 2.0):
        ring.add(1000.0, (value,))
    assert ring.series(0, 1000.0)[-1] == 9.0


def test_a_short_gap_is_bridged_and_a_long_one_stays() -> None:
    ring = Ring(1, 60, 1)
    ring.add(1000.0, (1.0,))
    ring.add(1004.0, (2.0,))
    ring.add(1030.0, (3.0,))
    series = list(ring.series(0, 1030.0))
    assert math.isnan(series[-10])
    assert series[-1] == 3.0
    assert series[-29] == 2.0
    assert series[-27] == 2.0


def test_a_value_that_stands_fills_the_time_since_and_one_that_does_not_leaves_a_gap() -> None:
    ring = Ring(1, 60, 1)
    ring.add(1000.0, (1.0,))
    ring.add(1001.0, (2.0,))
    assert list(ring.series(0, 1005.0, stands=True))[-6:] == [1.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    assert [math.isnan(one) for one in ring.series(0, 1005.0)][-6:] == [False, False, *[True] * 4]
    assert all(math.isnan(one) for one in list(ring.series(0, 1030.0, stands=True))[-29:])


def test_a_value_that_stands_has_no_time_since_to_fill_when_it_is_the_last() -> None:
    ring = Ring(1, 60, 1)
    for second in range(5):
        ring.add(1000.0 + second, (float(second),))
    assert list(ring.series(0, 1004.0, stands=True))[-5:] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert list(ring.series(0, 1002.0, stands=True))[-3:] == [0.0, 1.0, 2.0]
    assert len(ring.series(0, 1004.0, stands=True)) == 60


def test_a_coarse_ring_is_not_empty_at_the_start_of_a_stretch() -> None:
    ring = Ring(20, 180, 1)
    ring.add(1019.0, (1.0,))
    assert ring.series(0, 1021.0, stands=True)[-1] == 1.0
    assert math.isnan(ring.series(0, 1041.0, stands=True)[-1])


def test_a_ring_survives_a_clock_that_goes_back() -> None:
    ring = Ring(1, 10, 1)
    ring.add(1000.0, (1.0,))
    ring.add(500.0, (2.0,))
    assert ring.series(0, 500.0)[-1] == 2.0


def test_history_counts_a_reading_once_and_skips_what_is_gone() -> None:
    history = History()
    one = busy_view(1)
    for _ in range(5):
        history.record([one, lost(2)])
    known = [
        value for value in history.series("nvidia:1", "power_watts", NOW) if not math.isnan(value)
    ]
    assert len(known) == 1
    assert len(history.series("nvidia:2", "power_watts", NOW)) == 1


def test_history_over_an_hour_has_twenty_second_steps() -> None:
    history = History()
    one = busy_view(1)
    for minute in range(60):
        history.record([msgspec.structs.replace(one, sample_time=NOW - 3600 + 60 * minute)])
    hour = history.series("nvidia:1", "utilization_ratio", NOW, hour=True)
    assert len(hour) == 180
    assert sum(not math.isnan(value) for value in hour) >= 58


def test_devices_that_are_gone_are_forgotten_once_there_is_nothing_to_show_of_them() -> None:
    """As partitions that are made and taken apart for weeks."""
    board = Board(Preferences(), Appearance())

    def look(index: int, at: float) -> int:
        view = msgspec.structs.replace(busy_view(index), sample_time=at)
        for _ in board.note(machines.snapshot(view, time=at)):
            pass
        return len(board.history)

    assert [look(1, NOW), look(2, NOW + 1), look(2, NOW + 3570)] == [1, 2, 2]
    past = board.history.series("nvidia:1", "power_watts", NOW + 3570, hour=True)
    assert any(not math.isnan(value) for value in past)
    assert look(2, NOW + 3601) == 1
    counts = [look(index, NOW + 3600 * index) for index in range(3, 9)]
    assert max(counts) == 2


def test_history_can_be_forgotten() -> None:
    history = History()
    history.record([busy_view(1)])
    assert len(history.series("nvidia:1", "power_watts", NOW)) > 1
    history.clear()
    assert len(history.series("nvidia:1", "power_watts", NOW)) == 1


def test_process_history_is_bounded() -> None:
    history = ProcessHistory()
    shot = node(1)
    one = shot.devices[0]
    many = tuple(busy_process("nvidia:0", number) for number in range(MOST + 50))
    reading = msgspec.structs.replace(one.reading, processes=many)
    crowd = msgspec.structs.replace(shot, devices=(msgspec.structs.replace(one, reading=reading),))
    history.record(crowd)
    assert len(history.series(many[0], "gpu_memory_bytes", NOW)) > 1
    assert len(history.series(many[-1], "gpu_memory_bytes", NOW)) == 1
    later = msgspec.structs.replace(
        crowd, time=NOW + 500, devices=(msgspec.structs.replace(one, sample_time=NOW + 500),)
    )
    history.record(later)
    assert len(history.series(many[100], "gpu_memory_bytes", NOW)) == 1
