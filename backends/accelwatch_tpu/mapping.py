"""From a report of tpu-info to the reading of a chip. Pure."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Collected, Process, Reading
from accelwatch_tpu.chips import Chip
from accelwatch_tpu.report import Report

T = TypeVar("T")

VENDOR = "tpu"
SOURCE = "libtpu"
NO_WORKLOAD = "libtpu reports memory and load only while a workload runs, and none does"
_KEYS = (
    "utilization_ratio",
    "memory_size_bytes",
    "memory_used_bytes",
    "memory_bandwidth_utilization_ratio",
    "core_utilization_ratio",
)


def identified(device: Device, chip: Chip, report: Report | None) -> Device:
    """The device with what bus and report say of who it is."""
    reported = None if report is None else report.accelerator_type
    name = chip.generation.name if chip.generation else reported
    return msgspec.structs.replace(
        device,
        kind=DeviceKind.NPU,
        model=f"TPU {name}" if name else None,
        architecture=name,
        driver_version=None if report is None else report.libtpu_version,
        device_nodes=chip.nodes,
    )


def _silent(device_id: str) -> Reading:
    """A chip of which nothing is known now."""
    out = Collected(device_id)
    for key in _KEYS:
        out.miss(key, Absence.UNSUPPORTED)
    return out.reading(notes=(NO_WORKLOAD,))


def read(device_id: str, chip: Chip, count: int, report: Report) -> Reading:
    """Memory and load of one of `count` chips.

    A table has a row a chip, or as many for each chip; the memory of a chip is the sum over its rows,
    its duty cycle is that of the first of them that has one.
    """
    if not report.is_alive:
        return _silent(device_id)
    out = Collected(device_id)
    rows = _of_chip(report.memory, chip.number, count)
    out.put_or_miss("memory_used_bytes", _sum([used for used, _ in rows]))
    out.put_or_miss("memory_size_bytes", _sum([total for _, total in rows]))
    if out.values.get(("memory_size_bytes",)) == 0:
        # A chip without memory: the runtime has not reported its size yet.
        del out.values[("memory_size_bytes",)]
        out.miss("memory_size_bytes", Absence.UNSUPPORTED)
    used, size = (out.values.get((key,)) for key in ("memory_used_bytes", "memory_size_bytes"))
    if used is not None and size is not None and used > size:
        del out.values[("memory_used_bytes",)]
        out.miss("memory_used_bytes", Absence.ERROR)
    duties = [_ratio(duty) for duty in _of_chip(report.duty, chip.number, count)]
    reported = [ratio for ratio in duties if not isinstance(ratio, Absence)]
    out.put_or_miss("utilization_ratio", reported[0] if reported else _first(duties))
    shares = [_ratio(share) for share in _of_chip(report.bandwidth, chip.number, count)]
    out.put_or_miss("memory_bandwidth_utilization_ratio", _mean(shares))
    cores = _of_chip(report.cores, chip.number, count)
    for at, utilization in enumerate(cores):
        out.put_or_miss("core_utilization_ratio", _ratio(utilization), str(at))
    if not cores:
        out.miss("core_utilization_ratio", Absence.UNSUPPORTED)
    return out.reading(sources={"*": SOURCE})


def processes_of(device_id: str, chip: Chip, report: Report) -> list[Process]:
    """The processes that have opened the chip; how much memory they have nobody says."""
    pids = next((report.pids[node] for node in chip.nodes if node in report.pids), None)
    if pids is None and len(report.listed) > chip.number:
        pids = report.pids.get(report.listed[chip.number])
    reason = Absence.UNSUPPORTED
    absent = {"gpu_memory_bytes": reason, "utilization_ratio": reason}
    return [
        Process(device_id=device_id, pid=pid, absent=absent)
        for pid in sorted(set(pids or ()))
        if pid
    ]


def _of_chip(rows: Mapping[int, T], number: int, count: int) -> list[T]:
    """The rows of a chip, by position; none where they cannot be shared out evenly.

    libtpu numbers devices over the whole slice: a host of four chips may have rows 8, 9, 12 and 13
    (README of tpu-info, google/cloud-accelerator-diagnostics).
    """
    each, remainder = divmod(len(rows), count)
    if remainder:
        return []
    return [rows[at] for at in sorted(rows)[number * each : (number + 1) * each]]


def _ratio(ratio: float | Absence) -> float | Absence:
    return ratio if isinstance(ratio, Absence) or 0 <= ratio <= 1 else Absence.ERROR


def _sum(amounts: list[float | Absence]) -> int | Absence:
    """The sum; why the first part is missing, where one is."""
    total = 0.0
    for amount in amounts:
        if isinstance(amount, Absence):
            return amount
        if amount < 0:
            return Absence.ERROR
        total += amount
    return round(total) if amounts else Absence.UNSUPPORTED


def _mean(shares: list[float | Absence]) -> float | Absence:
    """Of the devices of a chip; why the first is missing, where one is."""
    reported = [share for share in shares if not isinstance(share, Absence)]
    return (
        sum(reported) / len(reported)
        if reported and len(reported) == len(shares)
        else _first(shares)
    )


def _first(reasons: list[float | Absence]) -> Absence:
    return next((reason for reason in reasons if isinstance(reason, Absence)), Absence.UNSUPPORTED)
