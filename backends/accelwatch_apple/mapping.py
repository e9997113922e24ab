"""From a moment to the two devices of a Mac and their readings, as tables. Pure."""

from typing import NamedTuple

import msgspec

from accelwatch.backend_kit.quantity_text import PERCENT, Units, quantity
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind, MemoryKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected, Process, Reading
from accelwatch_apple.identity import Machine
from accelwatch_apple.registry import Accelerator, Client
from accelwatch_apple.sample import Told, first_known, within
from accelwatch_apple.sources import Moment
from accelwatch_apple.thermal_pressure import MEANINGS

SOURCE = "ioreg"
VENDOR = "apple"
GPU, ANE = "apple0", "ane0"
_AGX = "AGXAccelerator"
_COUNT: Units = {"": 1.0}


class Statistic(NamedTuple):
    """A key of `PerformanceStatistics` and the series that it is."""

    key: str
    series: Series
    units: Units
    most: float


STATISTICS = (
    Statistic("Device Utilization %", ("utilization_ratio",), PERCENT, 1.0),
    Statistic("Renderer Utilization %", ("engine_utilization_ratio", "render"), PERCENT, 1.0),
    Statistic("Tiler Utilization %", ("engine_utilization_ratio", "tiler"), PERCENT, 1.0),
    Statistic("In use system memory", ("memory_pool_used_bytes", "host"), _COUNT, 1 << 50),
    Statistic("recoveryCount", ("resets_total",), _COUNT, 1 << 50),
)


class Measured(NamedTuple):
    """A field of a sample and the series that it is."""

    field: str
    series: Series


MEASURED = (
    Measured("busy", ("utilization_ratio",)),
    Measured("hertz", ("clock_hertz", "graphics")),
    Measured("max_hertz", ("clock_limit_hertz", "graphics", "max")),
    Measured("watts", ("power_watts",)),
    Measured("sram_watts", ("power_component_watts", "sram")),
    Measured("celsius", ("temperature_celsius", "gpu")),
)


def gpu_device(machine: Machine, accelerator: Accelerator | None) -> Device:
    """The GPU; its memory is that of the machine."""
    kind = (accelerator and accelerator.kind) or ""
    return Device(
        id=f"{VENDOR}:{machine.place}-gpu",
        vendor=VENDOR,
        backend=VENDOR,
        index=0,
        name=GPU,
        model=(accelerator and accelerator.model) or machine.chip,
        architecture=kind.removeprefix(_AGX).lower() or None if kind.startswith(_AGX) else None,
        serial=machine.serial,
        firmware_version=machine.firmware,
        driver_version=machine.system,
        memory_kind=MemoryKind.SHARED,
    )


def ane_device(machine: Machine) -> Device:
    """The neural engine, of which macOS tells its power and nothing else."""
    return Device(
        id=f"{VENDOR}:{machine.place}-ane",
        vendor=VENDOR,
        backend=VENDOR,
        index=1,
        name=ANE,
        kind=DeviceKind.NPU,
        model=f"{machine.chip} Neural Engine" if machine.chip else "Apple Neural Engine",
        architecture="ane",
        serial=machine.serial,
        firmware_version=machine.firmware,
        driver_version=machine.system,
        memory_kind=MemoryKind.SHARED,
    )


def gpu_reading(device: Device, machine: Machine, moment: Moment) -> Reading:
    """Everything but processes."""
    out = Collected(device.id)
    sources = {"*": SOURCE}
    for row in MEASURED:
        told: Told = getattr(moment.sample, row.field) if moment.sampler else moment.untold
        if row.field == "max_hertz" and isinstance(told, Absence):
            told = Absence.UNSUPPORTED
        _put(out, row.series, told)
        if moment.sampler and not isinstance(told, Absence):
            sources[row.series[0]] = moment.sampler
    _put_statistics(out, moment.accelerators[0])
    for number, fan in enumerate(moment.sample.fans_rpm):
        out.put_or_miss("fan_speed_rpm", fan, str(number))
        sources["fan_speed_rpm"] = moment.sampler
    _put_memory(out, sources, machine, moment)
    _put_pressure(out, sources, moment)
    return out.reading(sources=sources, notes=(moment.why,) if moment.why else ())


def ane_reading(device: Device, moment: Moment) -> Reading:
    """Its power; the machine's thermal pressure and memory are told with the GPU."""
    out = Collected(device.id)
    out.put_or_miss("power_watts", moment.sample.ane_watts if moment.sampler else moment.untold)
    return out.reading(
        sources={"*": moment.sampler or SOURCE}, notes=(moment.why,) if moment.why else ()
    )


def processes(device: Device, moment: Moment) -> list[Process]:
    """Who has the GPU open. Memory of a process on the GPU is told nowhere."""
    return [_process(device, client, moment) for client in moment.accelerators[0].clients]


def _process(device: Device, client: Client, moment: Moment) -> Process:
    owner = moment.owners.get(client.pid)
    told = {
        "start_time": owner and owner.start_time,
        "user": owner and owner.user,
        "utilization_ratio": moment.shares.get(client.pid),
        "gpu_memory_bytes": None,
    }
    process = Process(
        device_id=device.id, pid=client.pid, type="compute+graphics", command=client.command
    )
    absent = {name: Absence.UNSUPPORTED for name, value in told.items() if value is None}
    return msgspec.structs.replace(process, **told, absent=absent)


def _put(out: Collected, series: Series, told: Told) -> None:
    """A value or a reason; a value that is there already stays."""
    if series not in out.values:
        key, *labels = series
        out.put_or_miss(key, told, *labels)


def _put_statistics(out: Collected, accelerator: Accelerator) -> None:
    """What the sample has told already is better: it is a mean over its window."""
    for row in STATISTICS:
        told = within(quantity(accelerator.statistics.get(row.key), row.units), row.most)
        if not isinstance(told, Absence) and row.units is _COUNT:
            told = round(told)
        if not isinstance(told, Absence) or row.series not in out.absent:
            _put(out, row.series, told)


def _put_memory(out: Collected, sources: dict[str, str], machine: Machine, moment: Moment) -> None:
    size = first_known(machine.memory_bytes, moment.sample.memory_bytes)
    used = first_known(moment.used_bytes, moment.sample.used_bytes)
    size_from = moment.sampler if isinstance(machine.memory_bytes, Absence) else "sysctl"
    used_from = moment.sampler if isinstance(moment.used_bytes, Absence) else "vm_stat"
    if not isinstance(size, Absence) and not isinstance(used, Absence) and used > size:
        used = Absence.ERROR
    for key, told, source in (
        ("memory_size_bytes", size, size_from),
        ("memory_used_bytes", used, used_from),
    ):
        out.put_or_miss(key, told if isinstance(told, Absence) else round(told))
        if not isinstance(told, Absence):
            sources[key] = source


def _put_pressure(out: Collected, sources: dict[str, str], moment: Moment) -> None:
    word = moment.pressure
    if word is None:
        out.miss("reported_status_info", Absence.UNSUPPORTED)
        out.miss("throttle_active", Absence.UNSUPPORTED, "thermal_software")
        return
    out.put("reported_status_info", 1, f"thermal pressure {word}")
    meaning = MEANINGS.get(word)
    if meaning is None:
        out.miss("throttle_active", Absence.UNSUPPORTED, "thermal_software")
    else:
        out.put("throttle_active", int(meaning.throttled), "thermal_software")
        out.put("reported_health_info", 1, meaning.health)
    for key in ("reported_status_info", "throttle_active", "reported_health_info"):
        sources[key] = moment.pressure_from
