"""Answers `--query-gpu=... --format=csv[,noheader][,nounits]` as nvidia-smi does, for every vendor."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from accelwatch.errors import UsageError
from accelwatch.schema.absence import Absence
from accelwatch.schema.metrics import nearest
from accelwatch.schema.snapshot import DeviceView, Snapshot, whole_devices
from accelwatch_nvidia_smi.fields import MIB, QueryField, query_fields

_TOKENS = {
    Absence.PERMISSION: "[Insufficient Permissions]",
    Absence.LOST: "[GPU is lost]",
    Absence.ERROR: "[Unknown Error]",
    Absence.TIMEOUT: "[Unknown Error]",
    Absence.STALE: "[Unknown Error]",
}
_NOT_AVAILABLE = "[N/A]"

_RECOVERY = {
    "none": "None",
    "gpu_reset": "Reset",
    "node_reboot": "Reboot",
    "drain_p2p": "Drain P2P",
    "drain_and_reset": "Drain and Reset",
}
_FABRIC = {"not_started": "Not Started", "in_progress": "In Progress", "completed": "Completed"}
_REASON_BITS = {
    "clock_setting": 0x2,
    "power": 0x4,
    "sync_boost": 0x10,
    "thermal_software": 0x20,
    "thermal_hardware": 0x48,
    "power_brake": 0x88,
}


def parse_fields(text: str) -> tuple[QueryField, ...]:
    """The fields of a `--query-gpu` list. Raises UsageError that names the wrong one."""
    known = query_fields()
    fields: list[QueryField] = []
    for name in (part.strip() for part in text.split(",")):
        if name not in known:
            close = nearest(name, list(known))
            hint = f"; did you mean {close}?" if close else ""
            raise UsageError(f"{name!r} is not a field of --query-gpu{hint} (help lists them)")
        fields.append(known[name])
    return tuple(fields)


def parse_format(text: str) -> tuple[bool, bool]:
    """(header, units) of a `--format` value. Raises UsageError."""
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in ("csv", "noheader", "nounits"):
            raise UsageError(
                f"--format with --query-gpu takes csv, noheader and nounits, not {word!r}"
            )
    if "csv" not in words:
        raise UsageError("--query-gpu needs --format=csv[,noheader][,nounits]")
    return "noheader" not in words, "nounits" not in words


def render(snapshot: Snapshot, fields: Sequence[QueryField], *, header: bool, units: bool) -> str:
    """A line a whole device, in nvidia-smi's words and separators."""
    lines: list[str] = []
    if header:
        lines.append(", ".join(_title(field, units) for field in fields))
    for view in whole_devices(snapshot.devices):
        lines.append(", ".join(_answer(field, view, snapshot, units) for field in fields))
    return "".join(line + "\n" for line in lines)


def _title(field: QueryField, units: bool) -> str:
    return f"{field.names[0]} [{field.unit}]" if field.unit and units else field.names[0]


def _answer(field: QueryField, view: DeviceView, snapshot: Snapshot, units: bool) -> str:
    text = _text(field, view, snapshot)
    if text is None:
        return _token(field, view)
    text = text.replace("\r", " ").replace("\n", " ")
    return f"{text} {field.unit}" if field.unit and units else text


def _text(field: QueryField, view: DeviceView, snapshot: Snapshot) -> str | None:
    if field.special:
        return _SPECIAL[field.special](view, snapshot)
    if field.identity:
        value = getattr(view.device, field.identity)
        return None if value is None else str(value)
    number = view.reading.values.get(field.series) if field.series else None
    return None if number is None else field.write(number)


def _token(field: QueryField, view: DeviceView) -> str:
    absent = view.reading.absent
    series = field.series
    whole = absent.get(("*",))
    if field.identity:
        reason = view.device.absent.get(field.identity)
    elif series:
        reason = absent.get(series) or absent.get(series[:1]) or whole
    else:
        reason = whole
    return _TOKENS.get(reason, _NOT_AVAILABLE) if reason else _NOT_AVAILABLE


def _timestamp(_: DeviceView, snapshot: Snapshot) -> str:
    moment = datetime.fromtimestamp(snapshot.time).astimezone()
    return f"{moment:%Y/%m/%d %H:%M:%S}.{moment.microsecond // 1000:03d}"


def _pci_part(position: int) -> Callable[[DeviceView, Snapshot], str | None]:
    def part(view: DeviceView, _: Snapshot) -> str | None:
        if view.device.pci_bus_id is None:
            return None
        domain, bus, rest = view.device.pci_bus_id.split(":")
        return "0x" + (domain, bus, rest.partition(".")[0])[position].upper()

    return part


def _bus_id(view: DeviceView, _: Snapshot) -> str | None:
    bus_id = view.device.pci_bus_id
    return None if bus_id is None else "0000" + bus_id.upper()


def _memory_free(view: DeviceView, _: Snapshot) -> str | None:
    values = view.reading.values
    size, used = values.get(("memory_size_bytes",)), values.get(("memory_used_bytes",))
    if size is None or used is None:
        return None
    return f"{(size - used - values.get(('memory_reserved_bytes',), 0)) / MIB:.0f}"


def _temperature(view: DeviceView, _: Snapshot) -> str | None:
    for sensor in ("gpu", "junction"):
        if (value := view.reading.values.get(("temperature_celsius", sensor))) is not None:
            return f"{value:.0f}"
    return None


def _reasons(view: DeviceView) -> dict[str, bool]:
    values = view.reading.values
    return {s[1]: bool(value) for s, value in values.items() if s[0] == "throttle_active"}


def _reasons_mask(view: DeviceView, _: Snapshot) -> str | None:
    found = _reasons(view)
    mask = 0
    for reason, active in found.items():
        mask |= _REASON_BITS.get(reason, 0) if active else 0
    return f"0x{mask:016X}" if found else None


def _hw_slowdown(view: DeviceView, _: Snapshot) -> str | None:
    found = _reasons(view)
    causes = [found[cause] for cause in ("thermal_hardware", "power_brake") if cause in found]
    return ("Active" if any(causes) else "Not Active") if causes else None


def _info(key: str, words: Mapping[str, str]) -> Callable[[DeviceView, Snapshot], str | None]:
    def word(view: DeviceView, _: Snapshot) -> str | None:
        labels = [series[1] for series in view.reading.values if series[0] == key]
        return words.get(labels[0], labels[0]) if labels else None

    return word


def _mig_mode(view: DeviceView, _: Snapshot) -> str | None:
    mode = view.device.partition_mode
    return mode.capitalize() if mode in ("enabled", "disabled") else None


_SPECIAL: dict[str, Callable[[DeviceView, Snapshot], str | None]] = {
    "timestamp": _timestamp,
    "count": lambda _, snapshot: str(len(whole_devices(snapshot.devices))),
    "hostname": lambda _, snapshot: snapshot.host,
    "pci.bus_id": _bus_id,
    "pci.domain": _pci_part(0),
    "pci.bus": _pci_part(1),
    "pci.device": _pci_part(2),
    "memory.free": _memory_free,
    "temperature.gpu": _temperature,
    "clocks_event_reasons.active": _reasons_mask,
    "clocks_event_reasons.hw_slowdown": _hw_slowdown,
    "gpu_recovery_action": _info("recovery_action_info", _RECOVERY),
    "fabric.state": _info("fabric_state_info", _FABRIC),
    "mig.mode.current": _mig_mode,
}
