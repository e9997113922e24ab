"""The nodes of a fleet as rows: a table with the worst first, or CSV."""

from collections.abc import Iterable, Sequence

import msgspec

from accelwatch.cli.fitted import fitted
from accelwatch.cli.fleet.tables.documents import csv_text, quantity_cell
from accelwatch.cli.table_lines import Cells, Style
from accelwatch.fleet.documents.fleet import NodeSummary
from accelwatch.fleet.hub_client.once import FleetDocuments
from accelwatch.fleet.names import HUB_LABEL
from accelwatch.fleet.odd.documents import fields_of
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.picture.ordering import ordered
from accelwatch.fleet.picture.tally import Counting, FleetRow
from accelwatch.schema.display import duration, printable, size
from accelwatch.schema.status.device_status import effective_state, state_label

_NODE_HEADER = ["NODE", "STATE", "AGE", "OK/ALL", "LOAD", "MEMORY", "POWER", "TEMP"]
# Column of the fields in which nodes differ from the many alike; shown where one does.
_ODD = "ODD"
# Column of the hardware that has failed again and again; shown where a node has some.
_LEMON = "LEMON"
# Column of what the detector found; shown where it suspects a node.
_FINDING = "FINDING"
# Column of the hubs that follow a node; shown where there are several.
_HUB = "HUB"
# Columns that are left out, in this order, where the terminal is too narrow for them.
_SPARE = ("MEMORY", "TEMP", "POWER", "AGE", _ODD, _LEMON, _FINDING)
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
    "odd",
    "lemon",
    "finding",
)
_STATE_COLOURS = {"slow": "33", "stale": "33", "down": "31", "never": "31"}


def node_rows(view: FleetView, summaries: Iterable[NodeSummary]) -> list[FleetRow]:
    """The nodes, worst first; `summaries` have the labels of those without a device in the view."""
    labels = {**{node.node: node.labels for node in summaries}, **view.node_labels}
    counting = Counting(msgspec.structs.replace(view, node_labels=labels))
    for _ in counting.steps():
        pass
    counting.add_bare(lambda _: True, lambda _: "")
    return ordered(counting.rows.values(), "worst", descending=True)


def node_table(view: FleetView, answer: FleetDocuments, style: Style) -> list[str]:
    """A row a node."""
    summaries = {node.node: node for node in answer.nodes}
    rows = node_rows(view, answer.nodes)
    remarks = [_remark(row, summaries.get(row.node), view) for row in rows]
    several = bool(answer.hubs)
    more = {
        title: cell_of
        for title, cell_of, shown in (
            (_HUB, _hub, several),
            (_ODD, _odd, any(row.odd for row in rows)),
            (_LEMON, _lemon, any(row.lemon for row in rows)),
            (_FINDING, _finding, any(row.finding for row in rows)),
        )
        if shown
    }
    header = [*_NODE_HEADER, *more]
    return fitted(
        header,
        [
            [*_node_cells(row, style), *(cell_of(row, style) for cell_of in more.values())]
            for row in rows
        ],
        style,
        [_colour(row) for row in rows],
        remarks=[printable(text, ascii_only=style.ascii_only) for text in remarks],
        shortened="NODE",
        dropped=[title for title in _SPARE if title in header],
    )


def _colour(row: FleetRow) -> str:
    if row.state != "up":
        return _STATE_COLOURS.get(row.state, "33")
    return "33" if row.severity or row.missing else ""


def _node_cells(row: FleetRow, style: Style) -> Cells:
    shown = row.speaks
    memory = f"{size(row.used)} of {size(row.size)}" if shown and row.size else "-"
    return [
        printable(row.node, ascii_only=style.ascii_only),
        row.state,
        "-" if row.age_s is None else _age(row.age_s),
        f"{row.total - row.bad}/{row.total}" if row.total else "-",
        quantity_cell("utilization_ratio", row.load_ratio if shown else None, style),
        memory,
        quantity_cell("power_watts", row.power if shown else None, style),
        quantity_cell("temperature_celsius", row.hottest if shown else None, style),
    ]


def _hub(row: FleetRow, style: Style) -> str:
    return printable(row.labels.get(HUB_LABEL, ""), ascii_only=style.ascii_only) or "-"


def _odd(row: FleetRow, style: Style) -> str:
    return printable(" ".join(fields_of(row.odd)), ascii_only=style.ascii_only) or "-"


def _lemon(row: FleetRow, style: Style) -> str:
    text = "" if row.lemon is None else row.lemon.text
    return printable(text, ascii_only=style.ascii_only) or "-"


def _finding(row: FleetRow, style: Style) -> str:
    text = "" if row.finding is None else row.finding.text
    return printable(text, ascii_only=style.ascii_only) or "-"


def _age(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else duration(seconds)


def _remark(row: FleetRow, summary: NodeSummary | None, view: FleetView) -> str:
    remarks: list[str] = []
    if row.missing:
        remarks.append(f"{row.missing} missing")
    if row.worst is not None and row.speaks:
        device = view.slots[row.worst.slot]
        name = "a device" if device is None else device.name
        state = state_label(effective_state(row.worst.state, row.worst.health))
        remarks.append(f"{name} {state}")
    if row.speaks and row.why:
        remarks.append(row.why)
    faults = [] if summary is None else [target.fault for target in summary.targets if target.fault]
    if row.state != "up":
        remarks += [fault.message for fault in faults[:1]]
        if summary is not None and not summary.listed:
            remarks.append("it is no longer a target")
    return "; ".join(remarks)


def node_csv(view: FleetView, summaries: Iterable[NodeSummary] = ()) -> bytes:
    """A row a node; the labels are columns."""
    rows = node_rows(view, summaries)
    labels = sorted({name for row in rows for name in row.labels})
    lines: list[Sequence[object]] = [(*_NODE_COLUMNS, *(f"label_{name}" for name in labels))]
    for row in rows:
        is_reporting = row.speaks
        lines.append(
            (
                row.node,
                row.state,
                _rounded(row.age_s, 3),
                row.total,
                row.bad,
                row.missing,
                _rounded(row.load_ratio if is_reporting else None, 6),
                int(row.used) if is_reporting and row.size else None,
                int(row.size) if is_reporting and row.size else None,
                _rounded(row.power if is_reporting else None, 3),
                row.hottest if is_reporting else None,
                " ".join(fields_of(row.odd)) or None,
                None if row.lemon is None else row.lemon.text,
                None if row.finding is None else row.finding.text,
                *(row.labels.get(name) for name in labels),
            )
        )
    return csv_text(lines)


def _rounded(number: float | None, digits: int) -> float | None:
    return None if number is None else round(number, digits)
