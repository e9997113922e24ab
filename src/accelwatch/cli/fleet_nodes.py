"""The nodes of a fleet as rows: a table with the worst first, or CSV."""

from collections.abc import Sequence

from accelwatch.cli.fleet_documents import csv_text, quantity_cell
from accelwatch.cli.table import Cells, Style, aligned
from accelwatch.display import duration, printable, size
from accelwatch.fleet.api.documents import NodeSummary
from accelwatch.fleet.hub_client.once import Answer
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.picture.ordering import ordered
from accelwatch.fleet.picture.tally import Counting, FleetRow
from accelwatch.schema.standing import standing

_NODE_HEADER = ["NODE", "STATE", "AGE", "DEVICES", "BAD", "BUSY", "MEMORY", "POWER", "TEMP", ""]
_NODE_COLUMNS = (
    "node",
    "state",
    "age_s",
    "devices",
    "devices_bad",
    "devices_missing",
    "utilization_ratio",
    "memory_used_bytes",
    "memory_size_bytes",
    "power_watts",
    "temperature_celsius",
)
_STATE_COLOURS = {"slow": "33", "stale": "33", "down": "31", "never": "31"}


def node_rows(view: FleetView) -> list[FleetRow]:
    """The nodes, worst first."""
    counting = Counting(view)
    for _ in counting.steps():
        pass
    counting.add_bare(lambda _: True, lambda _: "")
    return ordered(counting.rows.values(), "worst", descending=True)


def node_table(view: FleetView, answer: Answer, style: Style) -> list[str]:
    """A row a node."""
    summaries = {node.node: node for node in answer.nodes}
    rows: list[Cells] = []
    codes: list[str] = []
    for row in node_rows(view):
        rows.append(_node_cells(row, summaries.get(row.node), view, style))
        codes.append(_colour(row))
    return aligned(_NODE_HEADER, rows, style, codes)


def _colour(row: FleetRow) -> str:
    if row.state != "up":
        return _STATE_COLOURS.get(row.state, "33")
    return "33" if row.severity or row.missing else ""


def _node_cells(row: FleetRow, summary: NodeSummary | None, view: FleetView, style: Style) -> Cells:
    shown = row.speaks
    memory = f"{size(row.used)} of {size(row.size)}" if shown and row.size else "-"
    return [
        printable(row.node, ascii_only=style.ascii_only),
        row.state,
        "-" if row.age_s is None else _age(row.age_s),
        str(row.whole),
        str(row.bad) if row.bad else "-",
        quantity_cell("utilization_ratio", row.load_ratio if shown else None, style),
        memory,
        quantity_cell("power_watts", row.power if shown else None, style),
        quantity_cell("temperature_celsius", row.hottest if shown else None, style),
        printable(_remark(row, summary, view), ascii_only=style.ascii_only),
    ]


def _age(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else duration(seconds)


def _remark(row: FleetRow, summary: NodeSummary | None, view: FleetView) -> str:
    parts: list[str] = []
    if row.missing:
        parts.append(f"{row.missing} missing")
    if row.worst is not None and row.speaks:
        place = view.places[row.worst.slot]
        name = "a device" if place is None else place.name
        word = standing(row.worst.state, row.worst.health)
        parts.append(f"{name} {word}")
    if row.speaks and row.why:
        parts.append(row.why)
    faults = [] if summary is None else [target.fault for target in summary.targets if target.fault]
    if row.state != "up":
        parts += [fault.message for fault in faults[:1]]
        if summary is not None and not summary.listed:
            parts.append("no target stands for it any more")
    return "; ".join(parts)


def node_csv(view: FleetView) -> bytes:
    """A row a node; the labels are columns."""
    rows = node_rows(view)
    labels = sorted({name for row in rows for name in row.labels})
    lines: list[Sequence[object]] = [(*_NODE_COLUMNS, *(f"label_{name}" for name in labels))]
    for row in rows:
        known = row.speaks
        lines.append(
            (
                row.node,
                row.state,
                _rounded(row.age_s, 3),
                row.whole,
                row.bad,
                row.missing,
                _rounded(row.load_ratio if known else None, 6),
                int(row.used) if known and row.size else None,
                int(row.size) if known and row.size else None,
                _rounded(row.power if known else None, 3),
                row.hottest if known else None,
                *(row.labels.get(name) for name in labels),
            )
        )
    return csv_text(lines)


def _rounded(number: float | None, digits: int) -> float | None:
    return None if number is None else round(number, digits)
