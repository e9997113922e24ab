"""The fleet's last hour above the nodes, where the terminal has room."""

import asyncio
import math
import re

import pytest

from accelwatch.fleet.picture.model import RecentHistory
from accelwatch.fleet.wire import FleetDocument
from accelwatch.tui.drawing.lines import plain
from accelwatch.tui.views.graphs import fleet_graphs
from accelwatch.tui.views.graphs.fleet_graphs import enough, lines, since_first_value
from support.dashboards.fleets import (
    FAULTS,
    FedFleet,
    FleetStage,
    fleet_document,
    fleet_view,
    following,
    hour,
    on,
)
from support.dashboards.local import board_of, texts
from support.machines.composed import NOW


def fed(past: RecentHistory | None) -> FedFleet:
    source = FedFleet(fleet_view(40, faults=FAULTS))
    source.fleet_history_answer = past
    return source


def heights(stage: FleetStage) -> int:
    return sum("60 min" in line for line in stage.text().splitlines())


@pytest.mark.parametrize(
    ("size", "shown"), [((160, 45), 1), ((159, 45), 0), ((160, 44), 0), ((220, 60), 1)]
)
def test_they_are_there_where_there_is_room(size: tuple[int, int], shown: int) -> None:
    async def check(stage: FleetStage) -> None:
        await stage.pilot.pause(0.05)
        assert heights(stage) == shown
        assert "40 nodes" in stage.text()
        assert "NODE" in stage.text()

    on(check, size=size, source=fed(hour()))


@pytest.mark.parametrize("past", [None, RecentHistory(step_s=10, end=NOW, values={})])
def test_nothing_is_shown_in_their_stead_where_nothing_is_known_of_the_past(
    past: RecentHistory | None,
) -> None:
    async def check(stage: FleetStage) -> None:
        await stage.pilot.pause(0.05)
        assert heights(stage) == 0
        assert "not answering" not in stage.text()

    on(check, size=(200, 60), source=fed(past))


def test_they_are_requested_again_after_a_while_only() -> None:
    source = fed(hour())

    async def check(stage: FleetStage) -> None:
        for seconds in (1.0, 1.0, 9.0, 1.0):
            await stage.wait(seconds)
        assert source.fleet_history_requests == 2

    on(check, size=(200, 60), source=source)


def test_they_are_not_requested_where_they_are_not_shown() -> None:
    source = fed(hour())

    async def check(stage: FleetStage) -> None:
        await stage.wait(30.0)
        assert source.fleet_history_requests == 0

    on(check, size=(140, 40), source=source)


SUMS = fleet_document(
    devices_total=320,
    devices={"ok": 316, "degraded": 1, "unresponsive": 1, "unreachable": 2},
    utilization_ratio=0.8,
    power_watts=1e6,
    memory_used_bytes=4 * 10**12,
    memory_size_bytes=8 * 10**12,
)


def drawn(
    past: RecentHistory | None,
    sums: FleetDocument | None = SUMS,
    *,
    width: int = 180,
    height: int = fleet_graphs.LINES,
) -> list[str]:
    lines = fleet_graphs.lines(board_of(), past, sums, width, height)
    return texts(lines).splitlines() if lines else []


def test_each_graph_has_its_numbers_at_the_side_and_the_time_below() -> None:
    lines = drawn(hour())
    assert len(lines) == fleet_graphs.LINES
    assert all(len(line) <= 180 for line in lines)
    for word in ("load 80%", "memory 50%", "power 1.00 MW", "not answering 3", "max 8"):
        assert word in lines[0]
    assert lines[1].split()[0] == "100%"
    assert "50%" in lines[4]
    assert lines[6].split()[0] == "0%"
    assert lines[7].split()[:5] == ["60", "min", "45", "30", "15"]
    assert lines[7].rstrip().endswith("now")


def test_what_is_not_known_is_a_gap_and_no_zero() -> None:
    blank = [None] * 360
    lines = drawn(RecentHistory(step_s=10, end=NOW, values={**hour().values, "power_watts": blank}))
    assert not re.search("[^ ]", "".join(line[100:130] for line in lines[1:7]))
    only = RecentHistory(step_s=10, end=NOW, values={"utilization_ratio": [*blank[:-1], 0.5]})
    assert "memory -" in drawn(only, fleet_document(utilization_ratio=0.5))[0]
    assert "load -" in drawn(only, None)[0]


def test_the_number_above_is_that_of_the_totals_while_the_last_step_lags() -> None:
    calm = RecentHistory(
        step_s=60,
        end=NOW,
        values={"devices_not_answering": [0.0] * 60, "power_watts": [79e3] * 60},
    )
    hung = {"ok": 183, "unresponsive": 1, "unreachable": 8}
    sums = fleet_document(devices_total=192, devices=hung, power_watts=97.2e3)
    title = " ".join(drawn(calm, sums)[0].split())
    assert "not answering 9 max 9" in title
    assert "power 97.2 kW max 97.2 kW" in title


@pytest.mark.parametrize(("count", "role"), [(0.0, "faint"), (1.0, "bad")])
def test_only_what_does_not_answer_is_loud(count: float, role: str) -> None:
    silent = [0.0] * 359 + [count]
    past = RecentHistory(step_s=10, end=NOW, values={"devices_not_answering": [*silent]})
    lines = fleet_graphs.lines(board_of(), past, None, 180, fleet_graphs.LINES)
    assert {style for text, style in lines[6] if text.strip()[:1] > "\u2800"} == {role}


def test_without_a_size_there_is_no_share_of_memory() -> None:
    values = {**hour().values, "memory_size_bytes": [0.0] * 360}
    sums = fleet_document(memory_used_bytes=4, memory_size_bytes=0)
    assert "memory -" in drawn(RecentHistory(step_s=10, end=NOW, values=values), sums)[0]


@pytest.mark.parametrize("height", [0, 3])
def test_too_few_lines_show_nothing(height: int) -> None:
    assert drawn(hour(), height=height) == []


def test_ascii_draws_nothing_else() -> None:
    lines = fleet_graphs.lines(board_of(ascii_only=True), hour(), None, 180, fleet_graphs.LINES)
    assert texts(lines).isascii()


def test_the_hour_has_a_gap() -> None:
    assert any(one is None for one in hour().values["utilization_ratio"])
    assert not math.isnan(hour().end)


def test_a_hub_that_falls_silent_does_not_end_the_dashboard() -> None:
    async def go() -> None:
        async with following(fed(None), (200, 60)) as stage:
            await stage.wait(60.0)
            assert "40 nodes" in stage.text()

    asyncio.run(go())


def young(steps: int) -> RecentHistory:
    """An hour of which only the last steps of a minute are known."""
    known = [None] * (60 - steps)
    values: dict[str, list[float | None]] = {
        "utilization_ratio": [*known, *[0.5] * steps],
        "power_watts": [*known, *[100.0] * steps],
    }
    return RecentHistory(step_s=60, end=NOW, values=values)


@pytest.mark.parametrize(("steps", "shown"), [(0, False), (2, False), (3, True), (12, True)])
def test_graphs_take_room_once_there_is_something_to_see(steps: int, shown: bool) -> None:
    assert enough(young(steps)) == shown
    assert not enough(None)


@pytest.mark.parametrize(("steps", "axis"), [(5, "5 min now"), (12, "12 min 9 6 3 now")])
def test_a_young_hour_is_drawn_from_its_first_value_over_the_whole_width(
    steps: int, axis: str
) -> None:
    drawn = lines(board_of(), young(steps), None, 160, 8)
    shown = [plain(line) for line in drawn]
    assert axis.split() == shown[-1].split()[: len(axis.split())]
    assert shown[-2].count("\u28ff") > 20
    assert since_first_value(young(steps)).values["power_watts"] == [100.0] * steps


def test_the_past_of_one_quantity_that_started_later_keeps_its_position() -> None:
    past = RecentHistory(step_s=60, end=NOW, values={"a": [None, None, 1.0, 2.0], "b": [None, 3.0]})
    assert since_first_value(past).values == {"a": [1.0, 2.0], "b": [None, 3.0]}


@pytest.mark.parametrize(("nodes", "lines_wanted"), [(12, 20), (35, 12), (63, 8)])
def test_graphs_are_taller_where_nodes_leave_room(nodes: int, lines_wanted: int) -> None:
    async def go() -> None:
        source = FedFleet(fleet_view(nodes))
        source.fleet_history_answer = hour()
        async with following(source, (200, 60)) as stage:
            stage.app.pull_fleet()
            await stage.pilot.pause()
            assert stage.app.screen.query_one("#graphs").size.height == lines_wanted

    asyncio.run(go())


@pytest.mark.parametrize(("silent", "scale"), [(0.0, ["1", "0"]), (8.0, ["8", "4", "0"])])
def test_no_number_stands_twice_on_a_scale(silent: float, scale: list[str]) -> None:
    past = RecentHistory(step_s=10, end=NOW, values={"devices_not_answering": [silent] * 60})
    shown = texts(fleet_graphs.lines(board_of(), past, None, 200, 8)).splitlines()
    start = shown[0].index("not answering")
    column = [line[start : start + 8].strip() for line in shown[1:-1]]
    assert [number for number in column if number] == scale
