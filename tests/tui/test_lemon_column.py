"""The column of hardware that fails again and again: shown where a node has some, and sorted by."""

import csv
import io
from typing import Any

import msgspec
import pytest

from accelwatch.cli.fleet.tables.nodes import node_csv, node_table
from accelwatch.cli.table_lines import Style
from accelwatch.fleet.hub_client.once import FleetDocuments
from accelwatch.fleet.lemons.documents import Blamed, LemonNote
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
LAST = "2026-11-20T03:12:00.000Z"
GPU = LemonNote(blamed=Blamed.DEVICE_OR_SLOT, device="nvidia2", faults=3, score=2.4, last=LAST)
NODE = LemonNote(blamed=Blamed.NODE, device="", faults=4, score=1.2, last=LAST)
LEMONS = {"n003": GPU, "n004": NODE}
DRIVER = Deviation(field="driver", value="550.2", usual="570.1", usual_nodes=3, nodes=4)


def fleet(notes: dict[str, LemonNote], odd: tuple[Deviation, ...] = ()) -> FleetView:
    """Four nodes, in some of which something has failed again and again."""
    view = fleet_view(4)
    nodes = [
        msgspec.structs.replace(node, lemon=notes.get(node.node), odd=odd) for node in view.nodes
    ]
    return msgspec.structs.replace(view, nodes=nodes)


def counted(view: FleetView, **preferences: Any) -> tuple[FleetBoard, RenderContext]:
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


def heading_of(board: FleetBoard, **preferences: Any) -> str:
    return plain(columns.heading(WIDE, board, Preferences(**preferences), UNICODE))


def cells_of(view: FleetView, **preferences: Any) -> dict[str, str]:
    board, context = counted(view, **preferences)
    column = next(each for each in columns.COLUMNS if each.id == "lemon")
    assert "LEMON" in heading_of(board, **preferences)
    return {
        row.node or row.group: plain(column.cell(row, context, 14)).strip() for row in board.rows
    }


@pytest.mark.parametrize("odd", [(), (DRIVER,)])
def test_the_column_is_there_where_a_node_has_some_whatever_else_is(
    odd: tuple[Deviation, ...],
) -> None:
    for notes in ({}, LEMONS):
        heading = heading_of(counted(fleet(notes, odd))[0])
        assert ("LEMON" in heading, "ODD" in heading) == (bool(notes), bool(odd))


def test_a_cell_says_how_often_what_has_failed() -> None:
    assert cells_of(fleet(LEMONS)) == {
        "n001": "",
        "n002": "",
        "n003": "3x nvidia2",
        "n004": "4x node",
    }


def test_a_group_says_how_many_of_its_nodes_have_some() -> None:
    assert cells_of(fleet(LEMONS), fleet_group="rack") == {"r01": "2n"}


@pytest.mark.parametrize(
    ("descending", "names"),
    [(True, ["n003", "n004", "n001", "n002"]), (False, ["n004", "n003", "n001", "n002"])],
)
def test_rows_are_sorted_by_the_score(descending: bool, names: list[str]) -> None:
    board, _ = counted(fleet(LEMONS), fleet_sort="lemon", fleet_descending=descending)
    assert [row.node for row in board.rows] == names


def test_a_click_on_the_heading_sorts_by_it() -> None:
    board, _ = counted(fleet(LEMONS))
    assert columns.sort_at(WIDE, board, heading_of(board).index("LEMON")) == "lemon"


def test_the_selected_row_says_how_often_and_when_last() -> None:
    board, context = counted(fleet(LEMONS))
    texts = {
        row.node: " ".join(plain(line) for line in selected_lines(row, context, WIDE, 3))
        for row in board.rows
    }
    assert "nvidia2: 3 confirmed faults in 28 days, the last on 2026-11-20" in texts["n003"]
    assert "node: 4 confirmed faults in 28 days" in texts["n004"]
    assert "faults" not in texts["n001"]


def table(view: FleetView, width: int | None = None) -> list[str]:
    """What `fleet --once` prints."""
    nothing = FleetDocuments(
        fleet=view.sums, fleet_json=msgspec.Raw(b"{}"), nodes=(), nodes_json=()
    )
    return node_table(view, nothing, Style(width=width))


def test_one_look_has_the_column_and_gives_it_up_for_room() -> None:
    heading, *rows = table(fleet(LEMONS, (DRIVER,)))
    at = heading.index("LEMON")
    assert [row[at:].strip() for row in rows] == ["-", "-", "3x nvidia2", "4x node"]
    assert "driver" in rows[0]
    assert "LEMON" not in table(fleet({}))[0]
    assert "LEMON" not in table(fleet(LEMONS), 30)[0]


def test_csv_always_has_the_column() -> None:
    for notes in (LEMONS, {}):
        rows = list(csv.DictReader(io.StringIO(node_csv(fleet(notes)).decode())))
        texts = [notes[row["node"]].text if row["node"] in notes else "" for row in rows]
        assert [row["lemon"] for row in rows] == texts
