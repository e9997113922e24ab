"""The devices of a fleet as rows: a table with the worst first, or CSV."""

from collections.abc import Iterable, Sequence

from accelwatch.cli.fitted import fitted
from accelwatch.cli.fleet.tables.documents import csv_text, quantity_cell
from accelwatch.cli.table_lines import Cells, Style
from accelwatch.fleet.documents.fleet import DEFAULT_FIELDS, DeviceRow
from accelwatch.fleet.hub_client.once import FleetDocuments
from accelwatch.fleet.names import HUB_LABEL
from accelwatch.schema.display import printable
from accelwatch.schema.natural_order import natural
from accelwatch.schema.status.device_status import effective_state, severity, state_label

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
_WELL = frozenset({"up", "ok"})


def device_table(answer: FleetDocuments, style: Style) -> list[str]:
    """A row a device, worst first, with the requested fields."""
    devices = worst_first(answer.devices)
    names = list(devices[0].values) if devices else []
    header = ["NODE", *(["HUB"] if answer.hubs else []), "DEVICE", "MODEL", "STATE", *names]
    rows: list[Cells] = []
    codes: list[str] = []
    for row in devices:
        state = _state_of(row)
        hub = [row.labels.get(HUB_LABEL, "-")] if answer.hubs else []
        identity = [row.node, *hub, row.name, row.model or "-", state_label(state)]
        values = [quantity_cell(name, row.values[name], style) for name in names]
        rows.append([*(printable(text, ascii_only=style.ascii_only) for text in identity), *values])
        codes.append("" if state in _WELL else "31" if severity(state) > 3 else "33")
    if not rows:
        return ["no device"]
    return fitted(header, rows, style, codes, shortened="MODEL", dropped=names[:0:-1])


def _state_of(row: DeviceRow) -> str:
    return effective_state(row.state, row.health)


def worst_first(devices: Iterable[DeviceRow]) -> list[DeviceRow]:
    """The devices by how bad their state is, then by node and index."""
    return sorted(
        devices, key=lambda row: (-severity(_state_of(row)), natural(row.node), row.index)
    )


def device_csv(answer: FleetDocuments, fields: Sequence[str]) -> bytes:
    """A row a device; fields, requested or default, and labels are columns.

    The columns are the same whichever devices there are, also where there is none.
    """
    devices = worst_first(answer.devices)
    of_nodes = {name for node in answer.nodes for name in node.labels}
    labels = sorted(of_nodes.union(*(row.labels for row in devices)))
    names = list(devices[0].values if devices else dict.fromkeys(fields or DEFAULT_FIELDS))
    lines: list[Sequence[object]] = [
        (*_DEVICE_COLUMNS, *names, *(f"label_{name}" for name in labels))
    ]
    for row in devices:
        identity = (getattr(row, name) for name in _DEVICE_COLUMNS)
        values = (row.values[name] for name in names)
        lines.append((*identity, *values, *(row.labels.get(name) for name in labels)))
    return csv_text(lines)
