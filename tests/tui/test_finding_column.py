"""The column of what the detector found: shown where it suspects a node, and sorted by."""

import csv
import io
from typing import Any

import msgspec
import pytest

from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity, Evidence
from accelwatch.cli.fleet.tables.nodes import node_csv, node_table
from accelwatch.cli.table_lines import Style
from accelwatch.fleet.hub_client.once import FleetDocuments
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.wire import NodeFinding, NodeNow
from accelwatch.tui.drawing.glyphs import UNICODE
from accelwatch.tui.drawing.lines import plain
from accelwatch.tui.fleet import columns
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.fleet.cells.render_context import RenderContext
from accelwatch.tui.fleet.cells.verdict_cells import worst_cell
from accelwatch.tui.fleet.selected_lines import selected_lines
from accelwatch.tui.theme.preferences import Preferences
from support.dashboards.fleets import STARTED, FedFleet, FleetStage, fleet_view, on
from support.incidents.incident_documents import incident_now
from support.incidents.incident_samples import incident

WIDE = 200
ALERT = NodeFinding(
    level="alert",
    device="nvidia:GPU-000016",
    name="nvidia0",
    family="power",
    sentence="n003/nvidia0 draws 9 % less power at equal load than its 59 peers, since 03:12 UTC.",
)
WATCH = NodeFinding(
    level="watch", family="host", sentence="n004 has its load at 40 instead of 16, since 03:20 UTC."
)
FOUND = {"n003": ALERT, "n004": WATCH}


def fleet(found: dict[str, NodeFinding], **faults: str) -> FleetView:
    """Four nodes, some of which the detector suspects."""
    view = fleet_view(4, faults={name.replace("_", "/"): state for name, state in faults.items()})
    nodes = [msgspec.structs.replace(node, finding=found.get(node.node)) for node in view.nodes]
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


def heading_of(board: FleetBoard, width: int = WIDE) -> str:
    return plain(columns.heading(width, board, Preferences(), UNICODE))


def cells_of(view: FleetView, width: int = 24, **preferences: Any) -> dict[str, tuple[str, str]]:
    """Text and role of the cell of each row by its name."""
    board, context = counted(view, **preferences)
    column = next(each for each in columns.COLUMNS if each.id == "finding")
    cells = {row.node or row.group: column.cell(row, context, width) for row in board.rows}
    return {name: (plain(line).strip(), line[0][1]) for name, line in cells.items()}


@pytest.mark.parametrize("width", [WIDE, 80])
def test_the_column_is_there_where_a_node_is_suspected(width: int) -> None:
    assert "FINDING" in heading_of(counted(fleet(FOUND))[0], width)
    assert "FINDING" not in heading_of(counted(fleet({}))[0], width)


def test_a_cell_distinguishes_alert_from_watch_without_colour_and_names_the_device() -> None:
    assert cells_of(fleet(FOUND)) == {
        "n001": ("", "text"),
        "n002": ("", "text"),
        "n003": ("ALERT nvidia0 power", "bad"),
        "n004": ("watch host", "warn"),
    }
    narrow = cells_of(fleet(FOUND), 7)
    assert narrow["n003"][0].startswith("ALERT")
    assert narrow["n004"][0].startswith("watch")


def test_of_a_silent_node_it_is_not_of_now() -> None:
    assert cells_of(fleet(FOUND, n003="stale"))["n003"] == ("ALERT nvidia0 power", "faint")


def test_a_group_says_how_many_of_its_nodes_are_suspected() -> None:
    assert cells_of(fleet(FOUND), fleet_group="rack") == {"r01": ("2n", "text")}
    assert cells_of(fleet({}), fleet_group="rack") == {"r01": ("", "text")}


@pytest.mark.parametrize(
    ("descending", "names"),
    [(True, ["n003", "n004", "n001", "n002"]), (False, ["n004", "n003", "n001", "n002"])],
)
def test_rows_are_sorted_by_the_level(descending: bool, names: list[str]) -> None:
    board, _ = counted(fleet(FOUND), fleet_sort="finding", fleet_descending=descending)
    assert [row.node for row in board.rows] == names


def test_a_click_on_the_heading_sorts_by_it() -> None:
    board, _ = counted(fleet(FOUND))
    assert columns.sort_at(WIDE, board, heading_of(board).index("FINDING")) == "finding"


def selected(view: FleetView, name: str, **preferences: Any) -> tuple[str, str]:
    """Text and role of the lines of the selected row."""
    board, context = counted(view, **preferences)
    row = next(row for row in board.rows if name in (row.node, row.group))
    lines = selected_lines(row, context, WIDE, 4)
    return " ".join(plain(line).strip() for line in lines), lines[0][1][1]


def test_the_selected_row_starts_with_the_sentence() -> None:
    text, role = selected(fleet(FOUND), "n003")
    assert text.startswith(f"ALERT: {ALERT.sentence}")
    assert role == "bad"
    text, role = selected(fleet(FOUND), "n004")
    assert text.startswith(f"watch: {WATCH.sentence}")
    assert role == "warn"
    text, role = selected(fleet(FOUND), "n001")
    assert text.startswith("n001")
    assert role == "dim"


def test_of_a_node_with_a_fault_the_fault_is_first_and_the_sentence_follows() -> None:
    text, _ = selected(fleet(FOUND, n003_5="lost"), "n003")
    assert text.index("n003/nvidia5") < text.index(f"ALERT: {ALERT.sentence}")


def test_a_sentence_among_the_evidence_loses_its_full_stop() -> None:
    view = fleet(FOUND, n003_5="lost")
    board, context = counted(view)
    row = next(row for row in board.rows if row.node == "n003")
    assert row.worst is not None
    device = board.device(row.worst.slot)
    assert device is not None
    found = incident_now(
        incident(
            1,
            node="n003",
            entity=Entity(scope=Scope.DEVICE, node="n003", device=device.id),
            evidence=(
                Evidence(signal="detector", text=ALERT.sentence, source="detector"),
                Evidence(signal="xid_79", text="xid_79"),
            ),
        )
    )
    board.incidents.read_incidents(msgspec.structs.replace(view, incidents=[found]))

    text = plain(worst_cell(row, context, WIDE))

    assert f"{ALERT.sentence.removesuffix('.')}, xid_79" in text


def test_of_a_group_the_suspects_are_named_the_worst_first() -> None:
    text, role = selected(fleet(FOUND), "r01", fleet_group="rack")
    assert text.startswith("the detector suspects n003 (ALERT nvidia0 power), n004 (watch host)")
    assert role == "warn"
    assert "all well" not in text
    assert selected(fleet({}), "r01", fleet_group="rack")[0].endswith("4 nodes, all well")


def test_the_screen_shows_it() -> None:
    async def check(stage: FleetStage) -> None:
        rows = stage.rows()
        assert any("n003" in row and "ALERT" in row for row in rows)
        assert any("n004" in row and "watch" in row for row in rows)

    on(check, source=FedFleet(fleet(FOUND)))


def test_a_hub_that_reports_no_finding_is_read() -> None:
    older = msgspec.json.encode(["n001", "up", 0.4, 0, ""])
    assert msgspec.json.decode(older, type=NodeNow).finding is None
    now = NodeNow("n003", "up", 0.4, 0, finding=ALERT)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(now), type=NodeNow) == now


def table(view: FleetView, width: int | None = None) -> list[str]:
    """What `fleet --once` prints."""
    nothing = FleetDocuments(
        fleet=view.sums, fleet_json=msgspec.Raw(b"{}"), nodes=(), nodes_json=()
    )
    return node_table(view, nothing, Style(width=width))


def test_one_look_has_the_column_and_gives_it_up_for_room() -> None:
    heading, *rows = table(fleet(FOUND))
    at = heading.index("FINDING")
    assert [row[at:].strip() for row in rows] == ["-", "-", "ALERT nvidia0 power", "watch host"]
    assert "FINDING" not in table(fleet({}))[0]
    assert "FINDING" not in table(fleet(FOUND), 30)[0]


def test_csv_always_has_the_column() -> None:
    for found in (FOUND, {}):
        rows = list(csv.DictReader(io.StringIO(node_csv(fleet(found)).decode())))
        texts = [found[row["node"]].text if row["node"] in found else "" for row in rows]
        assert [row["finding"] for row in rows] == texts
