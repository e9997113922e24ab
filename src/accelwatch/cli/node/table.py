"""The one-shot table: a row a device, a row a process, in plain text with optional colour."""

from collections.abc import Sequence
from datetime import datetime

from accelwatch.cli.fitted import fitted
from accelwatch.cli.node.process_table import processes_table
from accelwatch.cli.table_lines import Cells, Style, aligned
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.device import BROKEN, DeviceState
from accelwatch.schema.display import duration, printable, quantity, without_vendor
from accelwatch.schema.fields import cell, columns, reason
from accelwatch.schema.reading import Number
from accelwatch.schema.series import primary_value
from accelwatch.schema.snapshot import DeviceView, Snapshot, observed_since, unusable
from accelwatch.schema.status.device_status import effective_state, state_label
from accelwatch.schema.status.verdict import verdict

_STATE_COLOUR = {
    DeviceState.OK: "32",
    DeviceState.DEGRADED: "33",
    DeviceState.LOST: "31",
    DeviceState.UNRESPONSIVE: "31",
    DeviceState.SUSPENDED: "36",
    DeviceState.EXCLUDED: "36",
}


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


def _state(view: DeviceView, snapshot: Snapshot) -> str:
    state = state_label(effective_state(view.state.value, view.health.value))
    since = observed_since(view, snapshot)
    if since is None or view.state not in BROKEN or snapshot.time - since < _RECENT_S:
        return state
    return f"{state} {duration(snapshot.time - since)}"


def _remark(view: DeviceView, snapshot: Snapshot, style: Style) -> str:
    """What is wrong, what to do and the evidence; of one that is well why its clocks are held down."""
    conclusion = verdict(view, snapshot)
    then = "->" if style.ascii_only else "→"
    texts = [
        conclusion.summary,
        f"{then} {conclusion.remedy}" if conclusion.remedy else "",
        f"({conclusion.evidence})" if conclusion.evidence else "",
    ]
    active = [
        series[1]
        for series, value in view.reading.values.items()
        if series[0] == "throttle_active" and value
    ]
    throttled = f"throttled: {', '.join(active)}" if active else ""
    remark = " ".join(text for text in texts if text)
    if throttled and remark not in throttled:
        remark = f"{remark}; {throttled}" if remark else throttled
    return printable(remark or throttled, ascii_only=style.ascii_only)


def _device_row(view: DeviceView, snapshot: Snapshot, style: Style) -> Cells:
    device = view.device
    name = ("  " if device.parent_id else "") + device.name
    model = device.model or device.partition_profile or device.pci_bus_id or "-"
    if device.parent_id and device.partition_profile:
        model = f"{device.partition_technology} {device.partition_profile}"
    if style.width is not None:
        model = without_vendor(model)
    return [
        name,
        printable(model, ascii_only=style.ascii_only),
        _state(view, snapshot),
        _cell(view, "utilization_ratio", style),
        _of(view, "memory_used_bytes", "memory_size_bytes", style),
        _cell(view, "temperature_celsius", style),
        _of(view, "power_watts", "power_limit_watts", style),
        _cell(view, "clock_hertz", style),
    ]


# Fields that identify a device.
_NAMES = frozenset({"name", "id", "index", "uuid", "serial", "pci_bus_id"})
# A state of less than this may be as old as the reading: a driver that hangs is waited for that long.
_RECENT_S = 60.0
_HEADER = ["DEVICE", "MODEL", "STATE", "LOAD", "MEMORY", "TEMP", "POWER", "CLOCK"]
# Columns that are left out, in this order, where the terminal is too narrow for them.
_SPARE = ("CLOCK", "MODEL", "POWER", "TEMP", "MEMORY")


def devices_table(snapshot: Snapshot, style: Style) -> list[str]:
    """Lines of the standard device table."""
    return fitted(
        _HEADER,
        [_device_row(view, snapshot, style) for view in snapshot.devices],
        style,
        _codes(snapshot),
        remarks=[_remark(view, snapshot, style) for view in snapshot.devices],
        shortened="MODEL",
        dropped=_SPARE,
    )


def _codes(snapshot: Snapshot) -> list[str]:
    return [
        "" if view.state is DeviceState.OK else _STATE_COLOUR[view.state]
        for view in snapshot.devices
    ]


def fields_table(snapshot: Snapshot, names: Sequence[str], style: Style) -> list[str]:
    """Lines of a table of chosen fields; an absent value shows its reason in brackets.

    The device's name comes first where no chosen field says which device a row is about.
    """
    named = names if _NAMES.intersection(names) else ("name", *names)
    wide = columns(named, snapshot.devices)
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


def heading(snapshot: Snapshot) -> str:
    """Host, time, version and drivers in a line."""
    local_time = datetime.fromtimestamp(snapshot.time).astimezone()
    drivers = sorted(
        {
            f"{view.device.vendor} {view.device.driver_version}"
            for view in snapshot.devices
            if view.device.driver_version
        }
    )
    fields = [snapshot.host, f"{local_time:%Y-%m-%d %H:%M:%S %Z}", f"accelwatch {snapshot.version}"]
    return printable("  ".join([*fields, *drivers]))


def no_devices_text(snapshot: Snapshot, left_out: int = 0) -> str:
    """Why there is no device row: the selection left out `left_out`, a backend could not be
    used, or there is no hardware for any."""
    if left_out:
        there = "1 device is" if left_out == 1 else f"{left_out} devices are"
        return f"no device matches; {there} there"
    troubled = [backend.name for backend in unusable(snapshot.backends)]
    if troubled:
        return f"no device could be read ({', '.join(troubled)}); `accelwatch doctor` says more"
    return "no accelerator found; `accelwatch doctor --all` lists what backends searched for"


def render(snapshot: Snapshot, names: Sequence[str], style: Style, left_out: int = 0) -> str:
    """The whole text with a final line break; the selection left out `left_out` devices."""
    if names:
        return "\n".join(fields_table(snapshot, names, style)) + "\n"
    lines = [heading(snapshot), *devices_table(snapshot, style)]
    if not snapshot.devices:
        lines = [heading(snapshot), no_devices_text(snapshot, left_out)]
    processes = processes_table(snapshot, style)
    if processes:
        lines += ["", *processes]
    return "\n".join(lines) + "\n"
