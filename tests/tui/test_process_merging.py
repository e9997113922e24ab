"""A process on several devices is one row; commands move sideways; columns without anything go."""

import asyncio

import msgspec
import pytest

from accelwatch.base.names.numbered_names import numbered
from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import DeviceView, Snapshot
from accelwatch.tui.drawing.glyphs import UNICODE
from accelwatch.tui.drawing.lines import plain
from accelwatch.tui.local.processes import rows as process_rows
from accelwatch.tui.local.processes.arranging import arranged, merged, rows_of
from accelwatch.tui.local.processes.columns import columns_for, empty_columns
from accelwatch.tui.local.processes.process_row import ProcessRow
from support.dashboards.local import FedSource, busy_process, busy_view, node, running
from support.machines.composed import GIB, NOW, mig_view, view

LONG = "python3 -m torch.distributed.run --nnodes=8 --nproc-per-node=8 train.py --seed 1234"


def on_device(one: DeviceView, *processes: Process) -> DeviceView:
    """The device with these processes on it."""
    mine = tuple(msgspec.structs.replace(each, device_id=one.device.id) for each in processes)
    reading = msgspec.structs.replace(one.reading, processes=mine)
    return msgspec.structs.replace(one, reading=reading)


def worker(**changes: object) -> Process:
    """A process that holds 10 GiB of each device that it is on."""
    whole = Process(
        device_id="",
        pid=77,
        start_time=NOW - 60,
        user="ada",
        command=LONG,
        gpu_memory_bytes=10 * GIB,
        utilization_ratio=0.5,
    )
    return msgspec.structs.replace(whole, **changes)


def spread() -> Snapshot:
    """A process on seven of eight devices and one of its own on the other."""
    views = [on_device(busy_view(index), worker()) for index in range(8)]
    views[3] = on_device(views[3], worker(pid=78, utilization_ratio=None))
    views[0] = on_device(views[0], worker(utilization_ratio=1.0))
    return msgspec.structs.replace(node(8), devices=tuple(views))


def test_one_process_on_several_devices_is_one_row_with_their_sum() -> None:
    rows = arranged(merged(rows_of(spread().devices)), "pid", descending=False, tree=False)
    assert len(rows) == 2
    first = rows[0].process
    assert first is not None
    assert first.gpu_memory_bytes == 70 * GIB
    assert first.utilization_ratio == pytest.approx((1.0 + 6 * 0.5) / 7)
    line = plain(process_rows.line(rows[0], spread(), 140, UNICODE, tagged=False, mine=""))
    assert "0-2,4-7" in line
    assert "70.0 GiB" in line
    assert "12%" in line
    alone = plain(process_rows.line(rows[1], spread(), 140, UNICODE, tagged=False, mine=""))
    assert "nvidia3" in alone


@pytest.mark.parametrize(
    "changes",
    [{"start_time": NOW - 61}, {"pid": 78}, {"container": "other"}, {"start_time": None}],
)
def test_what_may_be_another_process_keeps_its_row(changes: dict[str, object]) -> None:
    views = [on_device(busy_view(0), worker(**changes)), on_device(busy_view(1), worker())]
    assert len(merged(rows_of(views))) == 2


def test_without_its_start_nobody_knows_that_it_is_the_same() -> None:
    views = [on_device(busy_view(index), worker(start_time=None)) for index in range(2)]
    assert len(merged(rows_of(views))) == 2


def test_a_partition_and_its_device_report_the_same_memory_once() -> None:
    whole, part = on_device(view(0), worker()), on_device(mig_view(1, 0), worker())
    rows = merged(rows_of([whole, part]))
    assert [row.process.gpu_memory_bytes for row in rows if row.process] == [10 * GIB]


def test_memory_that_nobody_reports_is_not_zero() -> None:
    views = [on_device(busy_view(index), worker(gpu_memory_bytes=None)) for index in range(2)]
    (row,) = merged(rows_of(views))
    assert row.process is not None
    assert row.process.gpu_memory_bytes is None


def test_groups_count_devices_once() -> None:
    rows = arranged(merged(rows_of(spread().devices)), "pid", descending=False, tree=True)
    head = plain(process_rows.line(rows[0], spread(), 120, UNICODE, tagged=False, mine=""))
    assert "80.0 GiB on 8 devices, 2 processes" in head


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["nvidia3"], "nvidia3"),
        ([f"nvidia{n}" for n in (0, 1, 2, 4, 6, 7)], "0-2,4,6-7"),
        (["nvidia10", "nvidia9"], "9-10"),
        (["amd0", "nvidia0", "nvidia1"], "amd0,nvidia0-1"),
        (["nvidia0", "apple"], "apple,nvidia0"),
        ([], ""),
    ],
)
def test_numbers_stand_together(names: list[str], text: str) -> None:
    assert numbered(names) == text


def test_columns_without_anything_go_and_others_stay() -> None:
    rows = merged(rows_of(spread().devices))
    assert {"workload", "host_memory", "cpu"} <= empty_columns(rows)
    assert not {"user", "gpu", "pid", "command"} & empty_columns(rows)
    shown = [column.id for column, _ in columns_for(200, empty_columns(rows))]
    assert "workload" not in shown
    assert "command" in shown
    assert empty_columns([]) == frozenset()
    some = [*rows, ProcessRow(process=busy_process("nvidia:1", 1), view=busy_view(1))]
    assert "workload" not in empty_columns(some)


@pytest.mark.parametrize("keys", [("4",), ("end", "down")])
def test_left_and_right_move_the_commands(keys: tuple[str, ...]) -> None:
    async def go() -> None:
        async with running(FedSource(spread()), (80, 30)) as stage:
            await stage.press(*keys)
            assert "python3 -m" in stage.line_with("0-2,4-7")
            selected = stage.app.board.selected_id
            await stage.press("right", "right")
            assert "distribut" in stage.line_with("0-2,4-7")
            assert "python3" not in stage.line_with("0-2,4-7")
            await stage.press("left", "left", "left")
            assert "python3 -m" in stage.line_with("0-2,4-7")
            await stage.press(*["right"] * 40)
            assert "1234" in stage.line_with("0-2,4-7")
            assert stage.app.board.selected_id == selected

    asyncio.run(go())


def test_a_click_finds_its_column_where_others_are_gone() -> None:
    async def go() -> None:
        async with running(FedSource(spread()), (140, 30)) as stage:
            await stage.press("4")
            heading = stage.line_with("COMMAND")
            await stage.pilot.click("#processes", offset=(heading.index("TIME") + 1, 0))
            await stage.pilot.pause()
            assert stage.app.board.preferences.sort == "time"

    asyncio.run(go())
