"""The one-shot table: a row a device, a row a process, in plain text with optional colour."""

from collections.abc import Container, Sequence
from datetime import datetime

import msgspec

from accelwatch.display import duration, printable, quantity, size
from accelwatch.query.fields import cell, columns, reason
from accelwatch.schema.device import DeviceState
from accelwatch.schema.metrics import by_key
from accelwatch.schema.reading import Number
from accelwatch.schema.series import primary_value
from accelwatch.schema.snapshot import DeviceView, Snapshot, unusable

_STATE_COLOUR = {
    DeviceState.OK: "32",
    DeviceState.DEGRADED: "33",
    DeviceState.LOST: "31",
    DeviceState.UNRESPONSIVE: "31",
    DeviceState.SUSPENDED: "36",
    DeviceState.EXCLUDED: "36",
}
_MAX_PROCESSES = 40
_RIGHT = frozenset({"AGE", "BAD", "BUSY", "DEVICES", "MEMORY", "TEMP", "POWER", "CLOCK", "PID"})
"""Columns of numbers."""


class Style(msgspec.Struct, frozen=True):
    """How to write: colour, and whether only ASCII can be shown."""

    colour: bool = False
    ascii_only: bool = False

    def paint(self, text: str, code: str) -> str:
        """The text in a colour, or as it is."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code else text


Cells = list[str]


def aligned(
    header: Cells,
    rows: list[Cells],
    style: Style,
    codes: list[str],
    right: Container[str] = _RIGHT,
) -> list[str]:
    """Lines of a table; `codes` are the rows' colours, `right` the titles of columns of numbers."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    to_right = [title in right for title in header]
    lines = [style.paint(_join(header, widths, to_right), "1")]
    for row, code in zip(rows, codes, strict=True):
        lines.append(style.paint(_join(row, widths, to_right), code))
    return lines


def _join(cells: Cells, widths: list[int], right: list[bool]) -> str:
    padded = (
        text.rjust(width) if to_right else text.ljust(width)
        for text, width, to_right in zip(cells, widths, right, strict=True)
    )
    return "  ".join(padded).rstrip()


def _number(view: DeviceView, key: str) -> Number | None:
    value: Number | None = primary_value(view.reading.values, by_key()[key])
    return value


def _cell(view: DeviceView, key: str, style: Style) -> str:
    value = _number(view, key)
    if value is None:
        return "-"
    return quantity(key, value, ascii_only=style.ascii_only)


def _of(view: DeviceView, key: str, limit_key: str, style: Style) -> str:
    value, limit = _number(view, key), _number(view, limit_key)
    if value is None or limit is None:
        return _cell(view, key, style)
    if by_key()[key].unit == "bytes":
        return f"{value / (1 << 30):.1f}/{limit / (1 << 30):.1f} GiB"
    return f"{value:.0f}/{limit:.0f} W"


def _state(view: DeviceView, now: float) -> str:
    if view.state is DeviceState.OK:
        return view.state.value if view.health.value != "failed" else "failed"
    return f"{view.state} {duration(max(0.0, now - view.state_since))}"


def _remark(view: DeviceView, failures: dict[str, str]) -> str:
    if view.state is not DeviceState.OK and view.device.id in failures:
        return failures[view.device.id]
    active = [
        series[1]
        for series, value in view.reading.values.items()
        if series[0] == "throttle_active" and value
    ]
    remarks = list(view.health_reasons)
    if active:
        remarks.append("throttled: " + ", ".join(active))
    if view.device.id in failures:
        remarks.append(failures[view.device.id])
    return "; ".join(dict.fromkeys(remarks))


def _device_row(view: DeviceView, now: float, failures: dict[str, str], style: Style) -> Cells:
    device = view.device
    name = ("  " if device.parent_id else "") + device.name
    model = device.model or device.partition_profile or device.pci_bus_id or "-"
    if device.parent_id and device.partition_profile:
        model = f"{device.partition_technology} {device.partition_profile}"
    return [
        name,
        printable(model, ascii_only=style.ascii_only),
        _state(view, now),
        _cell(view, "utilization_ratio", style),
        _of(view, "memory_used_bytes", "memory_size_bytes", style),
        _cell(view, "temperature_celsius", style),
        _of(view, "power_watts", "power_limit_watts", style),
        _cell(view, "clock_hertz", style),
        printable(_remark(view, failures), ascii_only=style.ascii_only),
    ]


_HEADER = ["DEVICE", "MODEL", "STATE", "BUSY", "MEMORY", "TEMP", "POWER", "CLOCK", ""]


def devices_table(snapshot: Snapshot, style: Style) -> list[str]:
    """Lines of the standard device table."""
    failures = {error.device_id: error.message for error in snapshot.errors}
    rows = [_device_row(view, snapshot.time, failures, style) for view in snapshot.devices]
    codes = [
        "" if view.state is DeviceState.OK else _STATE_COLOUR[view.state]
        for view in snapshot.devices
    ]
    return aligned(_HEADER, rows, style, codes)


def fields_table(snapshot: Snapshot, names: Sequence[str], style: Style) -> list[str]:
    """Lines of a table of chosen fields; an absent value shows its reason in brackets."""
    wide = columns(names, snapshot.devices)
    rows: list[Cells] = []
    for view in snapshot.devices:
        cells: Cells = []
        for name in wide:
            value = cell(view, name)
            text = (
                f"[{reason(view, name)}]"
                if value is None
                else quantity(name, value, ascii_only=style.ascii_only)
            )
            cells.append(printable(text, ascii_only=style.ascii_only))
        rows.append(cells)
    codes = [
        "" if view.state is DeviceState.OK else _STATE_COLOUR[view.state]
        for view in snapshot.devices
    ]
    return aligned(list(wide), rows, style, codes)


def processes_table(snapshot: Snapshot, style: Style) -> list[str]:
    """Lines of the process table; empty without processes."""
    names = {view.device.id: view.device.name for view in snapshot.devices}
    rows: list[Cells] = []
    for process in snapshot.processes():
        pid = f"{process.pid}" if process.pid_namespace == "same" else f"{process.pid} (foreign)"
        memory = process.gpu_memory_bytes
        where = process.pod or process.container or (f"job {process.job}" if process.job else "")
        rows.append(
            [
                names.get(process.device_id, process.device_id),
                pid,
                process.user or "-",
                process.type,
                "-" if memory is None else size(memory),
                printable(where[:24], ascii_only=style.ascii_only),
                printable(process.command or "-", ascii_only=style.ascii_only),
            ]
        )
    if not rows:
        return []
    header = ["DEVICE", "PID", "USER", "TYPE", "MEMORY", "WHERE", "COMMAND"]
    shown = rows[:_MAX_PROCESSES]
    lines = aligned(header, shown, style, [""] * len(shown))
    if len(rows) > len(shown):
        lines.append(f"... and {len(rows) - len(shown)} more (--json has all)")
    return lines


def heading(snapshot: Snapshot) -> str:
    """Host, time, version and drivers in a line."""
    moment = datetime.fromtimestamp(snapshot.time).astimezone()
    drivers = sorted(
        {
            f"{view.device.vendor} {view.device.driver_version}"
            for view in snapshot.devices
            if view.device.driver_version
        }
    )
    parts = [snapshot.host, f"{moment:%Y-%m-%d %H:%M:%S %Z}", f"accelwatch {snapshot.version}"]
    return printable("  ".join([*parts, *drivers]))


def nothing_found(snapshot: Snapshot, left_out: int = 0) -> str:
    """Why there is no device row: `left_out` are there and were not asked for, a backend could not be
    used, or there is no hardware for any."""
    if left_out:
        there = "1 device is" if left_out == 1 else f"{left_out} devices are"
        return f"no device matches what was asked for; {there} there"
    troubled = [backend.name for backend in unusable(snapshot.backends)]
    if troubled:
        return f"no device could be read ({', '.join(troubled)}); `accelwatch doctor` says more"
    return "no accelerator found; `accelwatch doctor` says what was looked for"


def render(snapshot: Snapshot, names: Sequence[str], style: Style, left_out: int = 0) -> str:
    """The whole text with a final line break; `left_out` devices were not asked for."""
    if names:
        return "\n".join(fields_table(snapshot, names, style)) + "\n"
    lines = [heading(snapshot), *devices_table(snapshot, style)]
    if not snapshot.devices:
        lines = [heading(snapshot), nothing_found(snapshot, left_out)]
    processes = processes_table(snapshot, style)
    if processes:
        lines += ["", *processes]
    return "\n".join(lines) + "\n"
