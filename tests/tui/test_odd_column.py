"""The column of what differs: shown where a node differs, sorted by, and told of the selected row."""

import csv
import io
from typing import Any

import msgspec
import pytest

from accelwatch.cli.fleet.tables.nodes import node_csv, node_table
from accelwatch.cli.table_lines import Style
from accelwatch.fleet.hub_client.once import FleetDocuments
from accelwatch.fleet.odd.documents import Deviation
from accelwatch.fleet.picture.model import FleetView
from accelwatch.tui.drawing.glyphs import UNICODE
from accelwatch.tui.drawing.lines import plain
from accelwatch.tui.fleet import columns
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.fleet.cells.render_context import RenderContext
from accelwatch.tui.fleet.selected_lines import selected_lines
from accelwatch.tui.theme.preferences import Preferences
from support.dashboards.fleets import STARTED, fleet_view

WIDE = 200
DRIVER = Deviation(field="driver", value="550.2", usual="570.1", usual_nodes=3, nodes=4)
KERNEL = Deviation(field="kernel", value="5.15.0", usual="6.8.0", usual_nodes=3, nodes=4)
ODD = {"n003": (DRIVER,), "n004": (DRIVER, KERNEL)}


def fleet(marks: dict[str, tuple[Deviation, ...]]) -> FleetView:
    """Four nodes, some of which differ."""
    view = fleet_view(4)
    nodes = [msgspec.structs.replace(node, odd=marks.get(node.node, ())) for node in view.nodes]
    return msgspec.structs.replace(view, nodes=nodes)


def seen(view: FleetView, **preferences: Any) -> tuple[FleetBoard, RenderContext]:
    """A board that has counted a tick, and how it is looked at."""
    chosen = Preferences(**preferences)
    board = FleetBoard(chosen, lambda: STARTED, "hub")
    for _ in board.count(view):
        pass
    return board, RenderContext(
        board=board,
        glyphs=UNICODE,
        group=chosen.fleet_group,
        shade="load",
        plot="braille",
        since_s=0.0,
        silent=False,
    )


def cells_of(view: FleetView, **preferences: Any) -> dict[str, str]:
    """The cell of each row by its name; empty where the column is not shown."""
    board, context = seen(view, **preferences)
    column = next(one for one in columns.COLUMNS if one.id == "odd")
    heading = plain(columns.heading(WIDE, board, Preferences(**preferences), UNICODE))
    assert ("ODD" in heading) is board.has_odd
    if not board.has_odd:
        return {}
    return {
        row.node or row.group: plain(column.cell(row, context, 14)).strip() for row in board.rows
    }


def test_there_is_no_column_where_all_are_alike() -> None:
    assert cells_of(fleet({})) == {}


def test_a_node_that_differs_names_the_fields_and_one_that_does_not_is_empty() -> None:
    assert cells_of(fleet(ODD)) == {
        "n001": "",
        "n002": "",
        "n003": "driver",
        "n004": "driver kernel",
    }


def test_a_group_says_how_many_of_its_nodes_differ() -> None:
    assert cells_of(fleet(ODD), fleet_group="rack") == {"r01": "2n"}


@pytest.mark.parametrize(
    ("descending", "names"),
    [(True, ["n004", "n003", "n001", "n002"]), (False, ["n003", "n004", "n001", "n002"])],
)
def test_rows_are_sorted_by_in_how_much_they_differ(descending: bool, names: list[str]) -> None:
    board, _ = seen(fleet(ODD), fleet_sort="odd", fleet_descending=descending)
    assert [row.node for row in board.rows] == names


def test_a_click_on_the_heading_sorts_by_it() -> None:
    board, _ = seen(fleet(ODD))
    heading = plain(columns.heading(WIDE, board, Preferences(), UNICODE))
    assert columns.sort_at(WIDE, board, heading.index("ODD")) == "odd"


def test_the_selected_row_shows_the_values_and_one_that_is_alike_does_not() -> None:
    board, context = seen(fleet(ODD))
    lines = {
        row.node: " ".join(plain(line) for line in selected_lines(row, context, WIDE, 3))
        for row in board.rows
    }
    assert "driver 550.2 (3 of 4 nodes have 570.1)" in lines["n003"]
    assert "nodes have" not in lines["n001"]


def table(view: FleetView, width: int | None = None) -> list[str]:
    """What `fleet --once` prints."""
    nothing = FleetDocuments(
        fleet=view.sums, fleet_json=msgspec.Raw(b"{}"), nodes=(), nodes_json=()
    )
    return node_table(view, nothing, Style(width=width))


def test_one_look_has_the_column_where_a_node_differs_and_gives_it_up_for_room() -> None:
    heading, *rows = table(fleet(ODD))
    at = heading.index("ODD")
    assert [row[at:].strip() for row in rows] == ["-", "-", "driver", "driver kernel"]
    assert "ODD" not in table(fleet({}))[0]
    assert "ODD" not in table(fleet(ODD), 30)[0]


def test_csv_always_has_the_column() -> None:
    for marks in (ODD, {}):
        rows = csv.DictReader(io.StringIO(node_csv(fleet(marks)).decode()))
        fields = [" ".join(mark.field for mark in marks.get(row["node"], ())) for row in rows]
        again = csv.DictReader(io.StringIO(node_csv(fleet(marks)).decode()))
        assert [row["odd"] for row in again] == fields
