"""A record of neuron-monitor: how busy each core is, with what, and ECC errors that were corrected."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected

_MOST_CORES = 64
_MOST_ERRORS = 10**15
_MOST_PID = 1 << 22
_MOST_BYTES = 1 << 46
_FULL, _SLACK = 100.0, 1.0
_CORRECTED = (("mem_ecc_corrected", "hbm"), ("sram_ecc_corrected", "sram"))


class Load(NamedTuple):
    """What one record says of all devices."""

    cores_per_device: int | None
    # Busy share by the number of a core, counted through all devices.
    cores: dict[int, float | Absence]
    # Whether every runtime reported its cores: none uses a core that is not reported then.
    is_complete: bool
    # Corrected errors by device and location.
    corrected: dict[int, dict[str, int | Absence]]
    # What each runtime uses, by its pid.
    of_processes: dict[int, "Use"]


class Use(NamedTuple):
    """One runtime, by the numbers of cores."""

    busy: dict[int, float | Absence]
    # Bytes of the device's memory.
    memory: dict[int, int | Absence]

    def share(self, cores: Sequence[int]) -> float | Absence:
        """Of all these cores; of one that the runtime does not use it has nothing."""
        shares = [self.busy[core] for core in cores if core in self.busy]
        valid = [share for share in shares if not isinstance(share, Absence)]
        return sum(valid) / len(cores) if shares and len(valid) == len(shares) else Absence.ERROR

    def bytes_on(self, cores: Sequence[int]) -> int | Absence:
        """In the memory of these cores together."""
        sizes = [self.memory[core] for core in cores if core in self.memory]
        valid = [size for size in sizes if not isinstance(size, Absence)]
        return sum(valid) if sizes and len(valid) == len(sizes) else Absence.ERROR


def parse(line: bytes) -> Load | None:
    """The record; None for what is none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    hardware = _block(record.get("neuron_hardware_info"))
    each = _integer(hardware.get("neuroncore_per_device_count"), _MOST_CORES)
    runtimes = record.get("neuron_runtime_data")
    cores: dict[int, float | Absence] = {}
    uses: dict[int, Use] = {}
    is_complete = isinstance(runtimes, list)
    for runtime in runtimes if isinstance(runtimes, list) else ():
        report = _block(_block(runtime).get("report"))
        used = _block(report.get("neuroncore_counters")).get("neuroncores_in_use")
        is_complete &= isinstance(used, dict)
        busy = {core: _busy(counters) for core, counters in _by_core(used).items()}
        for core, share in busy.items():
            cores[core] = _together(cores.get(core), share)
        pid = _integer(runtime.get("pid"), _MOST_PID) if isinstance(runtime, dict) else None
        if pid:
            uses[pid] = Use(busy, _memory(report))
    return Load(each or None, cores, is_complete, _corrected(record), uses)


def cores_of(
    index: int, load: Load | Absence, cores: tuple[int, ...] | None
) -> Sequence[int] | None:
    """The numbers of a device's cores: those given, else they follow those of the device before."""
    each = None if isinstance(load, Absence) else load.cores_per_device
    if each is None or (cores is not None and len(cores) != each):
        return None
    return cores or range(index * each, (index + 1) * each)


def collect_load(
    out: Collected, index: int, load: Load | Absence, cores: tuple[int, ...] | None
) -> None:
    """Busy shares of the device's cores and their mean, and its corrected errors.

    `cores` are their numbers; without them those of a device follow those of the device before.
    """
    if isinstance(load, Absence):
        out.miss("utilization_ratio", load)
        return
    numbers = cores_of(index, load, cores)
    if numbers is None:
        out.miss("utilization_ratio", Absence.ERROR)
    else:
        idle = 0.0 if load.is_complete else Absence.ERROR
        shares = [load.cores.get(number, idle) for number in numbers]
        for core, share in enumerate(shares):
            out.put_or_miss("core_utilization_ratio", share, str(core))
        valid = [share for share in shares if not isinstance(share, Absence)]
        mean = sum(valid) / len(shares) if len(valid) == len(shares) else Absence.ERROR
        out.put_or_miss("utilization_ratio", mean)
    _collect_corrected(out, load.corrected.get(index, {}))


def _collect_corrected(out: Collected, counts: dict[str, int | Absence]) -> None:
    for location, count in counts.items():
        out.put_or_miss("ecc_location_errors_total", count, "corrected", location)
    valid = [count for count in counts.values() if not isinstance(count, Absence)]
    if counts:
        total = sum(valid) if len(valid) == len(_CORRECTED) else Absence.ERROR
        out.put_or_miss("ecc_errors_total", total, "corrected")


def _block(value: Any) -> dict[str, Any]:
    """A part of the record, empty where it says that it could not be collected."""
    return value if isinstance(value, dict) and not value.get("error") else {}


def _by_core(value: Any) -> dict[int, Any]:
    """The rows of a mapping by the number of a core."""
    rows = value.items() if isinstance(value, dict) else ()
    return {
        int(name): row
        for name, row in rows
        if name.isascii() and name.isdecimal() and len(name) < 6
    }


def _memory(report: dict[str, Any]) -> dict[int, int | Absence]:
    """Bytes by core; every use of it must be reported."""
    used_bytes = _block(report.get("memory_used")).get("neuron_runtime_used_bytes")
    breakdown = used_bytes.get("usage_breakdown") if isinstance(used_bytes, dict) else None
    cores = breakdown.get("neuroncore_memory_usage") if isinstance(breakdown, dict) else None
    return {core: _sum(uses) for core, uses in _by_core(cores).items()}


def _sum(uses: Any) -> int | Absence:
    sizes = (
        [_integer(size, _MOST_BYTES) for size in uses.values()] if isinstance(uses, dict) else []
    )
    valid = [size for size in sizes if size is not None]
    return sum(valid) if sizes and len(valid) == len(sizes) else Absence.ERROR


def _busy(counters: Any) -> float | Absence:
    percent = counters.get("neuroncore_utilization") if isinstance(counters, dict) else None
    if isinstance(percent, bool) or not isinstance(percent, int | float):
        return Absence.ERROR
    return min(percent / _FULL, 1.0) if 0 <= percent <= _FULL + _SLACK else Absence.ERROR


def _together(before: float | Absence | None, share: float | Absence) -> float | Absence:
    """Of a core that several runtimes used in turn."""
    if before is None or isinstance(share, Absence):
        return share
    if isinstance(before, Absence):
        return before
    total = before + share
    return min(total, 1.0) if total <= 1.0 + _SLACK / _FULL else Absence.ERROR


def _corrected(record: dict[str, Any]) -> dict[int, dict[str, int | Absence]]:
    counters = _block(_block(record.get("system_data")).get("neuron_hw_counters"))
    rows = counters.get("neuron_devices")
    by_device: dict[int, dict[str, int | Absence]] = {}
    for row in rows if isinstance(rows, list) else ():
        index = _integer(row.get("neuron_device_index"), 9999) if isinstance(row, dict) else None
        if index is not None:
            counts = (
                (location, _integer(row.get(name), _MOST_ERRORS)) for name, location in _CORRECTED
            )
            by_device[index] = {
                location: Absence.ERROR if count is None else count for location, count in counts
            }
    return by_device


def _integer(value: Any, most: int) -> int | None:
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most
    return value if good else None
