"""The groups of a fleet as rows, by user, job, rack or label: a table with the worst first, or CSV."""

from collections.abc import Sequence

from accelwatch.cli.fleet_documents import counted, csv_text, quantity_cell
from accelwatch.cli.table import Cells, Style, aligned
from accelwatch.display import printable, size
from accelwatch.fleet.api.documents import GroupRow
from accelwatch.fleet.hub_client.once import Answer
from accelwatch.natural_order import natural
from accelwatch.schema.standing import BAD, SEVERITY, severity

_COLUMNS = (
    "group",
    "nodes_total",
    "devices_total",
    "worst",
    "utilization_ratio",
    "memory_used_bytes",
    "memory_size_bytes",
    "power_watts",
)
_WELL = "ok"


def group_table(answer: Answer, by: str, style: Style) -> list[str]:
    """A row a group, with what has no group as `-`."""
    header = [by.upper(), "NODES", "DEVICES", "BAD", "BUSY", "MEMORY", "POWER", "STATE", ""]
    groups = _worst_first(answer.groups)
    rows = [_cells(group, style) for group in groups]
    codes = ["" if group.worst == _WELL else "33" for group in groups]
    return aligned(header, rows, style, codes) if rows else ["no group"]


def _worst_first(groups: Sequence[GroupRow]) -> list[GroupRow]:
    return sorted(
        groups,
        key=lambda row: (-severity(row.worst), row.group is None, natural(row.group or "")),
    )


def _cells(group: GroupRow, style: Style) -> Cells:
    used, whole = group.memory_used_bytes, group.memory_size_bytes
    bad = sum(count for state, count in group.devices.items() if SEVERITY.get(state, BAD) >= BAD)
    silent = {state: count for state, count in group.nodes.items() if state != "up"}
    return [
        "-" if group.group is None else printable(group.group, ascii_only=style.ascii_only),
        str(group.nodes_total),
        str(group.devices_total),
        str(bad) if bad else "-",
        quantity_cell("utilization_ratio", group.utilization_ratio, style),
        "-" if used is None or not whole else f"{size(used)} of {size(whole)}",
        quantity_cell("power_watts", group.power_watts, style),
        group.worst,
        counted(sum(silent.values()), "node", silent) if silent else "",
    ]


def group_csv(answer: Answer) -> bytes:
    """A row a group; the group without a name has an empty one."""
    lines: list[Sequence[object]] = [_COLUMNS]
    lines += [
        tuple(getattr(group, name) for name in _COLUMNS) for group in _worst_first(answer.groups)
    ]
    return csv_text(lines)
