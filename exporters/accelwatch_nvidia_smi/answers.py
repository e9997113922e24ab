"""The answer to one field for one device: nvidia-smi's words, or its token for why there is none."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from accelwatch.base.absence import Absence
from accelwatch.schema import recovery_action
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView, absences
from accelwatch.schema.values.free_memory import free_memory
from accelwatch_nvidia_smi.machine import Machine
from accelwatch_nvidia_smi.query_field import MIB, QueryField

_TOKENS = {
    Absence.PERMISSION: "[Insufficient Permissions]",
    Absence.LOST: "[GPU is lost]",
    Absence.ERROR: "[Unknown Error]",
    Absence.TIMEOUT: "[Unknown Error]",
    Absence.STALE: "[Unknown Error]",
}
_FABRIC = {
    "not_started": "Not Started",
    "in_progress": "In Progress",
    "completed": "Completed",
    "unhealthy": "Completed",
    "limited_capacity": "Completed",
    "failed": "Completed",
}
_FABRIC_STATUS = {
    "completed": "Success",
    "unhealthy": "Success",
    "limited_capacity": "Success",
    "failed": "Unknown Error",
}
_FABRIC_HEALTH = {"unhealthy": "Unhealthy", "limited_capacity": "Limited Capacity"}
_IDLE = 0x1
_HW_SLOWDOWN = 0x8
# nvmlClocksEventReasons (nvml.h); a hardware slowdown is set beside each of its causes.
_REASON_BITS = {
    "clock_setting": 0x2,
    "power": 0x4,
    "sync_boost": 0x10,
    "thermal_software": 0x20,
    "thermal_hardware": 0x40 | _HW_SLOWDOWN,
    "power_brake": 0x80 | _HW_SLOWDOWN,
}
# Shown as `clock_setting` too: among the bits that are supported, not among the active ones.
_DISPLAY_SETTING = 0x100


def answer(field: QueryField, view: DeviceView, machine: Machine, *, units: bool) -> str:
    """What stands in a cell."""
    text = value(field, view, machine)
    if text is None:
        return token(field, view)
    return f"{text} {field.unit}" if field.unit and units else text


def token(field: QueryField, view: DeviceView) -> str:
    """Why there is no answer."""
    absent = absences(view)
    series = field.series
    if field.identity:
        why = view.device.absent.get(field.identity)
    elif series:
        why = absent.get(series) or absent.get(series[:1]) or absent.get(("*",))
    else:
        why = absent.get(("*",))
    return token_of(why, field.missing)


def token_of(why: Absence | None, missing: str) -> str:
    """The word for a reason; what is merely not there is `missing`."""
    return _TOKENS.get(why, missing) if why else missing


def value(field: QueryField, view: DeviceView, machine: Machine) -> str | None:
    """The answer without its unit; None when there is none."""
    if field.special:
        return _SPECIAL[field.special](view, machine)
    if field.identity:
        identity = getattr(view.device, field.identity)
        return None if identity is None else str(identity)
    number = view.reading.values.get(field.series) if field.series else None
    return None if number is None else field.write(number)


def local_time(time: float) -> str:
    """Local time as nvidia-smi writes it in a table."""
    local = datetime.fromtimestamp(time).astimezone()
    return f"{local:%Y/%m/%d %H:%M:%S}.{local.microsecond // 1000:03d}"


def _pci_component(position: int) -> Callable[[DeviceView, Machine], str | None]:
    def component(view: DeviceView, _: Machine) -> str | None:
        if view.device.pci_bus_id is None:
            return None
        domain, bus, slot = view.device.pci_bus_id.split(":")
        return "0x" + (domain, bus, slot.partition(".")[0])[position].upper()

    return component


def _bus_id(view: DeviceView, _: Machine) -> str | None:
    bus_id = view.device.pci_bus_id
    return None if bus_id is None else bus_id.upper().rjust(16, "0")


def _number(view: DeviceView, machine: Machine) -> str | None:
    number = machine.numbers.get(view.device.id)
    return None if number is None else str(number)


def _memory_free(view: DeviceView, _: Machine) -> str | None:
    free = free_memory(view.reading)
    return None if free is None else f"{free / MIB:.0f}"


def _temperature(view: DeviceView, _: Machine) -> str | None:
    number = _first(view, ("temperature_celsius", "gpu"), ("temperature_celsius", "junction"))
    return None if number is None else f"{number:.0f}"


def _power(view: DeviceView, _: Machine) -> str | None:
    """The average where the device makes one (Ampere and later), as nvidia-smi does."""
    number = _first(view, ("power_average_watts",), ("power_watts",))
    return None if number is None else f"{number:.2f}"


def _first(view: DeviceView, *series: tuple[str, ...]) -> Number | None:
    numbers = (view.reading.values.get(key) for key in series)
    return next((number for number in numbers if number is not None), None)


def _reasons(view: DeviceView) -> dict[str, bool]:
    values = view.reading.values
    return {s[1]: bool(value) for s, value in values.items() if s[0] == "throttle_active"}


def _bits(view: DeviceView, reasons: Iterable[str]) -> int:
    mask = 0
    for reason in reasons:
        mask |= _REASON_BITS.get(reason, 0)
        if reason == "other" and view.device.vendor == "nvidia":
            mask |= _HW_SLOWDOWN  # one without a cause that NVML names
    return mask


def _active_mask(view: DeviceView, _: Machine) -> str | None:
    reasons = _reasons(view)
    idle = view.reading.values.get(("clocks_idle",))
    if not reasons and idle is None:
        return None
    mask = _bits(view, (reason for reason, active in reasons.items() if active))
    return f"0x{mask | (_IDLE if idle else 0):016X}"


def _supported_mask(view: DeviceView, _: Machine) -> str | None:
    reasons = _reasons(view)
    idle = view.reading.values.get(("clocks_idle",))
    if not reasons and idle is None:
        return None
    mask = _bits(view, reasons) | (0 if idle is None else _IDLE)
    return f"0x{mask | (_DISPLAY_SETTING if 'clock_setting' in reasons else 0):016X}"


def _hw_slowdown(view: DeviceView, _: Machine) -> str | None:
    states = [
        active for reason, active in _reasons(view).items() if _bits(view, (reason,)) & _HW_SLOWDOWN
    ]
    return ("Active" if any(states) else "Not Active") if states else None


def _label(key: str, position: int = 0) -> Callable[[DeviceView, Machine], str | None]:
    """A label value of a quantity whose labels are the data."""

    def text(view: DeviceView, _: Machine) -> str | None:
        labels = (series[1 + position] for series in view.reading.values if series[0] == key)
        return next(labels, None)

    return text


def _label_text(
    key: str, texts: Mapping[str, str], *, others: bool = False
) -> Callable[[DeviceView, Machine], str | None]:
    """A label value in nvidia-smi's word for it; one without a word only with `others`."""

    def text(view: DeviceView, machine: Machine) -> str | None:
        label = _label(key)(view, machine)
        if label is None:
            return None
        return texts.get(label, label.replace("_", " ").title() if others else None)

    return text


def _mig_mode(view: DeviceView, _: Machine) -> str | None:
    mode = view.device.partition_mode
    return mode.capitalize() if mode in ("enabled", "disabled") else None


def _pending(key: str) -> Callable[[DeviceView, Machine], str | None]:
    """Whether a repair waits, of parts that repair in this way; one quantity covers both ways."""

    def text(view: DeviceView, _: Machine) -> str | None:
        values = view.reading.values
        waits = values.get(("memory_repair_pending",))
        if waits is None or not any(series[0] == key for series in values):
            return None
        return "Yes" if waits else "No"

    return text


def _other_pending(view: DeviceView, _: Machine) -> str | None:
    """Of parts that neither retire pages nor remap rows, such as those that repair channels."""
    values = view.reading.values
    waits = values.get(("memory_repair_pending",))
    other = any(s[0] in ("memory_retired_pages", "memory_remapped_rows") for s in values)
    return None if waits is None or other else "Yes" if waits else "No"


def _slowdown_margin(view: DeviceView, _: Machine) -> str | None:
    """The margin at which the hardware slows down: the headroom is what the margin is above it."""
    values = view.reading.values
    margin = values.get(("temperature_margin_celsius",))
    headroom = values.get(("temperature_headroom_celsius",))
    return None if margin is None or headroom is None else f"{margin - headroom:.0f}"


def _device_memory_errors(severity: str) -> Callable[[DeviceView, Machine], str | None]:
    """Errors of the device memory; what newer parts call DRAM is the same memory."""
    key = "ecc_location_errors_total"

    def text(view: DeviceView, _: Machine) -> str | None:
        number = _first(view, (key, severity, "device_memory"), (key, severity, "dram"))
        return None if number is None else str(number)

    return text


_SPECIAL: dict[str, Callable[[DeviceView, Machine], str | None]] = {
    "timestamp": lambda _, machine: local_time(machine.time),
    "count": lambda _, machine: str(machine.count),
    "index": _number,
    "pci.bus_id": _bus_id,
    "pci.domain": _pci_component(0),
    "pci.bus": _pci_component(1),
    "pci.device": _pci_component(2),
    "memory.free": _memory_free,
    "temperature.gpu": _temperature,
    "device_memory.corrected": _device_memory_errors("corrected"),
    "device_memory.uncorrected": _device_memory_errors("uncorrected"),
    "power.draw": _power,
    "clocks_event_reasons.active": _active_mask,
    "clocks_event_reasons.supported": _supported_mask,
    "clocks_event_reasons.hw_slowdown": _hw_slowdown,
    "gpu_recovery_action": _label_text(
        "recovery_action_info", recovery_action.PRINTED_TEXTS, others=True
    ),
    "fabric.state": _label_text("fabric_state_info", _FABRIC, others=True),
    "fabric.status": _label_text("fabric_state_info", _FABRIC_STATUS),
    "fabric.health.summary": _label_text("fabric_state_info", _FABRIC_HEALTH),
    "fabric.cliqueId": _label("fabric_clique_info"),
    "fabric.clusterUuid": _label("fabric_cluster_info"),
    "platform.chassis_serial_number": _label("platform_info", 0),
    "platform.slot_number": _label("platform_info", 1),
    "platform.tray_index": _label("platform_info", 2),
    "platform.host_id": _label("platform_info", 3),
    "platform.module_id": _label("platform_module_info"),
    "mig.mode.current": _mig_mode,
    "retired_pages.pending": _pending("memory_retired_pages"),
    "remapped_rows.pending": _pending("memory_remapped_rows"),
    "repair.pending": _other_pending,
    "slowdown.tlimit": _slowdown_margin,
}
