"""From what qaic-util tells of a chip to a device and its reading. Pure."""

from types import MappingProxyType
from typing import NamedTuple

import msgspec

from accelwatch.quantity_text import CELSIUS, HERTZ, WATTS, Units, quantity
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected
from accelwatch_qualcomm.document import Chip

VENDOR = "qualcomm"
_WATTS: Units = MappingProxyType({**WATTS, "watts": 1.0})
_BYTES: Units = MappingProxyType(
    {f"{letter}b": 1024.0**power for power, letter in enumerate("kmg", 1)}
)
"""33554432 KB in one release and 32692 MB in another are both what is left of 32 GiB."""
_HEALTH = MappingProxyType({"ready": "ok", "initializing": "degraded", "error": "failed"})


class Row(NamedTuple):
    """A field and the series that it is."""

    key: str
    series: Series
    units: Units


ROWS = (
    Row("soc temperature", ("temperature_celsius", "gpu"), CELSIUS),
    Row("board power", ("power_watts",), _WATTS),
    Row("tdp cap", ("power_limit_watts", "enforced"), _WATTS),
    Row("nsp frequency", ("clock_hertz", "npu"), HERTZ),
    Row("ddr frequency", ("clock_hertz", "memory"), HERTZ),
    Row("compnoc frequency", ("clock_hertz", "fabric"), HERTZ),
    Row("sysnoc frequency", ("clock_hertz", "soc"), HERTZ),
)


def identified(device: Device, chip: Chip, model: str | None, driver_version: str | None) -> Device:
    """The device with what the command says of who it is; two chips of a card share its serial."""
    told = chip.word("hw serial")
    own = None if told is None or not told.lower().removeprefix("0x").strip("0") else told
    return msgspec.structs.replace(
        device,
        id=f"{VENDOR}:{own or chip.pci_bus_id or device.index}",
        uuid=own,
        serial=chip.word("board serial"),
        model=model,
        firmware_version=chip.word("fw version"),
        driver_version=driver_version,
    )


def collected(device_id: str, chip: Chip) -> Collected:
    """What the command tells; how busy a chip is it does not know."""
    out = Collected(device_id)
    for row in ROWS:
        value = quantity(chip.fields.get(row.key), row.units)
        key, *labels = row.series
        if key == "power_limit_watts" and value == 0:
            value = Absence.UNSUPPORTED
        out.put_or_miss(key, value, *labels)
    _put_memory(out, chip)
    _put_health(out, chip.word("status"))
    return out


def _put_memory(out: Collected, chip: Chip) -> None:
    total = quantity(chip.fields.get("dram total"), _BYTES)
    free = quantity(chip.fields.get("dram free"), _BYTES)
    if total == 0:
        total = Absence.ERROR
    if isinstance(total, Absence):
        out.miss("memory_size_bytes", total)
        out.miss("memory_used_bytes", total)
        return
    out.put("memory_size_bytes", round(total))
    if isinstance(free, Absence):
        out.miss("memory_used_bytes", free)
    elif 0 <= free <= total:
        out.put("memory_used_bytes", round(total - free))
    else:
        out.miss("memory_used_bytes", Absence.ERROR)


def _put_health(out: Collected, status: str | None) -> None:
    """Whole word first: `Error: ...` and `Error 5` are errors."""
    if status is None:
        out.miss("reported_status_info", Absence.UNSUPPORTED)
        out.miss("reported_health_info", Absence.UNSUPPORTED)
        return
    word = status.lower()
    out.put("reported_status_info", 1, word)
    health = _HEALTH.get(word.replace(":", " ").split()[0]) if word.strip(": ") else None
    if health is None:
        out.miss("reported_health_info", Absence.UNSUPPORTED)
    else:
        out.put("reported_health_info", 1, health)
