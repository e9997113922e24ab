"""Processes of the one-shot table: a row a process, however many devices it is on."""

from collections.abc import Sequence

from accelwatch.base.names.numbered_names import numbered
from accelwatch.cli.fitted import fitted
from accelwatch.cli.table_lines import Cells, Style
from accelwatch.schema.display import printable, size
from accelwatch.schema.natural_order import natural
from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import Snapshot

_MOST = 40
_HEADER = ["DEVICE", "PID", "USER", "TYPE", "MEMORY", "WHERE", "COMMAND"]
# Columns that are left out, in this order, where the terminal is too narrow for them.
_SPARE = ("TYPE", "WHERE", "USER", "MEMORY")
_MOST_WHERE = 24


def processes_table(snapshot: Snapshot, style: Style) -> list[str]:
    """Lines of the process table; empty without processes."""
    names = {view.device.id: view.device.name for view in snapshot.devices}
    groups: dict[tuple[str, int, float | None], list[Process]] = {}
    for process in snapshot.processes():
        key = process.pid_namespace, process.pid, process.start_time
        groups.setdefault(key, []).append(process)
    if not groups:
        return []
    rows = [_row(records, names, style) for records in groups.values()]
    header = list(_HEADER)
    where = header.index("WHERE")
    if not any(row[where] for row in rows):
        for row in (header, *rows):
            del row[where]
    shown = rows[:_MOST]
    lines = fitted(
        header, shown, style, [""] * len(shown), shortened="COMMAND", dropped=_spare(header)
    )
    if len(rows) > len(shown):
        lines.append(f"... and {len(rows) - len(shown)} more (--json has all)")
    return lines


def _spare(header: Sequence[str]) -> list[str]:
    return [title for title in _SPARE if title in header]


def _row(records: Sequence[Process], names: dict[str, str], style: Style) -> Cells:
    """A process with all the devices that it is on; its memory summed up over those that report it."""
    process = records[0]
    on = sorted({names.get(record.device_id, record.device_id) for record in records}, key=natural)
    used = [record.gpu_memory_bytes for record in records]
    amounts = [amount for amount in used if amount is not None]
    pid = f"{process.pid}" if process.pid_namespace == "same" else f"{process.pid} (foreign)"
    where = process.pod or process.container or (f"job {process.job}" if process.job else "")
    return [
        numbered(on),
        pid,
        process.user or "-",
        "".join(dict.fromkeys(record.type for record in records)),
        size(sum(amounts)) if len(amounts) == len(used) else "-",
        printable(where[:_MOST_WHERE], ascii_only=style.ascii_only),
        printable(process.command or "-", ascii_only=style.ascii_only),
    ]
