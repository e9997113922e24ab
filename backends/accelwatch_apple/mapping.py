"""From a moment to the two devices of a Mac and their readings, as tables. Pure."""

from typing import NamedTuple

import msgspec

from accelwatch.backend.kit.text.quantity import PERCENT, Units, quantity
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind, MemoryKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected, Process, Reading
from accelwatch_apple.identity import Machine
from accelwatch_apple.registry import Accelerator, Client
from accelwatch_apple.sample import Measurement, first_available, within
from accelwatch_apple.sources import PollResult
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
        id=f"{VENDOR}:{machine.identifier}-gpu",
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
    """The neural engine, of which macOS reports its power and nothing else."""
    return Device(
        id=f"{VENDOR}:{machine.identifier}-ane",
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


def gpu_reading(device: Device, machine: Machine, result: PollResult) -> Reading:
    """Everything but processes."""
    out = Collected(device.id)
    sources = {"*": SOURCE}
    for row in MEASURED:
        value: Measurement = getattr(result.sample, row.field) if result.sampler else result.absence
        if row.field == "max_hertz" and isinstance(value, Absence):
            value = Absence.UNSUPPORTED
        _record_new(out, row.series, value)
        if result.sampler and not isinstance(value, Absence):
            sources[row.series[0]] = result.sampler
    _collect_statistics(out, result.accelerators[0])
    for number, fan in enumerate(result.sample.fans_rpm):
        out.put_or_miss("fan_speed_rpm", fan, str(number))
        sources["fan_speed_rpm"] = result.sampler
    _collect_memory(out, sources, machine, result)
    _collect_pressure(out, sources, result)
    return out.reading(sources=sources, notes=(result.why,) if result.why else ())


def ane_reading(device: Device, result: PollResult) -> Reading:
    """Its power; the machine's thermal pressure and memory are reported with the GPU."""
    out = Collected(device.id)
    out.put_or_miss("power_watts", result.sample.ane_watts if result.sampler else result.absence)
    return out.reading(
        sources={"*": result.sampler or SOURCE}, notes=(result.why,) if result.why else ()
    )


def processes(device: Device, result: PollResult) -> list[Process]:
    """Who has the GPU open. macOS does not report a process's memory on the GPU."""
    return [_process(device, client, result) for client in result.accelerators[0].clients]


def _process(device: Device, client: Client, result: PollResult) -> Process:
    owner = result.owners.get(client.pid)
    fields = {
        "start_time": owner and owner.start_time,
        "user": owner and owner.user,
        "utilization_ratio": result.shares.get(client.pid),
        "gpu_memory_bytes": None,
    }
    process = Process(
        device_id=device.id, pid=client.pid, type="compute+graphics", command=client.command
    )
    absent = {name: Absence.UNSUPPORTED for name, value in fields.items() if value is None}
    return msgspec.structs.replace(process, **fields, absent=absent)


def _record_new(out: Collected, series: Series, value: Measurement) -> None:
    """A value or a reason; a value that is there already stays."""
    if series not in out.values:
        out.record(series, value)


def _collect_statistics(out: Collected, accelerator: Accelerator) -> None:
    """What the sample has filled already is better: it is a mean over its window."""
    for row in STATISTICS:
        value = within(quantity(accelerator.statistics.get(row.key), row.units), row.most)
        if not isinstance(value, Absence) and row.units is _COUNT:
            value = round(value)
        if not isinstance(value, Absence) or row.series not in out.absent:
            _record_new(out, row.series, value)


def _collect_memory(
    out: Collected, sources: dict[str, str], machine: Machine, result: PollResult
) -> None:
    size = first_available(machine.memory_bytes, result.sample.memory_bytes)
    used = first_available(result.used_bytes, result.sample.used_bytes)
    size_from = result.sampler if isinstance(machine.memory_bytes, Absence) else "sysctl"
    used_from = result.sampler if isinstance(result.used_bytes, Absence) else "vm_stat"
    if not isinstance(size, Absence) and not isinstance(used, Absence) and used > size:
        used = Absence.ERROR
    for key, value, source in (
        ("memory_size_bytes", size, size_from),
        ("memory_used_bytes", used, used_from),
    ):
        out.put_or_miss(key, value if isinstance(value, Absence) else round(value))
        if not isinstance(value, Absence):
            sources[key] = source


def _collect_pressure(out: Collected, sources: dict[str, str], result: PollResult) -> None:
    level = result.pressure
    if level is None:
        out.miss("reported_status_info", Absence.UNSUPPORTED)
        out.miss("throttle_active", Absence.UNSUPPORTED, "thermal_software")
        return
    out.put("reported_status_info", 1, f"thermal pressure {level}")
    meaning = MEANINGS.get(level)
    if meaning is None:
        out.miss("throttle_active", Absence.UNSUPPORTED, "thermal_software")
    else:
        out.put("throttle_active", int(meaning.throttled), "thermal_software")
        out.put("reported_health_info", 1, meaning.health)
    for key in ("reported_status_info", "throttle_active", "reported_health_info"):
        sources[key] = result.pressure_from
