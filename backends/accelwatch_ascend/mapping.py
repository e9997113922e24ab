"""From a chip of npu-smi to a device and its reading, as tables. Pure."""

import re
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from accelwatch.backend.kit.listed_process import listed
from accelwatch.backend.kit.text.quantity import CELSIUS, HERTZ, PERCENT, WATTS, Units, quantity
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected, Process, Reading
from accelwatch.schema.values.card_wide import BOARD_POWER, holder_note, shared_note
from accelwatch_ascend.document import Chip, Detail, Job, Pairs, PairsOrAbsence, meaningful_text
from accelwatch_ascend.hccs import collect_links

SOURCE = "npu-smi"
VENDOR = "ascend"
# npu-smi writes MB and means MiB: 65536 MB are the 64 GiB of a 910B.
_BINARY: Units = MappingProxyType({"kb": 2.0**10, "mb": 2.0**20, "gb": 2.0**30})
_FAILED = frozenset({"-1", "-1.0"})
_COUNT: Units = MappingProxyType({"": 1.0})


class MappedField(NamedTuple):
    """Headings or keys without unit, of which the first that is there counts, and their series."""

    names: tuple[str, ...]
    series: Series
    units: Units


_POWER = MappedField(("power",), ("power_watts",), WATTS)
_TABLE = (
    MappedField(("aicore", "npu util"), ("utilization_ratio",), PERCENT),
    MappedField(("temp",), ("temperature_celsius", "gpu"), CELSIUS),
    _POWER,
)
_USAGES = (
    MappedField(
        ("hbm bandwidth usage rate", "ddr bandwidth usage rate", "memory bandwidth usage rate"),
        ("memory_bandwidth_utilization_ratio",),
        PERCENT,
    ),
    MappedField(("aivector usage rate",), ("engine_utilization_ratio", "vector"), PERCENT),
    MappedField(("aicpu usage rate",), ("engine_utilization_ratio", "ai_cpu"), PERCENT),
    MappedField(("ctrlcpu usage rate",), ("engine_utilization_ratio", "control_cpu"), PERCENT),
    MappedField(("hbm temperature",), ("temperature_celsius", "memory"), CELSIUS),
    MappedField(
        ("hbm clock speed", "ddr clock speed", "clock speed"), ("clock_hertz", "memory"), HERTZ
    ),
    MappedField(("aicore curfreq",), ("clock_hertz", "npu"), HERTZ),
    MappedField(("aicore freq",), ("clock_limit_hertz", "npu", "max"), HERTZ),
)
# Word of npu-smi, cause of a retired page, severity.
_BITS = (
    ("single", "single_bit", "corrected"),
    ("double", "double_bit", "uncorrected"),
)
# The oldest names none: its memory is DDR.
_MEMORIES = ("", "ddr ", "hbm ")
_COUNTERS = (
    "ecc_errors_total",
    "ecc_location_errors_total",
    "ecc_lifetime_errors",
    "memory_retired_pages",
    "memory_repair_pending",
)
# Minor, major and critical alarm of the vendor's guide; UNKNOWN: absent, or it did not start.
_HEALTH = MappingProxyType(
    {
        "ok": "ok",
        "warning": "degraded",
        "alarm": "failed",
        "critical": "failed",
        "unknown": "failed",
    }
)
# The first that the name begins with.
_ARCHITECTURES = (
    (re.compile(r"310P"), "ascend310p"),
    (re.compile(r"310B"), "ascend310b"),
    (re.compile(r"310"), "ascend310"),
    (re.compile(r"910B\d"), "ascend910b"),
    (re.compile(r"910"), "ascend910"),
    (re.compile(r"950"), "ascend950"),
)


def identified(
    device: Device, chip: Chip, driver_version: str | None, board: Pairs, node: str | None
) -> Device:
    """The device with what the table and `-t board` say of who it is."""
    model = meaningful_text(chip.name)
    uuid = _die(board.get("vdie id"))
    behind = None if chip.behind is None else f"{chip.behind}-{chip.number}"
    identifier = uuid or chip.pci_bus_id or behind or f"{chip.npu}-{chip.chip}"
    return msgspec.structs.replace(
        device,
        id=f"{VENDOR}:{identifier}",
        index=chip.number,
        name=_name(chip),
        kind=DeviceKind.NPU,
        model=f"Ascend {model}" if model and model[0].isdigit() else model,
        architecture=_architecture(model, chip),
        uuid=uuid,
        serial=meaningful_text(board.get("serial number")),
        firmware_version=meaningful_text(board.get("firmware version")),
        driver_version=driver_version or device.driver_version,
        pci_bus_id=chip.pci_bus_id,
        device_nodes=() if node is None else (node,),
    )


def _name(chip: Chip) -> str:
    return f"ascend{chip.number}"


def _architecture(model: str | None, chip: Chip) -> str | None:
    plain = (model or "").removeprefix("Ascend").strip()
    architecture = next((name for pattern, name in _ARCHITECTURES if pattern.match(plain)), None)
    # Two dies make a 910 of A3; only its table has the column.
    return (
        "ascend910_93" if architecture == "ascend910" and "phy-id" in chip.fields else architecture
    )


def _die(die_id: str | None) -> str | None:
    """The id burnt into the die, five words as npu-exporter has them; all zero where there is none."""
    groups = (meaningful_text(die_id) or "").upper().split()
    return (
        "-".join(f"{text:0>8}" for text in groups)
        if any(text.strip("0") for text in groups)
        else None
    )


def read(device_id: str, chip: Chip, detail: Detail) -> Reading:
    """Everything but processes."""
    out = Collected(device_id)
    for row in _TABLE:
        out.record(row.series, _in(chip.fields, row))
    notes = _collect_memory(out, chip)
    _collect_health(out, chip)
    _collect_ecc(out, detail.ecc)
    notes = (*notes, *collect_links(out, detail.links))
    for row in _USAGES:
        usages = detail.usages
        out.record(row.series, usages if isinstance(usages, Absence) else _in(usages, row))
    if detail.errors:
        notes = (*notes, f"npu-smi reports error codes {detail.errors}")
    return out.reading(sources={"*": SOURCE}, notes=notes)


def with_card_power(reading: Reading, chip: Chip, chips: Sequence[Chip]) -> Reading:
    """Of an A3 the first die reports the power of both; a note on each says whose it is.

    `chips` are all of the table.
    """
    card = [other for other in chips if other.npu == chip.npu]
    first, others = _in(card[0].fields, _POWER), [_in(other.fields, _POWER) for other in card[1:]]
    if isinstance(first, Absence) or not others or set(others) != {Absence.UNSUPPORTED}:
        return reading
    note = shared_note(_POWER.series, _name(card[0]))
    if chip.key == card[0].key:
        note = holder_note(_POWER.series, [_name(other) for other in card])
    return msgspec.structs.replace(
        reading, values={**reading.values, BOARD_POWER: first}, notes=(*reading.notes, note)
    )


def _in(pairs: Pairs, row: MappedField) -> float | Absence:
    """The first that is there, with the unit of its heading."""
    for name in row.names:
        for heading, text in pairs.items():
            plain, _, unit = heading.partition("(")
            if plain.strip() == name:
                return _number(text, unit.rstrip(") "), row.units)
    return Absence.UNSUPPORTED


def _number(text: str, unit: str, units: Units) -> float | Absence:
    """In base units; `error` for -1, which the driver's interface has for what it could not get."""
    plain = text.strip()
    if plain in _FAILED:
        return Absence.ERROR
    return quantity(f"{plain}{unit}" if plain[-1:].isdigit() else plain, units)


def _collect_memory(out: Collected, chip: Chip) -> tuple[str, ...]:
    """HBM is the memory where there is some, and DDR then a second one."""
    ddr, hbm = _used_and_size(chip, "memory-usage"), _used_and_size(chip, "hbm-usage")
    main, second = (hbm, ddr) if hbm is not None else (ddr, None)
    notes: tuple[str, ...] = ()
    for pair, prefix, labels in ((main, "memory", ()), (second, "memory_pool", ("ddr",))):
        if pair is None:
            if prefix == "memory":
                out.miss("memory_size_bytes", Absence.UNSUPPORTED)
                out.miss("memory_used_bytes", Absence.UNSUPPORTED)
            continue
        used, size = pair
        if not isinstance(used, Absence) and not isinstance(size, Absence) and used > size:
            used = Absence.ERROR
            notes = ("npu-smi reports more memory in use than there is",)
        elif not isinstance(used, Absence) and used < 0:
            used = Absence.ERROR
        out.put_or_miss(f"{prefix}_used_bytes", used, *labels)
        out.put_or_miss(f"{prefix}_size_bytes", size, *labels)
    return notes


def _used_and_size(chip: Chip, name: str) -> tuple[int | Absence, int | Absence] | None:
    """Both in bytes; None where the chip has no such memory: `0 / 0`."""
    heading = next((key for key in chip.fields if key.partition("(")[0] == name), None)
    if heading is None:
        return None
    unit = heading.partition("(")[2].rstrip(")")
    used_text, slash, size_text = chip.fields[heading].partition("/")
    if not slash:
        return Absence.ERROR, Absence.ERROR
    used, size = (
        value if isinstance(value, Absence) else round(value)
        for value in (_number(text, unit, _BINARY) for text in (used_text, size_text))
    )
    return None if size == 0 else (used, size)


def _collect_health(out: Collected, chip: Chip) -> None:
    status = (chip.fields.get("health") or "").strip()
    if status.lower() in ("", "-", "na", "n/a"):
        for key in ("reported_status_info", "reported_health_info"):
            out.miss(key, Absence.UNSUPPORTED)
        return
    out.put("reported_status_info", 1, status)
    health = _HEALTH.get(status.lower())
    if health is None:
        out.miss("reported_health_info", Absence.ERROR)
    else:
        out.put("reported_health_info", 1, health)


def _collect_ecc(out: Collected, pairs: PairsOrAbsence) -> None:
    """Counters of all memories of the chip together, and by memory."""
    if isinstance(pairs, Absence):
        for key in _COUNTERS:
            out.miss(key, pairs)
        return
    for bits, cause, severity in _BITS:
        prefix = f"{bits} bit"
        for memory in ("ddr", "hbm"):
            count = _total(pairs, f"{prefix} error count", (f"{memory} ",))
            if not isinstance(count, Absence):
                out.put("ecc_location_errors_total", count, severity, memory)
        out.put_or_miss("ecc_errors_total", _total(pairs, f"{prefix} error count"), severity)
        lifetime = _total(pairs, f"{prefix} aggregate total err cnt")
        out.put_or_miss("ecc_lifetime_errors", lifetime, severity)
        pages = _total(pairs, f"{prefix} isolated pages count")
        out.put_or_miss("memory_retired_pages", pages, cause)
    waiting = [_total(pairs, f"{bits} bit next-isolated pages count") for bits, _, _ in _BITS]
    counts = [count for count in waiting if not isinstance(count, Absence)]
    out.put_or_miss("memory_repair_pending", any(counts) if counts else waiting[0])


def _total(pairs: Pairs, name: str, memories: tuple[str, ...] = _MEMORIES) -> int | Absence:
    """The sum over the memories that have the counter; unknown when one of them cannot be read."""
    keys = {memory + name for memory in memories}
    # The oldest writes `Single-bit Error Count`.
    counts = [
        quantity(text, _COUNT)
        for key, text in pairs.items()
        if key.replace("-bit ", " bit ") in keys
    ]
    missing = next((count for count in counts if isinstance(count, Absence)), None)
    if missing is not None or not counts:
        return missing or Absence.UNSUPPORTED
    return round(sum(count for count in counts if not isinstance(count, Absence)))


def processes_of(device_id: str, jobs: Iterable[Job]) -> list[Process]:
    """The processes on the chip, by pid; npu-smi lists each once."""
    by_pid = {job.pid: _process(device_id, job) for job in jobs}
    return [by_pid[pid] for pid in sorted(by_pid)]


def _process(device_id: str, job: Job) -> Process:
    return listed(device_id, job.pid, job.command, quantity(job.memory, _BINARY))
