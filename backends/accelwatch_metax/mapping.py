"""From a GPU of mx-smi's document to a device and its reading, as tables. Pure."""

import re
from collections.abc import Iterable
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from accelwatch.backend.kit.smi import processes as smi_processes
from accelwatch.backend.kit.smi.processes import Job
from accelwatch.backend.kit.text.quantity import (
    BYTES,
    CELSIUS,
    COUNT,
    PERCENT,
    WATTS,
    Units,
    first_quantity,
    integer,
    quantity,
)
from accelwatch.backend.kit.text.reported_status import record_status
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected, Process, Reading
from accelwatch_metax.document import Gpu
from accelwatch_metax.sections import Fields

SOURCE = "mx-smi"
VENDOR = "metax"
_MEBIBYTES: Units = MappingProxyType({**BYTES, "": 1024.0**2})


class MappedField(NamedTuple):
    """A quantity: its keys without their section, and the series that it is."""

    key: str
    series: Series
    units: Units


# Of some releases and cards only: what is not named there is not missed.
SECTION_ROWS = (
    MappedField("air-inlet", ("temperature_celsius", "inlet"), CELSIUS),
    MappedField("air-outlet", ("temperature_celsius", "outlet"), CELSIUS),
    MappedField("vpue", ("engine_utilization_ratio", "encoder"), PERCENT),
    MappedField("vpud", ("engine_utilization_ratio", "decoder"), PERCENT),
    MappedField("single bit ecc", ("memory_retired_pages", "single_bit"), COUNT),
    MappedField("double bit ecc", ("memory_retired_pages", "double_bit"), COUNT),
)
_PAIR = re.compile(r"(.*?)\s*/\s*(.*)")
_MEMORY = re.compile(r"(\S+)\s*/\s*(\S+)\s*([KMGT]?i?B)", re.IGNORECASE)
_ECC = re.compile(r"ecc errors/(\w+) (un)?correctable")
_SWITCHES = MappingProxyType({"on": 1, "off": 0})
_HEALTH = MappingProxyType({"available": "ok", "not available": "failed", "unavailable": "failed"})
# As the compiler names them.
_ARCHITECTURES = MappingProxyType({"MXC500": "xcore1000", "MXC550": "xcore1002"})


def identified(device: Device, gpu: Gpu, driver_version: str | None) -> Device:
    """The device with what the document says of who it is."""
    listed = gpu.listed
    uuid = listed.uuid if listed else None
    model = (listed.model if listed else None) or gpu.row.get("name") or None
    sharing = gpu.row.get("sgpu-m", "").lower()
    return msgspec.structs.replace(
        device,
        id=f"{VENDOR}:{uuid or device.pci_bus_id or gpu.number}",
        index=gpu.number,
        name=f"metax{gpu.number}",
        kind=DeviceKind.GPU,
        model=model,
        architecture=_ARCHITECTURES.get(model or ""),
        uuid=uuid,
        driver_version=driver_version or device.driver_version,
        partition_mode=sharing if sharing in ("enabled", "disabled") else None,
    )


def collect(device_id: str, gpu: Gpu) -> Collected:
    """What the table and the sections say."""
    out, row, fields = Collected(device_id), gpu.row, _by_key(gpu.sections)
    load = first_quantity((row.get("gpu-util"), fields.get("gpu")), PERCENT)
    out.put_or_miss("utilization_ratio", load)
    celsius = first_quantity((fields.get("hotspot"), row.get("temp")), CELSIUS)
    out.put_or_miss("temperature_celsius", celsius, "gpu")
    for key, series, units in SECTION_ROWS:
        if key in fields:
            out.record(series, quantity(fields[key], units))
    _collect_power(out, row)
    _collect_memory(out, row.get("memory-usage"))
    _collect_modes(out, row)
    _collect_ecc(out, gpu.sections)
    state = None if (gpu.state or "").upper() == "N/A" else gpu.state
    record_status(out, state, _HEALTH)
    return out


def reading_of(out: Collected, gpu: Gpu, sources: dict[str, str]) -> Reading:
    """The finished reading; why a GPU is not available is a note."""
    reason = gpu.listed.reason if gpu.listed else None
    return out.reading(sources=sources, notes=(f"mx-smi: {reason}",) if reason else ())


def _by_key(sections: Fields) -> dict[str, str]:
    """Without the names of sections."""
    return {path.rpartition("/")[2]: text for path, text in reversed(list(sections.items()))}


def _collect_power(out: Collected, row: Fields) -> None:
    """`54W / 350W` is power and limit; older tables have the power alone."""
    text = row.get("pwr:usage/cap", row.get("power"))
    match = _PAIR.fullmatch(text) if text and text.upper() != "N/A" else None
    now, limit = (match[1], match[2]) if match else (text, None)
    out.put_or_miss("power_watts", quantity(now, WATTS))
    out.put_or_miss("power_limit_watts", quantity(limit, WATTS), "enforced")


def _collect_memory(out: Collected, text: str | None) -> None:
    """`826/65536 MiB` is used and total."""
    match = _MEMORY.fullmatch(text or "")
    for at, key in ((1, "memory_used_bytes"), (2, "memory_size_bytes")):
        size = integer(f"{match[at]}{match[3]}", BYTES) if match else integer(text, {})
        out.put_or_miss(key, size)


def _collect_modes(out: Collected, row: Fields) -> None:
    state = re.fullmatch(r"P(\d{1,2})", row.get("perf", ""))
    if state is not None and int(state[1]) < 16:
        out.put("performance_state", int(state[1]))
    switch = _SWITCHES.get(row.get("persist-m", "").lower())
    if switch is not None:
        out.put("persistence_enabled", switch)


def _collect_ecc(out: Collected, sections: Fields) -> None:
    """Errors since the driver was loaded; a sum is known when each of its memories is."""
    sums: dict[str, list[float | Absence]] = {}
    for path, text in sections.items():
        match = _ECC.fullmatch(path)
        if match is None:
            continue
        severity = "uncorrected" if match[2] else "corrected"
        count = quantity(text, COUNT)
        out.put_or_miss("ecc_location_errors_total", count, severity, match[1])
        sums.setdefault(severity, []).append(count)
    for severity, counts in sums.items():
        valid = [count for count in counts if not isinstance(count, Absence)]
        is_complete = len(valid) == len(counts)
        unknown = next((count for count in counts if isinstance(count, Absence)), Absence.ERROR)
        out.put_or_miss("ecc_errors_total", round(sum(valid)) if is_complete else unknown, severity)


def processes_of(device_id: str, number: int, jobs: Iterable[Job]) -> list[Process]:
    """The processes on the GPU, by pid."""
    mine = (job for job in jobs if job.number == number)
    return smi_processes.processes_of(device_id, mine, _MEBIBYTES)
