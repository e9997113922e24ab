"""Counting, grouping, ordering, filtering and laying out of a fleet, without a terminal."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.base.errors import ExpressionError
from accelwatch.fleet.picture import grouping
from accelwatch.fleet.picture.model import FIELDS, FleetView, RecentHistory
from accelwatch.fleet.picture.ordering import SORTS, ordered
from accelwatch.fleet.picture.state_counts import state_counts
from accelwatch.fleet.wire import DeviceNow
from accelwatch.schema.natural_order import natural
from accelwatch.schema.snapshot import DeviceView
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.columns import GAP
from accelwatch.tui.drawing.lines import width_of
from accelwatch.tui.events.event_lines import recent
from accelwatch.tui.feeds.hub_readings import readings_of
from accelwatch.tui.fleet import columns
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.fleet.cells.value_cells import watts
from accelwatch.tui.fleet.filters import TextFilter, condition
from accelwatch.tui.fleet.map.grid import Grid
from accelwatch.tui.fleet.node_view import NodeStatus, aged
from accelwatch.tui.theme.preferences import Preferences
from support.dashboards.fleets import FAULTS, STARTED, event, fleet_view
from support.dashboards.local import lost
from support.dashboards.local import node as machine
from support.machines.composed import GIB, NOW


def board_for(view: FleetView, **preferences: Any) -> FleetBoard:
    """A board that has counted a tick."""
    board = FleetBoard(Preferences(**preferences), lambda: STARTED, "hub")
    for _ in board.count(view):
        pass
    return board


def names(board: FleetBoard) -> list[str]:
    """Nodes and groups in their order."""
    return [row.node or f"<{row.group}>" for row in board.rows]


def test_a_node_is_counted_up_from_its_devices() -> None:
    view = fleet_view(1)
    row = board_for(view).rows[0]
    assert (row.total, row.bad, row.severity) == (8, 0, 0)
    assert row.load_ratio == pytest.approx(sum(now.values[0] or 0 for now in view.devices) / 8)
    assert row.power == pytest.approx(sum(now.values[3] or 0 for now in view.devices))
    assert row.hottest == max(now.values[4] or 0 for now in view.devices)
    assert row.size == 8 * 80 * GIB


def test_absent_values_are_left_out_and_never_zero() -> None:
    view = fleet_view(1, 2)
    nothing = DeviceNow(0, "ok", "ok", 0.1, (None,) * len(FIELDS))
    row = board_for(msgspec.structs.replace(view, devices=[nothing])).rows[0]
    assert (row.load_ratio, row.memory_ratio, row.power, row.hottest) == (None,) * 4


def test_worst_first_is_down_lost_missing_hung_failed_stale_degraded_slow() -> None:
    assert names(board_for(fleet_view(12, faults=FAULTS)))[:8] == [
        "n003",
        "n002",
        "n006",
        "n009",
        "n010",
        "n005",
        "n004",
        "n007",
    ]


@pytest.mark.parametrize("descending", [True, False])
def test_nodes_that_never_answered_stand_behind_all_others(descending: bool) -> None:
    board = board_for(
        fleet_view(6, faults={"n001": "never", "n003": "never", "n005": "down"}),
        fleet_descending=descending,
    )
    assert names(board)[-2:] == ["n001", "n003"]


def test_one_whose_devices_are_missed_was_there_once_and_stands_in_front() -> None:
    view = fleet_view(4, faults={"n001": "never"})
    nodes = [
        msgspec.structs.replace(node, devices_missing=8) if node.node == "n001" else node
        for node in view.nodes
    ]
    assert names(board_for(msgspec.structs.replace(view, nodes=nodes)))[0] == "n001"


def test_values_of_silent_nodes_count_for_no_group() -> None:
    faults = {"n001": "stale", "n002": "down"}
    board = board_for(fleet_view(3, faults=faults), fleet_group="rack")
    whole = board_for(fleet_view(3)).rows[2]
    assert board.groups[0].power == pytest.approx(whole.power)
    assert board.groups[0].total == 24
    assert board.groups[0].bad == 16


def test_partitions_count_for_their_owners_and_not_for_their_node() -> None:
    view = fleet_view(1, 1)
    parent = view.slots[0]
    assert parent is not None
    halves = [
        msgspec.structs.replace(
            parent, slot=n, id=f"{parent.id}/{n}", parent_id=parent.id, user=user, job=None
        )
        for n, user in ((1, "ada"), (2, "grace"))
    ]
    values = (0.5, GIB, 40 * GIB, None, None, None, None)
    parts = [DeviceNow(n, "ok", "ok", 0.1, values) for n in (1, 2)]
    split = msgspec.structs.replace(view, slots=[parent, *halves], devices=[*view.devices, *parts])
    assert board_for(split).rows[0].total == 1
    by_user = board_for(split, fleet_group="user")
    assert {row.group: row.used for row in by_user.groups} == {"ada": GIB, "grace": GIB}


def test_without_the_label_partition_it_is_the_queue() -> None:
    assert "<batch>" in names(board_for(fleet_view(4), fleet_group="partition"))
    view = fleet_view(1)
    slot = view.slots[0]
    assert slot is not None
    labelled = [
        msgspec.structs.replace(one, labels={"partition": "gpu"}) for one in view.slots if one
    ]
    view = msgspec.structs.replace(view, slots=labelled, node_labels={"n001": {"partition": "gpu"}})
    assert names(board_for(view, fleet_group="partition")) == ["<gpu>"]


def test_the_group_key_goes_round_and_the_picker_knows_all_labels() -> None:
    name, seen = "none", []
    for _ in range(5):
        name = grouping.following(name)
        seen.append(name)
    assert seen == ["rack", "partition", "job", "user", "none"]
    assert grouping.following("zone") == "none"
    assert {"rack", "zone", "pod", "model"} <= set(grouping.choices({"zone"}))


def test_nodes_of_several_hubs_are_grouped_by_hub_first() -> None:
    labels = {"rack", "hub"}
    assert grouping.following("none", labels) == "hub"
    assert grouping.following("hub", labels) == "rack"
    assert grouping.following("user", labels) == "none"
    assert grouping.following("none", {"rack"}) == "rack"


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("descending", [True, False])
def test_every_order_keeps_all_rows_and_puts_what_is_unknown_last(
    sort: str, descending: bool
) -> None:
    board = board_for(fleet_view(12, faults=FAULTS))
    given = ordered(board.rows, sort, descending=descending)
    assert len(given) == 12
    if sort in ("load", "power", "memory", "temperature"):
        assert {row.node for row in given[-3:]} == {"n003", "n005", "n012"}


def test_names_are_ordered_as_people_count() -> None:
    assert sorted(["n10", "n9", "n2b", "n2a"], key=natural) == ["n2a", "n2b", "n9", "n10"]


def test_plain_text_is_looked_for_in_owners_labels_models_and_states() -> None:
    view = fleet_view(12, faults=FAULTS)

    def found(text: str) -> set[str]:
        board = FleetBoard(Preferences(), lambda: STARTED, "hub")
        board.text = TextFilter(text)
        for _ in board.count(view):
            pass
        return set(names(board))

    assert found("48101") == {"n003", "n004"}
    assert found("R02") == {"n009", "n010", "n011", "n012"}
    assert found("missing") == {"n006"}
    assert "n003" in found("mi300x")
    assert found("never") == {"n012"}
    assert found("nothing like it") == set()


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("", ""),
        ("ada", ""),
        ('user == "ada"', 'user == "ada"'),
        (
            'rack == "r01" and temperature_celsius > 80',
            'rack == "r01" and temperature_celsius > 80',
        ),
        ('state == "missing"', 'state == "missing"'),
        ('node_state == "down"', 'node_state == "down"'),
    ],
)
def test_conditions_are_the_hubs_and_words_are_ours(text: str, sent: str) -> None:
    assert condition(text, {"rack"}) == sent


@pytest.mark.parametrize("text", ['usr == "ada"', 'state == "gone"', "power_watts >", "zone == 1"])
def test_wrong_conditions_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        condition(text, {"rack"})


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (642, "642 W"),
        (999.7, "1.0 kW"),
        (4820, "4.8 kW"),
        (312_400, "312 kW"),
        (1_240_000, "1.24 MW"),
    ],
)
def test_power_is_shown_with_a_fitting_unit(value: float | None, shown: str) -> None:
    assert watts(value) == shown


@given(width=st.integers(20, 260), name=st.integers(1, 60), odd=st.booleans())
def test_columns_never_take_more_than_the_width(width: int, name: int, odd: bool) -> None:
    layout = columns.layout(width, name, odd=odd)
    assert sum(size + GAP for _, size in layout) - GAP + 1 <= max(width, 41)
    assert {"node", "count", "worst"} <= {column.id for column, _ in layout}


@given(
    counts=st.lists(st.integers(0, 40), min_size=1, max_size=30),
    width=st.integers(10, 160),
    height=st.integers(1, 60),
    lost=st.integers(0, 39),
)
def test_every_light_is_found_where_it_is_drawn(
    counts: list[int], width: int, height: int, lost: int
) -> None:
    whole = fleet_view(len(counts), 40, faults={f"n001/{lost}": "lost"})
    names = {node.node: count for node, count in zip(whole.nodes, counts, strict=True)}
    devices = [
        now
        for now in whole.devices
        if (slot := whole.slots[now.slot]) is not None and slot.index < names[slot.node]
    ]
    board = board_for(msgspec.structs.replace(whole, devices=devices))
    grid = Grid(board.rows, (), width, height)
    assert grid.count == sum(max(count, 1) for count in counts)
    for number in range(grid.count):
        cell = grid.numbered(number)
        found = grid.find(cell)
        assert found is not None
        assert grid.at(*found) == cell
        assert found[1] < width
        assert grid.number(cell) == number


def test_heading_and_row_have_the_same_width() -> None:
    board = board_for(fleet_view(2))
    for width in (40, 80, 140):
        heading = columns.heading(width, board, Preferences(), _glyphs())
        assert width_of(heading) == width


def _glyphs() -> Any:
    from accelwatch.tui.drawing.glyphs import UNICODE

    return UNICODE


def test_events_of_the_last_hour_are_counted() -> None:
    old = event(0, time=NOW - 4000)
    assert recent([old, event(1), event(2)], NOW) == 2
    assert recent([], NOW) == 0


def test_a_silent_nodes_devices_have_no_values_and_lost_ones_stay_lost() -> None:
    shot = machine(3, d1=lost(1))
    status = NodeStatus(node="n001", state="down", age_s=90.0)
    shown: tuple[DeviceView, ...] = aged(shot, status).devices
    assert [fmt.status_text(view) for view in shown] == ["stale", "lost", "stale"]
    assert shown[0].reading.values == {}
    assert shown[0].state_since == shot.time - 90
    assert aged(shot, NodeStatus(node="n001", state="slow", age_s=4.0)) is shot


def test_history_of_the_hub_becomes_readings() -> None:
    past = RecentHistory(
        step_s=10,
        end=100.0,
        values={"power_watts": [None, 5.0], "temperature_celsius.gpu": [None, None]},
    )
    found = list(readings_of(past, 80))
    assert [(time, reading.values) for time, reading in found] == [
        (100.0, {("power_watts",): 5.0, ("memory_size_bytes",): 80})
    ]


@pytest.mark.parametrize("held", ["", 'state == "lost"'])
def test_devices_of_a_bad_health_are_distinguished_whatever_the_filter(held: str) -> None:
    whole = fleet_view(12, faults={**FAULTS, "n004/6": "degraded", "n004/6!": "failed"})
    kept = [now for now in whole.devices if not held or now.state == "lost"]
    board = board_for(msgspec.structs.replace(whole, devices=kept, filter=held))
    counts = {word: count for word, count in board.status_counts.items() if count}
    assert counts["failed"] == 2
    assert counts["degraded"] == 1
    assert counts["lost"] == 2
    assert counts["unresponsive"] == 1
    assert counts["missing"] == 1
    assert sum(counts.values()) == whole.sums.devices_total


@pytest.mark.parametrize(
    ("devices", "health", "counts"),
    [
        ({"ok": 8}, {}, {"ok": 8, "degraded": 0, "failed": 0}),
        ({"ok": 6, "degraded": 2}, {"ok": 6}, {"ok": 6, "degraded": 2, "failed": 0}),
        ({"ok": 7, "lost": 1}, {"ok": 7, "failed": 1}, {"ok": 7, "degraded": 0, "failed": 0}),
        ({"lost": 2}, {"failed": 2}, {"ok": 0, "degraded": 0, "failed": 0}),
        ({"ok": 1}, {"failed": 9, "degraded": 9}, {"ok": 0, "degraded": 0, "failed": 1}),
    ],
)
def test_sums_of_any_hub_are_shown_as_statuses(
    devices: dict[str, int], health: dict[str, int], counts: dict[str, int]
) -> None:
    found = state_counts(devices, health)
    assert {word: found[word] for word in counts} == counts
    assert sum(found.values()) == sum(devices.values())
