"""A fleet as a document: JSON, and what tables and CSV of its rows have in common."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from accelwatch.base.untrusted_text import cell_text
from accelwatch.base.version import __version__
from accelwatch.cli.table_lines import Style
from accelwatch.fleet.hub_client.once import FleetDocuments
from accelwatch.fleet.hub_states import HUB_UP, HubState
from accelwatch.fleet.picture.state_counts import state_counts
from accelwatch.fleet.wire import SCHEMA
from accelwatch.schema.display import printable, quantity
from accelwatch.schema.reading import Number
from accelwatch.schema.status.device_status import severity, state_label

_KILO = 1000.0


def json_document(answer: FleetDocuments, *, rows: str, pretty: bool) -> bytes:
    """Totals and nodes as the hub's API has them, and `devices` or `groups` if those are wanted."""
    document: dict[str, object] = {
        "schema": SCHEMA,
        "version": __version__,
        "time": answer.fleet.time,
        "fleet": answer.fleet_json,
        "nodes": answer.nodes_json,
    }
    if answer.hubs:
        document["hubs"] = answer.hubs
    if rows != "nodes":
        document[rows] = answer.more_json
    text = msgspec.json.encode(document)
    return (msgspec.json.format(text, indent=2) if pretty else text) + b"\n"


def heading(answer: FleetDocuments, name: str) -> str:
    """The fleet in a line."""
    fleet = answer.fleet
    local_time = datetime.fromisoformat(fleet.time).astimezone()
    power = "" if fleet.power_watts is None else f"  {fleet.power_watts / _KILO:.1f} kW"
    nodes = counted(fleet.nodes_total, "node", fleet.nodes)
    counts = state_counts(fleet.devices, fleet.health)
    worst_first = sorted(counts, key=severity, reverse=True)
    device_counts = {state_label(state): counts[state] for state in worst_first}
    devices = counted(fleet.devices_total, "device", device_counts)
    return printable(f"{name}  {local_time:%Y-%m-%d %H:%M:%S %Z}  {nodes}  {devices}{power}")


def hub_lines(answer: FleetDocuments) -> list[str]:
    """Each of several hubs in a line; empty where there is one."""
    return [printable(f"  {_hub_text(hub)}") for hub in answer.hubs]


def _hub_text(hub: HubState) -> str:
    if hub.age_s is None:
        return f"{hub.name}  {hub.state}: {hub.fault}"
    nodes, devices = counted(hub.nodes_total, "node", {}), counted(hub.devices_total, "device", {})
    size = f"{nodes}  {devices}"
    if hub.state == HUB_UP:
        return f"{hub.name}  {hub.state}  {size}"
    return f"{hub.name}  {hub.state}  {size}, as of {hub.age_s:.0f} s ago: {hub.fault}"


def counted(total: int, what: str, states: Mapping[str, int]) -> str:
    """`63 nodes (61 up, 2 down)`."""
    texts = [f"{count} {state}" for state, count in states.items() if count]
    return f"{total} {what}{'' if total == 1 else 's'}" + (
        f" ({', '.join(texts)})" if texts else ""
    )


def quantity_cell(name: str, value: Number | None, style: Style) -> str:
    """A quantity as a cell."""
    return "-" if value is None else quantity(name, value, ascii_only=style.ascii_only)


def csv_text(lines: Iterable[Sequence[object]]) -> bytes:
    """Rows as RFC 4180; None is an empty cell."""

    def cell(value: object) -> str:
        if value is None:
            return ""
        return repr(value) if isinstance(value, int | float) else cell_text(str(value))

    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n")
    for line in lines:
        writer.writerow([cell(value) for value in line])
    return buffer.getvalue().encode()
