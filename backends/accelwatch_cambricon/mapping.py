"""From a card of cnmon to a device and its reading, as tables. Pure."""

from collections.abc import Iterable
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from accelwatch.backend.kit.listed_process import listed
from accelwatch.backend.kit.text.quantity import BYTES, CELSIUS, PERCENT, WATTS, Units, quantity
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected, Process, Reading
from accelwatch_cambricon.document import Card, Job, Path, meaningful_text, number_of

SOURCE = "cnmon"
VENDOR = "cambricon"


class MappedField(NamedTuple):
    """A field by its path, and the series that it is."""

    path: Path
    series: Series
    units: Units


ROWS = (
    MappedField(("utilization", "mlu average"), ("utilization_ratio",), PERCENT),
    MappedField(("temperature", "chip"), ("temperature_celsius", "gpu"), CELSIUS),
    MappedField(("temperature", "board"), ("temperature_celsius", "board"), CELSIUS),
    MappedField(("temperature", "memory"), ("temperature_celsius", "memory"), CELSIUS),
    MappedField(("power", "usage"), ("power_watts",), WATTS),
    MappedField(("power", "cap"), ("power_limit_watts", "enforced"), WATTS),
    MappedField(("fan",), ("fan_speed_ratio", "0"), PERCENT),
)
_MEMORY = (
    MappedField(("physical memory usage", "used"), ("memory_used_bytes",), BYTES),
    MappedField(("physical memory usage", "total"), ("memory_size_bytes",), BYTES),
)
# What the vendor's library has for the health of a card: 1 and 0.
_DEVICE = MappingProxyType({"good": "ok", "bad": "failed"})
# The states of the driver that the vendor's library lists, but for `unknown`.
_DRIVER = MappingProxyType(
    {
        "running": "ok",
        **dict.fromkeys(
            ("early inited", "bring up", "booting", "lateinit", "late init", "reset"), "degraded"
        ),
        **dict.fromkeys(("boot error", "reset error"), "failed"),
    }
)
_WORST = ("failed", "degraded", "ok")


def identified(device: Device, card: Card, driver_version: str | None, node: str | None) -> Device:
    """The device with what the command says of who it is."""
    uuid, serial = card.text("uuid"), card.text("sn")
    identifier = (
        uuid or card.pci_bus_id or device.pci_bus_id or f"{serial or 'unknown'}-{card.number}"
    )
    model = card.text("product name")
    return msgspec.structs.replace(
        device,
        id=f"{VENDOR}:{identifier}",
        index=card.number,
        name=f"mlu{card.number}",
        kind=DeviceKind.NPU,
        model=model,
        architecture=(model or "").partition("-")[0].lower() or None,
        uuid=uuid,
        serial=serial,
        firmware_version=_plain_version(card.text("firmware")),
        driver_version=_plain_version(driver_version) or device.driver_version,
        pci_bus_id=card.pci_bus_id or device.pci_bus_id,
        device_nodes=() if node is None else (node,),
    )


def _plain_version(version: str | None) -> str | None:
    """`v5.10.22` is 5.10.22."""
    return None if version is None else version.removeprefix("v")


def read(device_id: str, card: Card) -> Reading:
    """Everything but processes."""
    out = Collected(device_id)
    for row in ROWS:
        out.record(row.series, quantity(card.fields.get(row.path), row.units))
    for row in _MEMORY:
        size = quantity(card.fields.get(row.path), row.units)
        out.put_or_miss(row.series[0], size if isinstance(size, Absence) else round(size))
    notes = (*_refuse_overfull(out), *_collect_ecc(out, card))
    _collect_health(out, card)
    return out.reading(sources={"*": SOURCE}, notes=notes)


def _refuse_overfull(out: Collected) -> tuple[str, ...]:
    used = out.values.get(("memory_used_bytes",), 0)
    if used <= out.values.get(("memory_size_bytes",), used):
        return ()
    del out.values["memory_used_bytes",]
    out.miss("memory_used_bytes", Absence.ERROR)
    return ("cnmon reports more memory in use than there is",)


def _collect_ecc(out: Collected, card: Card) -> tuple[str, ...]:
    """Whether ECC is on: the column has N/A without it, else a number of errors of any kind."""
    text = card.fields.get(("ecc-error",))
    count = number_of(text)
    if count is not None:
        out.put("ecc_enabled", 1)
    elif text is not None and text.strip().upper() == "N/A":
        out.put("ecc_enabled", 0)
    else:
        out.miss(
            "ecc_enabled", Absence.UNSUPPORTED if meaningful_text(text) is None else Absence.ERROR
        )
    return (f"cnmon counts {count} ECC errors, without their kind",) if count else ()


def _collect_health(out: Collected, card: Card) -> None:
    device, driver = card.text("health state", "device"), card.text("health state", "driver")
    if device is None and driver is None:
        out.miss("reported_status_info", Absence.UNSUPPORTED)
        out.miss("reported_health_info", Absence.UNSUPPORTED)
        return
    out.put("reported_status_info", 1, ", ".join(filter(None, (device, driver))))
    meant = {
        meanings.get(" ".join(state.lower().split()))
        for state, meanings in ((device, _DEVICE), (driver, _DRIVER))
        if state is not None
    }
    # Beside a word that nobody knows, the other cannot vouch for the card.
    candidates = _WORST if None not in meant else _WORST[:-1]
    worst = next((health for health in candidates if health in meant), None)
    if worst is None:
        out.miss("reported_health_info", Absence.ERROR)
    else:
        out.put("reported_health_info", 1, worst)


def processes_of(device_id: str, jobs: Iterable[Job]) -> list[Process]:
    """The processes on the card, by pid."""
    by_pid = {job.pid: _process(device_id, job) for job in jobs}
    return [by_pid[pid] for pid in sorted(by_pid)]


def _process(device_id: str, job: Job) -> Process:
    return listed(device_id, job.pid, job.command, quantity(job.memory, BYTES))
