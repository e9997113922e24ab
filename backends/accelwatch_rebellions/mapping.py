"""From an NPU of rbln-smi's document to a device and its reading, as tables. Pure."""

import re
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from accelwatch.backend.kit.listed_process import by_pid, listed
from accelwatch.backend.kit.text.quantity import BYTES, CELSIUS, PERCENT, WATTS, Units, quantity
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected, Process, Reading
from accelwatch.system.kernel.pcie_link import GENERATIONS
from accelwatch_rebellions.document import Entry, Fields, Npu, number_of, text_of

SOURCE = "rbln-smi"
VENDOR = "rebellions"
# Memory is printed in bytes; no card has so few. One tool that reads it treats small numbers as MiB.
_MEBIBYTES_BELOW = 10**7
_MEMORY: Units = MappingProxyType({**BYTES, "": 1.0})


class MappedField(NamedTuple):
    """A text of the document, where it stands, and the series that it is."""

    path: tuple[str, ...]
    series: Series
    units: Units


ROWS = (
    MappedField(("util",), ("utilization_ratio",), PERCENT),
    MappedField(("temperature",), ("temperature_celsius", "gpu"), CELSIUS),
    MappedField(("card_power",), ("power_watts",), WATTS),
    MappedField(("memory", "total"), ("memory_size_bytes",), _MEMORY),
    MappedField(("memory", "used"), ("memory_used_bytes",), _MEMORY),
)

# Product names of the vendor's hardware pages: CA02, CA12, CA22, CA25; CR03, CR13.
_ARCHITECTURES = (("RBLN-CA", "atom"), ("RBLN-CR", "rebel"))
# P10 thermal throttling, P12 system abort, P14 idle: the vendor's page on rbln-smi.
_THROTTLED, _ABORTED, _IDLE = 10, 12, 14
_PSTATE = re.compile(r"[Pp](\d{1,2})")
_SPEED = re.compile(r"(?:gen\s*(\d))|(\d{1,2}(?:\.\d)?)\s*gt/?s.*", re.IGNORECASE)
_WIDTH = re.compile(r"x?(\d{1,2})", re.IGNORECASE)
# What words of `status` mean. The vendor lists none for the command; its exporter knows the states
# ready, busy, init, fault, finish and not_found. Another word is shown and means nothing.
_HEALTH = MappingProxyType(
    {
        **dict.fromkeys(("normal", "ok", "good", "healthy", "ready", "online", "idle"), "ok"),
        **dict.fromkeys(("busy", "running", "active", "available", "in use"), "ok"),
        **dict.fromkeys(("warning", "degraded", "throttled", "resetting", "init"), "degraded"),
        **dict.fromkeys(("error", "abnormal", "fail", "failed", "failure", "fault"), "failed"),
        **dict.fromkeys(("abort", "aborted", "hang", "dead", "offline", "lost"), "failed"),
        **dict.fromkeys(("not_found", "not found"), "failed"),
    }
)


def identified(device: Device, npu: Npu, driver_version: str | None) -> Device:
    """The device with what the document says of who it is."""
    uuid, serial, model = _nonzero_text(npu, "uuid"), _nonzero_text(npu, "sid"), npu.text("name")
    node = number_of(npu.pci.get("numa_node"))
    identifier = uuid or npu.pci_bus_id or f"{serial or 'unknown'}-{npu.number}"
    return msgspec.structs.replace(
        device,
        id=f"{VENDOR}:{identifier}",
        index=npu.number,
        name=f"rbln{npu.number}",
        kind=DeviceKind.NPU,
        model=model,
        architecture=_architecture(model),
        uuid=uuid,
        serial=serial,
        firmware_version=npu.text("fw_ver"),
        driver_version=driver_version or device.driver_version,
        pci_bus_id=npu.pci_bus_id or device.pci_bus_id,
        numa_node=device.numa_node if node is None else node,
        device_nodes=(f"/dev/{npu.text('device') or f'rbln{npu.number}'}",),
    )


def _nonzero_text(npu: Npu, key: str) -> str | None:
    """A text that is not all zeros, as on test cards."""
    text = npu.text(key)
    return text if text is not None and text.strip("0-") else None


def power_reporter(npu: Npu, npus: Iterable[Npu]) -> Npu:
    """The NPU at which the power of its card stands: all of a card repeat it, the first counts."""
    board = _nonzero_text(npu, "sid")
    if board is None:
        return npu
    return min(
        (other for other in npus if _nonzero_text(other, "sid") == board), key=_number, default=npu
    )


def _number(npu: Npu) -> int:
    return npu.number


def _architecture(model: str | None) -> str | None:
    named = (name for prefix, name in _ARCHITECTURES if (model or "").startswith(prefix))
    return next(named, None)


def read(device_id: str, npu: Npu, npus: Iterable[Npu] = ()) -> Reading:
    """Everything but processes; `npus` are all that were listed."""
    out = Collected(device_id)
    for row in ROWS:
        out.record(row.series, quantity(_at(npu.fields, row.path), row.units))
    _scale_memory(out)
    _record_performance(out, npu)
    _record_status(out, npu)
    _record_link(out, npu.pci)
    reporter = power_reporter(npu, npus)
    if reporter.number == npu.number:
        return out.reading(sources={"*": SOURCE})
    out.values.pop(("power_watts",), None)
    out.miss("power_watts", Absence.UNSUPPORTED)
    note = f"the power of the card is reported once, at rbln{reporter.number}"
    return out.reading(sources={"*": SOURCE}, notes=(note,))


def _at(fields: Fields, path: Sequence[str]) -> object:
    value: object = fields
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _scale_memory(out: Collected) -> None:
    size = out.values.get(("memory_size_bytes",))
    factor = 1 << 20 if size is not None and 0 < size < _MEBIBYTES_BELOW else 1
    for series in (("memory_size_bytes",), ("memory_used_bytes",)):
        if series in out.values:
            out.put(series[0], round(out.values[series] * factor))


def _record_performance(out: Collected, npu: Npu) -> None:
    match = _PSTATE.fullmatch(npu.text("pstate") or "")
    keys = ("performance_state", "clocks_idle")
    if match is None or int(match[1]) > 15:
        reason = Absence.UNSUPPORTED if npu.text("pstate") is None else Absence.ERROR
        for key in keys:
            out.miss(key, reason)
        out.miss("throttle_active", reason, "thermal_hardware")
        return
    state = int(match[1])
    out.put("performance_state", state)
    out.put("clocks_idle", int(state == _IDLE))
    out.put("throttle_active", int(state == _THROTTLED), "thermal_hardware")
    if state == _ABORTED:
        out.put("reported_health_info", 1, "failed")


def _record_status(out: Collected, npu: Npu) -> None:
    status = npu.text("status")
    if status is None:
        out.miss("reported_status_info", Absence.UNSUPPORTED)
        return
    out.put("reported_status_info", 1, status)
    health = _HEALTH.get(status.lower())
    if health is not None and ("reported_health_info", "failed") not in out.values:
        out.put("reported_health_info", 1, health)


def _record_link(out: Collected, pci: Fields) -> None:
    speed = _SPEED.fullmatch((text_of(pci, "link_speed") or "").strip())
    generation = None
    if speed is not None:
        generation = int(speed[1]) if speed[1] else GENERATIONS.get(float(speed[2]))
    width = _WIDTH.fullmatch(str(pci.get("link_width") or "").strip())
    for key, value, raw in (
        ("pcie_link_generation", generation, pci.get("link_speed")),
        ("pcie_link_width_lanes", int(width[1]) if width else None, pci.get("link_width")),
    ):
        if value is not None:
            out.put(key, value, "current")
        else:
            out.miss(key, Absence.ERROR if raw else Absence.UNSUPPORTED, "current")


def processes_of(device_id: str, entries: Iterable[Entry]) -> list[Process]:
    """The processes that hold contexts, by pid, their contexts merged."""
    return by_pid(
        listed(device_id, entry.pid, entry.command, quantity(entry.memory, _MEMORY))
        for entry in entries
    )
