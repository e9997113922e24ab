"""A record of neuron-monitor: how busy each core is, and ECC errors that were corrected."""

import json
from typing import Any, NamedTuple

from accelwatch.schema.absence import Absence
from accelwatch.schema.reading import Collected

_MOST_CORES = 64
_MOST_ERRORS = 10**15
_FULL, _SLACK = 100.0, 1.0
_CORRECTED = (("mem_ecc_corrected", "hbm"), ("sram_ecc_corrected", "sram"))


class Load(NamedTuple):
    """What one record says of all devices."""

    cores_per_device: int | None
    cores: dict[int, float | Absence]
    """Busy share by the number of a core, counted through all devices."""
    whole: bool
    """Whether every runtime told its cores: one that is not told is then used by none."""
    corrected: dict[int, dict[str, int | Absence]]
    """Corrected errors by device and place."""


def parse(line: bytes) -> Load | None:
    """The record; None for what is none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    hardware = _block(record.get("neuron_hardware_info"))
    each = _whole(hardware.get("neuroncore_per_device_count"), _MOST_CORES)
    runtimes = record.get("neuron_runtime_data")
    cores: dict[int, float | Absence] = {}
    whole = isinstance(runtimes, list)
    for runtime in runtimes if isinstance(runtimes, list) else ():
        report = _block(_block(runtime).get("report"))
        used = _block(report.get("neuroncore_counters")).get("neuroncores_in_use")
        whole &= isinstance(used, dict)
        for name, counters in used.items() if isinstance(used, dict) else ():
            if name.isascii() and name.isdecimal() and len(name) < 6:
                cores[int(name)] = _together(cores.get(int(name)), _busy(counters))
    return Load(each or None, cores, whole, _corrected(record))


def put_load(
    out: Collected, index: int, load: Load | Absence, cores: tuple[int, ...] | None
) -> None:
    """Busy shares of the device's cores and their mean, and its corrected errors.

    `cores` are their numbers; without them those of a device follow those of the device before.
    """
    if isinstance(load, Absence):
        out.miss("utilization_ratio", load)
        return
    each = load.cores_per_device
    if each is None or (cores is not None and len(cores) != each):
        out.miss("utilization_ratio", Absence.ERROR)
    else:
        idle = 0.0 if load.whole else Absence.ERROR
        numbers = cores or range(index * each, (index + 1) * each)
        shares = [load.cores.get(number, idle) for number in numbers]
        for core, share in enumerate(shares):
            out.put_or_miss("core_utilization_ratio", share, str(core))
        known = [share for share in shares if not isinstance(share, Absence)]
        mean = sum(known) / each if len(known) == each else Absence.ERROR
        out.put_or_miss("utilization_ratio", mean)
    _put_corrected(out, load.corrected.get(index, {}))


def _put_corrected(out: Collected, counts: dict[str, int | Absence]) -> None:
    for place, count in counts.items():
        out.put_or_miss("ecc_location_errors_total", count, "corrected", place)
    known = [count for count in counts.values() if not isinstance(count, Absence)]
    if counts:
        total = sum(known) if len(known) == len(_CORRECTED) else Absence.ERROR
        out.put_or_miss("ecc_errors_total", total, "corrected")


def _block(told: Any) -> dict[str, Any]:
    """A part of the record, empty where it says that it could not be collected."""
    return told if isinstance(told, dict) and not told.get("error") else {}


def _busy(counters: Any) -> float | Absence:
    told = counters.get("neuroncore_utilization") if isinstance(counters, dict) else None
    if isinstance(told, bool) or not isinstance(told, int | float):
        return Absence.ERROR
    return min(told / _FULL, 1.0) if 0 <= told <= _FULL + _SLACK else Absence.ERROR


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
    told: dict[int, dict[str, int | Absence]] = {}
    for row in rows if isinstance(rows, list) else ():
        index = _whole(row.get("neuron_device_index"), 9999) if isinstance(row, dict) else None
        if index is not None:
            counts = ((place, _whole(row.get(name), _MOST_ERRORS)) for name, place in _CORRECTED)
            told[index] = {
                place: Absence.ERROR if count is None else count for place, count in counts
            }
    return told


def _whole(told: Any, most: int) -> int | None:
    good = isinstance(told, int) and not isinstance(told, bool) and 0 <= told <= most
    return told if good else None
