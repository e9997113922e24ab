"""The groups of a fleet as rows, by user, job, rack or label: a table with the worst first, or CSV."""

from collections.abc import Sequence

from accelwatch.cli.fitted import fitted
from accelwatch.cli.fleet.tables.documents import counted, csv_text, quantity_cell
from accelwatch.cli.table_lines import Cells, Style
from accelwatch.fleet.documents.fleet import GroupRow
from accelwatch.fleet.hub_client.once import FleetDocuments
from accelwatch.fleet.names import NODE_SEVERITY
from accelwatch.fleet.picture.state_counts import bad_of, state_counts
from accelwatch.schema.display import printable, size
from accelwatch.schema.natural_order import natural
from accelwatch.schema.status.device_status import severity, state_label

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
# Columns that are left out, in this order, where the terminal is too narrow for them.
_SPARE = ("MEMORY", "POWER", "LOAD")


def group_table(answer: FleetDocuments, by: str, style: Style) -> list[str]:
    """A row a group, with what has no group as `-`."""
    groups = _worst_first(answer.groups)
    if not groups:
        return ["no group"]
    header = [by.upper(), "NODES", "OK/ALL", "LOAD", "MEMORY", "POWER", "STATE"]
    return fitted(
        header,
        [_cells(group, style) for group in groups],
        style,
        ["" if _severity(group) == 0 else "33" for group in groups],
        remarks=[_remark(group) for group in groups],
        shortened=by.upper(),
        dropped=_SPARE,
    )


def _worst_first(groups: Sequence[GroupRow]) -> list[GroupRow]:
    """As the nodes of the groups stand: by the worst of them, then by how many devices are bad."""
    return sorted(
        groups,
        key=lambda row: (-_severity(row), -_bad(row), row.group is None, natural(row.group or "")),
    )


def _bad(group: GroupRow) -> int:
    return bad_of(state_counts(group.devices, group.health))


def _worst_node(group: GroupRow) -> str:
    """The worst state of a node."""
    states = [state for state, count in group.nodes.items() if count]
    return max(states, key=lambda state: NODE_SEVERITY.get(state, 0), default="up")


def _severity(group: GroupRow) -> int:
    return max(severity(group.worst), NODE_SEVERITY.get(_worst_node(group), 0))


def _state(group: GroupRow) -> str:
    """The worst of nodes and devices in a word."""
    node = _worst_node(group)
    of_node = NODE_SEVERITY.get(node, 0)
    return node if of_node and of_node >= severity(group.worst) else state_label(group.worst)


def _cells(group: GroupRow, style: Style) -> Cells:
    used, total = group.memory_used_bytes, group.memory_size_bytes
    return [
        "-" if group.group is None else printable(group.group, ascii_only=style.ascii_only),
        str(group.nodes_total),
        f"{group.devices_total - _bad(group)}/{group.devices_total}",
        quantity_cell("utilization_ratio", group.utilization_ratio, style),
        "-" if used is None or not total else f"{size(used)} of {size(total)}",
        quantity_cell("power_watts", group.power_watts, style),
        _state(group),
    ]


def _remark(group: GroupRow) -> str:
    """The nodes that are not up."""
    silent = {state: count for state, count in group.nodes.items() if state != "up" and count}
    return counted(sum(silent.values()), "node", silent) if silent else ""


def group_csv(answer: FleetDocuments) -> bytes:
    """A row a group; the group without a name has an empty one."""
    lines: list[Sequence[object]] = [_COLUMNS]
    lines += [
        tuple(getattr(group, name) for name in _COLUMNS) for group in _worst_first(answer.groups)
    ]
    return csv_text(lines)
