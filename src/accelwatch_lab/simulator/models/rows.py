"""What a simulated device model is made of: a table with one row a series, and the rows that many share.

A row is a constant or `offset + scale * signal`; whole numbers in a row make whole numbers in a value.
Figures are those of the vendors' data sheets, rounded; nothing here was read from a device.
"""

from functools import cache

import msgspec

from accelwatch.schema.device import DeviceKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch_lab.simulator.signals import SIGNALS

MIB = 1 << 20
GIB = 1 << 30
_MHZ = 1_000_000


class SimulatedSeries(msgspec.Struct, frozen=True):
    """One series; without a signal it is the constant `offset`."""

    series: Series
    offset: Number = 0
    scale: Number = 0
    signal: str = ""

    @property
    def is_integer(self) -> bool:
        """Whether its values are whole numbers."""
        return isinstance(self.offset, int) and isinstance(self.scale, int)


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """One product."""

    vendor: str
    kind: DeviceKind = DeviceKind.GPU
    name: str
    architecture: str
    device_prefix: str
    uuid_prefix: str
    driver_version: str
    firmware_version: str
    part_number: str
    fabric: str
    board_watts: float
    # 0 where nothing reports it.
    memory_bytes: int
    rows: tuple[SimulatedSeries, ...]


class Plan(msgspec.Struct, frozen=True):
    """A model's rows sorted for speed: moving fractions, moving whole numbers, constants."""

    series: tuple[Series, ...]
    # (signal, scale, offset)
    fractions: tuple[tuple[int, float, float], ...]
    wholes: tuple[tuple[int, int, int], ...]
    constants: tuple[Number, ...]

    def moving(self, now: tuple[float, ...]) -> tuple[list[float], list[int]]:
        """Values of the moving series: fractions, then whole numbers."""
        return (
            [round(offset + scale * now[at], 4) for at, scale, offset in self.fractions],
            [offset + int(scale * now[at]) for at, scale, offset in self.wholes],
        )


def live(signal: str, offset: Number, scale: Number, *series: str) -> SimulatedSeries:
    """A series that follows a signal."""
    return SimulatedSeries(series, offset, scale, signal)


def fixed(value: Number, *series: str) -> SimulatedSeries:
    """A series that stands."""
    return SimulatedSeries(series, value)


def each(value: Number, key: str, *labels: str) -> tuple[SimulatedSeries, ...]:
    """The same value under several labels."""
    return tuple(SimulatedSeries((key, label), value) for label in labels)


def usual(watts: float, memory: int) -> tuple[SimulatedSeries, ...]:
    """What every model has."""
    return (
        live("busy", 0.0, 1.0, "utilization_ratio"),
        live("busy_s", 0.0, 1.0, "busy_seconds_total"),
        live("bandwidth", 0.0, 1.0, "memory_controller_utilization_ratio"),
        live("power", 0.0, watts, "power_watts"),
        live("full_power_s", 0.0, watts, "energy_joules_total", "hardware"),
        live("busy_peak", 0.0, 1.0, "window_utilization_max_ratio"),
        live("power_peak", 0.0, watts, "window_power_max_watts"),
        live("memory", 0, memory, "memory_used_bytes"),
        live("memory_peak", 0, memory, "window_memory_used_max_bytes"),
        fixed(memory, "memory_size_bytes"),
        *each(watts, "power_limit_watts", "enforced", "max"),
        *each(0, "ecc_errors_total", "corrected", "uncorrected"),
        fixed(0, "memory_repair_pending"),
        fixed(0, "memory_repair_failed"),
        fixed(0, "reset_required"),
        fixed(0, "pcie_errors_total", "replay"),
        *each(5, "pcie_link_generation", "current", "max"),
        *each(16, "pcie_link_width_lanes", "current", "max"),
        *each(0, "throttle_active", "power", "thermal_hardware"),
        live("busy_s", 0.0, 0.004, "throttle_seconds_total", "power"),
        fixed(0.0, "throttle_seconds_total", "thermal_hardware"),
    )


def terse(watts: float, memory: int, *, health: bool = True) -> tuple[SimulatedSeries, ...]:
    """What an inference card has of which the vendor's tool says little: no ECC, no energy."""
    health_rows = (fixed(1, "reported_health_info", "ok"),) if health else ()
    return (
        *health_rows,
        live("busy", 0.0, 1.0, "utilization_ratio"),
        live("busy_s", 0.0, 1.0, "busy_seconds_total"),
        live("busy_peak", 0.0, 1.0, "window_utilization_max_ratio"),
        live("power", 0.0, watts, "power_watts"),
        live("full_power_s", 0.0, watts, "energy_joules_total", "integrated"),
        live("power_peak", 0.0, watts, "window_power_max_watts"),
        live("memory", 0, memory, "memory_used_bytes"),
        live("memory_peak", 0, memory, "window_memory_used_max_bytes"),
        fixed(memory, "memory_size_bytes"),
    )


def links(fabric: str, count: int, bytes_per_s: int) -> tuple[SimulatedSeries, ...]:
    """Links to other devices: traffic, how many are up, errors."""
    return (
        live("work_s", 0, bytes_per_s, "interconnect_bytes_total", fabric, "receive"),
        live("work_s", 0, bytes_per_s, "interconnect_bytes_total", fabric, "transmit"),
        fixed(count, "interconnect_links", fabric, "up"),
        fixed(0, "interconnect_links", fabric, "down"),
        fixed(0, "interconnect_errors_total", fabric, "crc"),
        fixed(0, "interconnect_errors_total", fabric, "replay"),
        fixed(0, "interconnect_errors_total", fabric, "recovery"),
    )


def heat(sensor: str, offset: int, scale: int) -> tuple[SimulatedSeries, ...]:
    """A sensor and its peak, from `offset` when cool to `offset + scale`."""
    return (
        live("heat", offset, scale, "temperature_celsius", sensor),
        live("heat_peak", offset, scale, "window_temperature_max_celsius", sensor),
    )


def clocks(
    domains: dict[str, tuple[int, bool]], *, limits: bool = True
) -> tuple[SimulatedSeries, ...]:
    """Megahertz, and whether the domain follows the load; `limits`: what each is at most, too."""
    rows: list[SimulatedSeries] = []
    for domain, (mhz, moves) in domains.items():
        top = mhz * _MHZ
        now = ("clock_hertz", domain)
        rows.append(SimulatedSeries(now, 0, top, "clock") if moves else SimulatedSeries(now, top))
        if limits:
            rows.append(SimulatedSeries(("clock_limit_hertz", domain, "max"), top))
    return tuple(rows)


# Sorting the rows is done once per model, not for each node and tick.
@cache
def plan(model: Model) -> Plan:
    """The rows of a model, sorted."""
    indices = {name: at for at, name in enumerate(SIGNALS)}
    fractions = [row for row in model.rows if row.signal and not row.is_integer]
    wholes = [row for row in model.rows if row.signal and row.is_integer]
    constants = [row for row in model.rows if not row.signal]
    return Plan(
        series=tuple(row.series for row in (*fractions, *wholes, *constants)),
        fractions=tuple(
            (indices[row.signal], float(row.scale), float(row.offset)) for row in fractions
        ),
        wholes=tuple((indices[row.signal], int(row.scale), int(row.offset)) for row in wholes),
        constants=tuple(row.offset for row in constants),
    )
