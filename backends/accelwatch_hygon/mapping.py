"""From a card of hy-smi's document to a device and its reading, as tables. Pure."""

import re
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from accelwatch.backend.kit.listed_process import listed
from accelwatch.backend.kit.text.quantity import (
    BYTES,
    CELSIUS,
    COUNT,
    HERTZ,
    PERCENT,
    VOLTS,
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
from accelwatch.schema.reading import Collected, Process
from accelwatch_hygon.document import Card, Job
from accelwatch_hygon.report import Fields

SOURCE = "hy-smi"
VENDOR = "hygon"


class MappedField(NamedTuple):
    """A quantity: its keys among the fields, its heading in the table, and the series that it is."""

    keys: tuple[str, ...]
    heading: str
    series: Series
    units: Units


_MILLIVOLTS: Units = MappingProxyType({**VOLTS, "": 1e-3})
# A terminal that is not UTF-8 spoils the sign of degrees.
_CELSIUS: Units = MappingProxyType({**CELSIUS, "\ufffdc": 1.0})

# Absent with a reason where nothing reports them.
ROWS = (
    MappedField(("hcu use (%)", "gpu use (%)"), "hcu%", ("utilization_ratio",), PERCENT),
    MappedField(
        ("temperature (sensor edge) (c)", "temperature (sensor core) (c)"),
        "temp",
        ("temperature_celsius", "gpu"),
        _CELSIUS,
    ),
    MappedField(
        ("average graphics package power (w)", "current socket graphics package power (w)"),
        "avgpwr",
        ("power_watts",),
        WATTS,
    ),
    MappedField(
        ("max graphics package power (w)",), "pwrcap", ("power_limit_watts", "enforced"), WATTS
    ),
)
# Of some releases and cards only: what is not named there is not missed.
MORE_ROWS = (
    MappedField(
        ("temperature (sensor junction) (c)",), "", ("temperature_celsius", "junction"), _CELSIUS
    ),
    MappedField(
        ("temperature (sensor mem) (c)", "temperature (sensor memory) (c)"),
        "",
        ("temperature_celsius", "memory"),
        _CELSIUS,
    ),
    MappedField(("fan speed (%)",), "fan", ("fan_speed_ratio", "0"), PERCENT),
    MappedField(("voltage (mv)",), "", ("voltage_volts", "graphics"), _MILLIVOLTS),
    MappedField(("pcie replay count",), "", ("pcie_errors_total", "replay"), COUNT),
    MappedField((), "dec%", ("engine_utilization_ratio", "decoder"), PERCENT),
    MappedField((), "enc%", ("engine_utilization_ratio", "encoder"), PERCENT),
)
_CLOCKS = (("sclk", "graphics"), ("mclk", "memory"), ("socclk", "soc"), ("fclk", "fabric"))
_MEGAHERTZ = re.compile(r"(\d{1,6}(?:\.\d{1,3})?\s*[MG]hz)", re.IGNORECASE)
_MEMORY = (
    ("memory_size_bytes", re.compile(r"vram total memory \((\w{1,3})\)")),
    ("memory_used_bytes", re.compile(r"vram total used memory \((\w{1,3})\)")),
)
_HEALTH = MappingProxyType(
    {
        "healthy": "ok",
        **dict.fromkeys(("warning", "degraded"), "degraded"),
        **dict.fromkeys(("critical", "unhealthy", "error", "failed"), "failed"),
    }
)
# As the runtime names them, by the series of the card.
_ARCHITECTURES = MappingProxyType({"K100_AI": "gfx928", "K100_LC": "gfx926", "BW": "gfx936"})
_UNIQUE_ID = re.compile(r"(?:0x)?([0-9a-f]{16})", re.IGNORECASE)
_ORDER_NOTE = "this hy-smi reports no PCI ids: its cards are matched in the order of the bus"


def identified(device: Device, card: Card, driver_version: str | None) -> Device:
    """The device with what the document says of who it is."""
    uuid = uuid_of(card.text("unique id")) or device.uuid
    model = card.text("card series", "card model")
    node = card.text("(topology) numa node", "numa node")
    mode = card.row.get("mode", "").upper()
    return msgspec.structs.replace(
        device,
        id=f"{VENDOR}:{uuid or device.pci_bus_id or card.number}",
        index=card.number,
        name=f"dcu{card.number}",
        kind=DeviceKind.GPU,
        model=model,
        architecture=_ARCHITECTURES.get(model or ""),
        uuid=uuid,
        serial=card.text("serial number"),
        vbios_version=card.text("vbios version"),
        driver_version=driver_version or device.driver_version,
        numa_node=int(node) if node and re.fullmatch(r"\d{1,4}", node) else device.numa_node,
        partition_mode="enabled" if mode == "MIG" else None,
    )


def uuid_of(unique_id: str | None) -> str | None:
    """`GPU-` and the number, as the runtime has it; boards that have words instead keep them."""
    match = _UNIQUE_ID.fullmatch(unique_id or "")
    if match is None:
        return unique_id
    return f"GPU-{match[1].lower()}" if match[1].strip("0") else None


def collect(device_id: str, card: Card) -> Collected:
    """What the card's fields and its row of the table say."""
    out = Collected(device_id)
    for row in ROWS:
        out.record(row.series, _value_of(card, row))
    for row in MORE_ROWS:
        if _names(card, row):
            out.record(row.series, _value_of(card, row))
    _collect_memory(out, card.fields)
    _collect_clocks(out, card)
    record_status(out, card.health, _HEALTH)
    return out


def notes_of(card: Card) -> tuple[str, ...]:
    """What people should know of the reading."""
    return (_ORDER_NOTE,) if card.addressed_by_order else ()


def _names(card: Card, row: MappedField) -> bool:
    return row.heading in card.row or any(key in card.fields for key in row.keys)


def _value_of(card: Card, row: MappedField) -> float | Absence:
    texts = [card.fields.get(key) for key in row.keys] + [card.row.get(row.heading)]
    return first_quantity(texts, row.units)


def _collect_memory(out: Collected, fields: Fields) -> None:
    """The unit stands in the key; older releases print bytes, newer ones MiB."""
    for key, pattern in _MEMORY:
        matches = ((pattern.fullmatch(name), value) for name, value in fields.items())
        texts = (f"{value} {match[1]}" for match, value in matches if match is not None)
        out.put_or_miss(key, integer(next(texts, None), BYTES))


def _collect_clocks(out: Collected, card: Card) -> None:
    """`sclk clock level` is `3 (1600Mhz)`, `sclk clock speed` is `(1600Mhz)`; old tables have SCLK."""
    for name, domain in _CLOCKS:
        keys = (f"{name} clock speed", f"{name} clock level")
        text = next((card.fields[key] for key in keys if key in card.fields), card.row.get(name))
        if text is None:
            continue
        match = _MEGAHERTZ.search(text)
        out.put_or_miss("clock_hertz", quantity(match[1] if match else text, HERTZ), domain)


def processes_of(
    device_id: str, number: int, jobs: Iterable[Job], names: Callable[[int], str | None]
) -> list[Process]:
    """The processes on the card, by pid. Of one on several cards only the sum of memory is known.

    `names` says what a pid is called, where it is known to be the same process here.
    """
    mine = {job.pid: job for job in jobs if number in job.numbers}
    return [_process(device_id, mine[pid], names(pid)) for pid in sorted(mine)]


def _process(device_id: str, job: Job, command: str | None) -> Process:
    size = quantity(job.memory, BYTES) if len(job.numbers) == 1 else Absence.UNSUPPORTED
    return listed(device_id, job.pid, command, size, is_comm=True)
