"""A fleet as a document: a table with the worst first, CSV, or JSON."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from accelwatch.cli.table import Cells, Style, aligned
from accelwatch.display import duration, printable, quantity, size
from accelwatch.fleet.api.documents import SCHEMA, DeviceRow, NodeSummary
from accelwatch.fleet.viewer.once import Answer
from accelwatch.schema.reading import Number
from accelwatch.tui.fleet.model import FleetView
from accelwatch.tui.fleet.ordering import ordered
from accelwatch.tui.fleet.states import device_severity
from accelwatch.tui.fleet.tally import Counting, FleetRow, natural
from accelwatch.version import __version__

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
_DEVICE_COLUMNS = (
    "node",
    "node_state",
    "id",
    "index",
    "name",
    "vendor",
    "model",
    "state",
    "health",
    "sample_age_s",
)
_STATE_COLOURS = {"slow": "33", "stale": "33", "down": "31", "never": "31"}
_WELL = frozenset({"up", "ok"})
_KILO = 1000.0


def json_document(answer: Answer, *, devices: bool, pretty: bool) -> bytes:
    """Totals and nodes as the hub's API has them, and the devices if they are wanted."""
    document: dict[str, object] = {
        "schema": SCHEMA,
        "version": __version__,
        "time": answer.fleet.time,
        "fleet": answer.fleet_json,
        "nodes": answer.nodes_json,
    }
    if devices:
        document["devices"] = answer.devices_json
    text = msgspec.json.encode(document)
    return (msgspec.json.format(text, indent=2) if pretty else text) + b"\n"


def node_rows(view: FleetView) -> list[FleetRow]:
    """The nodes, worst first."""
    counting = Counting(view)
    for _ in counting.steps():
        pass
    counting.add_bare(lambda _: True, lambda _: "")
    return ordered(counting.rows.values(), "worst", descending=True)


def heading(answer: Answer, name: str) -> str:
    """The fleet in a line."""
    fleet = answer.fleet
    moment = datetime.fromisoformat(fleet.time).astimezone()
    power = "" if fleet.power_watts is None else f"  {fleet.power_watts / _KILO:.1f} kW"
    nodes = _counted(fleet.nodes_total, "node", fleet.nodes)
    devices = _counted(fleet.devices_total, "device", fleet.devices)
    return printable(f"{name}  {moment:%Y-%m-%d %H:%M:%S %Z}  {nodes}  {devices}{power}")


def _counted(total: int, what: str, states: Mapping[str, int]) -> str:
    parts = [f"{count} {state}" for state, count in states.items() if count]
    return f"{total} {what}{'' if total == 1 else 's'}" + (
        f" ({', '.join(parts)})" if parts else ""
    )


def node_table(view: FleetView, answer: Answer, style: Style) -> list[str]:
    """A row a node."""
    told = {one.node: one for one in answer.nodes}
    rows: list[Cells] = []
    codes: list[str] = []
    for row in node_rows(view):
        rows.append(_node_cells(row, told.get(row.node), view, style))
        codes.append(_colour(row))
    return aligned(_NODE_HEADER, rows, style, codes)


def _colour(row: FleetRow) -> str:
    if row.state != "up":
        return _STATE_COLOURS.get(row.state, "33")
    return "33" if row.severity or row.missing else ""


def _node_cells(row: FleetRow, told: NodeSummary | None, view: FleetView, style: Style) -> Cells:
    shown = row.speaks
    memory = f"{size(row.used)} of {size(row.size)}" if shown and row.size else "-"
    return [
        printable(row.node, ascii_only=style.ascii_only),
        row.state,
        "-" if row.age_s is None else _age(row.age_s),
        str(row.whole),
        str(row.bad) if row.bad else "-",
        _shown("utilization_ratio", row.load_ratio if shown else None, style),
        memory,
        _shown("power_watts", row.power if shown else None, style),
        _shown("temperature_celsius", row.hottest if shown else None, style),
        printable(_remark(row, told, view), ascii_only=style.ascii_only),
    ]


def _age(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else duration(seconds)


def _shown(name: str, value: Number | None, style: Style) -> str:
    return "-" if value is None else quantity(name, value, ascii_only=style.ascii_only)


def _remark(row: FleetRow, told: NodeSummary | None, view: FleetView) -> str:
    parts: list[str] = []
    if row.missing:
        parts.append(f"{row.missing} missing")
    if row.worst is not None and row.speaks:
        place = view.places[row.worst.slot]
        name = "a device" if place is None else place.name
        word = row.worst.health if row.worst.state == "ok" else row.worst.state
        parts.append(f"{name} {word}")
    faults = [] if told is None else [target.fault for target in told.targets if target.fault]
    if row.state != "up":
        parts += [fault.message for fault in faults[:1]]
        if told is not None and not told.listed:
            parts.append("no target stands for it any more")
    return "; ".join(parts)


def device_table(answer: Answer, style: Style) -> list[str]:
    """A row a device, worst first, with the fields that were asked for."""
    devices = worst_first(answer.devices)
    names = list(devices[0].values) if devices else []
    header = ["NODE", "DEVICE", "MODEL", "STATE", *names]
    rows: list[Cells] = []
    codes: list[str] = []
    for one in devices:
        word = _word(one)
        identity = [one.node, one.name, one.model or "-", word]
        values = [_shown(name, one.values[name], style) for name in names]
        rows.append([*(printable(text, ascii_only=style.ascii_only) for text in identity), *values])
        codes.append("" if word in _WELL else "31" if device_severity(word) > 3 else "33")
    return aligned(header, rows, style, codes) if rows else ["no device"]


def _word(one: DeviceRow) -> str:
    judged = one.health if one.health not in ("ok", "unknown") else "ok"
    return judged if one.state == "ok" else one.state


def worst_first(devices: Iterable[DeviceRow]) -> list[DeviceRow]:
    """The devices by how bad their state is, then by node and index."""
    return sorted(
        devices, key=lambda one: (-device_severity(_word(one)), natural(one.node), one.index)
    )


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
    return _csv(lines)


def _rounded(number: float | None, digits: int) -> float | None:
    return None if number is None else round(number, digits)


def device_csv(answer: Answer) -> bytes:
    """A row a device; fields and labels are columns."""
    devices = worst_first(answer.devices)
    labels = sorted({name for one in devices for name in one.labels})
    names = list(devices[0].values) if devices else []
    lines: list[Sequence[object]] = [
        (*_DEVICE_COLUMNS, *names, *(f"label_{name}" for name in labels))
    ]
    for one in devices:
        identity = (getattr(one, name) for name in _DEVICE_COLUMNS)
        values = (one.values[name] for name in names)
        lines.append((*identity, *values, *(one.labels.get(name) for name in labels)))
    return _csv(lines)


def _csv(lines: Iterable[Sequence[object]]) -> bytes:
    from accelwatch_csv import guard

    def cell(value: object) -> str:
        if value is None:
            return ""
        return repr(value) if isinstance(value, int | float) else guard(str(value))

    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n")
    for line in lines:
        writer.writerow([cell(value) for value in line])
    return buffer.getvalue().encode()
