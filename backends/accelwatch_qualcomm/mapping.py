"""From qaic-util's fields of a chip to a device and its reading. Pure."""

from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from accelwatch.backend.kit.text.quantity import CELSIUS, HERTZ, WATTS, Units, quantity
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected
from accelwatch_qualcomm.document import Chip

VENDOR = "qualcomm"
_WATTS: Units = MappingProxyType({**WATTS, "watts": 1.0})
# 33554432 KB in one release and 32692 MB in another are both what is left of 32 GiB.
_BYTES: Units = MappingProxyType(
    {f"{letter}b": 1024.0**power for power, letter in enumerate("kmg", 1)}
)
_HEALTH = MappingProxyType({"ready": "ok", "initializing": "degraded", "error": "failed"})


class MappedField(NamedTuple):
    """A field and the series that it is."""

    key: str
    series: Series
    units: Units


ROWS = (
    MappedField("soc temperature", ("temperature_celsius", "gpu"), CELSIUS),
    MappedField("nsp frequency", ("clock_hertz", "npu"), HERTZ),
    MappedField("ddr frequency", ("clock_hertz", "memory"), HERTZ),
    MappedField("compnoc frequency", ("clock_hertz", "fabric"), HERTZ),
    MappedField("sysnoc frequency", ("clock_hertz", "soc"), HERTZ),
)
_BOARD_POWER, _CHIP_POWER = "board power", "soc power"
_BOARD_CAPS, _CHIP_CAPS = ("board tdp cap", "tdp cap"), ("soc tdp cap",)


def identified(device: Device, chip: Chip, model: str | None, driver_version: str | None) -> Device:
    """The device with what the command says of who it is; two chips of a card share its serial."""
    hw_serial = chip.text("hw serial")
    own = (
        None
        if hw_serial is None or not hw_serial.lower().removeprefix("0x").strip("0")
        else hw_serial
    )
    return msgspec.structs.replace(
        device,
        id=f"{VENDOR}:{own or chip.pci_bus_id or device.index}",
        uuid=own,
        serial=chip.text("board serial"),
        model=model,
        firmware_version=chip.text("fw version"),
        driver_version=driver_version,
    )


def collected(device_id: str, chip: Chip, chips: Iterable[Chip] = ()) -> Collected:
    """What the command prints; how busy a chip is it does not know. `chips` are all that it listed."""
    out = Collected(device_id)
    for row in ROWS:
        out.record(row.series, quantity(chip.fields.get(row.key), row.units))
    _record_power(out, chip, _of_board(chip, chips))
    _record_memory(out, chip)
    _record_health(out, chip.text("status"))
    return out


def notes(chip: Chip, chips: Iterable[Chip] = ()) -> tuple[str, ...]:
    """Where the power of the chip is reported, if not at itself."""
    board = _of_board(chip, chips)
    reporter = _power_reporter(chip, board)
    if _has_own_power(board) or reporter.number == chip.number:
        return ()
    return (f"the power of the card is reported once, at qaic{reporter.number}",)


def _of_board(chip: Chip, chips: Iterable[Chip]) -> Sequence[Chip]:
    """The chips of its card; itself alone where the card has no serial number."""
    serial = chip.text("board serial")
    if serial is None or not serial.strip("0-"):
        return (chip,)
    others = (other for other in chips if other.number != chip.number)
    return (chip, *(other for other in others if other.text("board serial") == serial))


def _has_own_power(board: Iterable[Chip]) -> bool:
    """Whether this release reports the power of each chip."""
    return any(not isinstance(_watts(chip, _CHIP_POWER), Absence) for chip in board)


def _power_reporter(chip: Chip, board: Iterable[Chip]) -> Chip:
    """The chip at which the power of the card stands: all repeat it, the first that has it counts."""
    telling = (other for other in board if not isinstance(_watts(other, _BOARD_POWER), Absence))
    return min(telling, key=_number, default=chip)


def _number(chip: Chip) -> int:
    return chip.number


def _record_power(out: Collected, chip: Chip, board: Sequence[Chip]) -> None:
    """Of the chip where it is reported, else of the card; and the limit of the same."""
    own = _has_own_power(board)
    power, caps = (_CHIP_POWER, _CHIP_CAPS) if own else (_BOARD_POWER, _BOARD_CAPS)
    cap = next((key for key in caps if key in chip.fields), caps[0])
    is_reported = own or _power_reporter(chip, board).number == chip.number
    for series, key in ((("power_watts",), power), (("power_limit_watts", "enforced"), cap)):
        out.record(series, _watts(chip, key) if is_reported else Absence.UNSUPPORTED)


def _watts(chip: Chip, key: str) -> float | Absence:
    """Nothing that runs draws 0 W, or may draw no more: so a release says that it does not know."""
    watts = quantity(chip.fields.get(key), _WATTS)
    return watts or Absence.UNSUPPORTED


def _record_memory(out: Collected, chip: Chip) -> None:
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


def _record_health(out: Collected, status: str | None) -> None:
    """Whole word first: `Error: ...` and `Error 5` are errors."""
    if status is None:
        out.miss("reported_status_info", Absence.UNSUPPORTED)
        out.miss("reported_health_info", Absence.UNSUPPORTED)
        return
    text = status.lower()
    out.put("reported_status_info", 1, text)
    health = _HEALTH.get(text.replace(":", " ").split()[0]) if text.strip(": ") else None
    if health is None:
        out.miss("reported_health_info", Absence.UNSUPPORTED)
    else:
        out.put("reported_health_info", 1, health)
