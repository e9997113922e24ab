"""From a card of furiosa-smi's document to a device and its reading, as tables. Pure."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from accelwatch.backend.kit.text.quantity import (
    BYTES,
    CELSIUS,
    HERTZ,
    PERCENT,
    WATTS,
    Units,
    quantity,
)
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected, Process
from accelwatch.system.processes.program import program_name
from accelwatch_furiosa.document import UNLISTED, Card, Job

VENDOR = "furiosa"
_BYTES: Units = MappingProxyType({**BYTES, "": 1.0})
# `pe_utilization` is of a hundred.
_BUSY: Units = PERCENT


class MappedField(NamedTuple):
    """A text of `info` and the series that it is."""

    key: str
    series: Series
    units: Units


ROWS = (
    MappedField("temperature", ("temperature_celsius", "gpu"), CELSIUS),
    MappedField("power", ("power_watts",), WATTS),
    MappedField("power_limit", ("power_limit_watts", "enforced"), WATTS),
    MappedField("core_clock", ("clock_hertz", "npu"), HERTZ),
)
_OF_STATUS = (
    "memory_size_bytes",
    "memory_used_bytes",
    "utilization_ratio",
    "reported_status_info",
)
# What `liveness` says: of the library a truth, of the command a word.
_LIVENESS = MappingProxyType({"alive": "ok", "true": "ok", "dead": "failed", "false": "failed"})


def identified(device: Device, card: Card) -> Device:
    """The device with what the document says of who it is."""
    uuid, serial, arch = card.text("device_uuid"), card.text("device_sn"), card.text("arch")
    if uuid is not None and not uuid.strip("0-"):
        uuid = None
    identifier = uuid or serial or card.pci_bus_id or str(card.number)
    return msgspec.structs.replace(
        device,
        id=f"{VENDOR}:{identifier}",
        index=card.number,
        name=f"npu{card.number}",
        kind=DeviceKind.NPU,
        model=None if arch is None else f"FuriosaAI {arch.upper()}",
        architecture=None if arch is None else arch.lower(),
        uuid=uuid,
        serial=serial,
        firmware_version=card.text("firmware"),
        pci_bus_id=card.pci_bus_id or device.pci_bus_id,
        device_nodes=card.nodes,
    )


def collected(device_id: str, card: Card) -> Collected:
    """Everything that the command says, but processes."""
    out = Collected(device_id)
    for key, series, units in ROWS:
        out.record(series, quantity(card.info.get(key), units))
    if card.status:
        _collect_memory(out, card.status.get("memory"))
        is_all = not card.status.get(UNLISTED)
        _collect_cores(out, card.status.get("pe_utilizations"), is_all=is_all)
        _collect_liveness(out, card.status.get("liveness"))
        for core in card.status.get("unavailable_cores", ()):
            out.put("reported_status_info", 1, f"core {core} unavailable")
    else:
        for name in _OF_STATUS:
            out.miss(name, card.absence)
    return out


def _collect_memory(out: Collected, usage: object) -> None:
    """`{"DRAM": {"total_size", "used_size"}}`, bytes or with a unit."""
    dram = usage.get("DRAM") if isinstance(usage, Mapping) else None
    fields = dram if isinstance(dram, Mapping) else {}
    for key, field in (("memory_size_bytes", "total_size"), ("memory_used_bytes", "used_size")):
        value = quantity(fields.get(field), _BYTES)
        out.put_or_miss(key, value if isinstance(value, Absence) else round(value))


def _collect_cores(out: Collected, entries: object, *, is_all: bool) -> None:
    """Busy share of each core; that of the card is their mean, known when each core's is.

    A core that nobody holds reports no share, and it has no work.
    """
    if not isinstance(entries, list) or not entries:
        reason = Absence.UNSUPPORTED if entries is None or entries == [] else Absence.ERROR
        out.miss("utilization_ratio", reason)
        return
    shares: list[float] = []
    lacking: set[Absence] = set()
    for entry in entries:
        core = entry.get("pe_core") if isinstance(entry, Mapping) else None
        if isinstance(core, bool) or not isinstance(core, int) or not 0 <= core < 1024:
            continue
        utilization = entry.get("pe_utilization", entry.get("utilization"))
        share = quantity(utilization, _BUSY)
        if share is Absence.UNSUPPORTED and entry.get("pe_occupancy") is False:
            share = 0.0
        out.put_or_miss("core_utilization_ratio", share, str(core))
        if isinstance(share, Absence):
            lacking.add(share)
        else:
            shares.append(share)
    if is_all and len(shares) == len(entries):
        out.put("utilization_ratio", sum(shares) / len(shares))
    else:
        are_unsupported = not shares and lacking == {Absence.UNSUPPORTED}
        out.miss("utilization_ratio", Absence.UNSUPPORTED if are_unsupported else Absence.ERROR)


def _collect_liveness(out: Collected, liveness: object) -> None:
    status = str(liveness).strip().lower() if isinstance(liveness, str | bool) else ""
    if not status:
        out.miss("reported_status_info", Absence.UNSUPPORTED)
        return
    out.put("reported_status_info", 1, status[:64])
    health = _LIVENESS.get(status)
    if health is not None:
        out.put("reported_health_info", 1, health)


def processes_of(
    device_id: str, jobs: Iterable[Job], shares: Mapping[int, float] = MappingProxyType({})
) -> list[Process]:
    """The processes on the card, by pid; how much memory each has nobody says.

    `shares` of the time by pid, where they are known.
    """
    by_pid = {job.pid: _process(device_id, job, shares.get(job.pid)) for job in jobs}
    return [by_pid[pid] for pid in sorted(by_pid)]


def _process(device_id: str, job: Job, share: float | None) -> Process:
    program = program_name(job.command)
    absent = {"gpu_memory_bytes": Absence.UNSUPPORTED}
    if share is None:
        absent["utilization_ratio"] = Absence.UNSUPPORTED
    return Process(
        device_id=device_id, pid=job.pid, command=program, utilization_ratio=share, absent=absent
    )
