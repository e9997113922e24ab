"""What large terminals show besides: history in rows and cells, and the host where it was collected."""

import asyncio

import msgspec
import pytest

from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.snapshot import DeviceView
from accelwatch.tui.drawing.lines import plain
from accelwatch.tui.views.device_list import SPARK, SPARK_FROM
from accelwatch.tui.views.graphs.sparkline import sparkline
from accelwatch.tui.views.host_line import host_line
from support.dashboards.local import (
    FedSource,
    board_of,
    busy_view,
    hung,
    node,
    running,
    with_history,
)
from support.machines.composed import GIB, NOW, view

BRAILLE = range(0x2801, 0x2900)
VALUES: dict[Series, Number] = {
    ("host_cpu_utilization_ratio",): 0.12,
    ("host_load_average", "1"): 3.25,
    ("host_cpu_count",): 64,
    ("host_memory_used_bytes",): 120 * GIB,
    ("host_memory_size_bytes",): 512 * GIB,
    ("host_pressure_ratio", "cpu", "some"): 0.01,
    ("host_pressure_ratio", "io", "some"): 0.0,
}


def host(**changes: object) -> DeviceView:
    """The machine itself."""
    reading = Reading(device_id="host", values={**VALUES})
    return view(0, reading=reading, **changes)


def test_the_host_is_shown_where_it_was_collected() -> None:
    text = "  cpu 12%  load 3.2/64  mem 120/512 GiB  waiting cpu 1% io 0%"
    assert plain(host_line(host(), 100)) == text
    assert plain(host_line(host(), len(text) - 1)) == text[: text.index("  waiting")]
    assert host_line(host(), 5) == []
    assert host_line(None, 100) == []


@pytest.mark.parametrize(
    ("series", "value", "name"),
    [
        (("host_load_average", "1"), 65.0, "65.0/64"),
        (("host_pressure_ratio", "io", "some"), 0.2, "cpu 1% io 20%"),
    ],
)
def test_a_host_that_has_too_much_to_do_is_a_warning(
    series: Series, value: float, name: str
) -> None:
    reading = Reading(device_id="host", values={**VALUES, series: value})
    assert (name, "warn") in host_line(view(0, reading=reading), 100)


def test_what_the_host_does_not_report_is_left_out() -> None:
    reading = Reading(device_id="host", values={("host_load_average", "1"): 2.0})
    assert plain(host_line(view(0, reading=reading), 100)) == "  load 2.0"


@pytest.mark.parametrize("keys", ["", "3", "4", "6"])
def test_the_host_stands_on_every_screen_of_a_machine(keys: str) -> None:
    async def go() -> None:
        shot = msgspec.structs.replace(node(8), node=host())
        async with running(FedSource(shot), (160, 40)) as stage:
            await stage.press(*keys)
            second = stage.text().splitlines()[1]
            assert "load 3.2/64" in second
            assert "? help" in second or keys

    asyncio.run(go())


@pytest.mark.parametrize("width", [SPARK_FROM - 1, SPARK_FROM, 300])
def test_wide_rows_end_with_history(width: int) -> None:
    async def go() -> None:
        shot = node(8, d5=hung(5))
        board = with_history(board_of(), shot)
        async with running(FedSource(shot), (width, 40), board=board) as stage:
            wide = width >= SPARK_FROM
            assert ("LAST 5 MIN" in stage.text()) is wide
            for name in ("nvidia2", "nvidia5"):
                drawn = sum(ord(char) in BRAILLE for char in stage.line_with(name))
                assert (drawn > SPARK // 2) is wide
            heading = stage.line_with("DEVICE")
            await stage.pilot.click("#devices", offset=(heading.index("POWER") + 1, 0))
            assert stage.app.board.device_sort == "power"

    asyncio.run(go())


def test_history_moves_on_by_whole_columns() -> None:
    one = busy_view(1)
    shot = msgspec.structs.replace(node(1), devices=(one,))
    board = with_history(board_of(), shot)
    start = NOW // 6 * 6
    drawn = []
    for time in (start, start + 2, start + 5, start + 6):
        now = msgspec.structs.replace(one, sample_time=time, sample_age_s=0.0)
        board.history.record([now])
        drawn.append(sparkline(board, now, SPARK)[0])
    assert drawn[0] == drawn[1] == drawn[2]
    assert drawn[2] != drawn[3]


@pytest.mark.parametrize(
    ("count", "size", "grows"),
    [(64, (200, 60), True), (64, (80, 24), False), (500, (200, 60), False)],
)
def test_cells_grow_to_name_and_history_where_there_is_room(
    count: int, size: tuple[int, int], grows: bool
) -> None:
    async def go() -> None:
        shot = node(count, d5=hung(5))
        board = with_history(board_of(), shot, 60)
        async with running(FedSource(shot), size, board=board) as stage:
            grid = "\n".join(stage.text().splitlines()[2 : size[1] // 3])
            assert ("nvidia12" in grid) is grows
            assert any(ord(char) in BRAILLE for char in grid) is grows
            assert "hung" in grid
            assert all(len(line) == size[0] for line in stage.text().splitlines())
            await stage.press("right", "down")
            assert stage.app.board.selected_id != "nvidia:0"

    asyncio.run(go())
