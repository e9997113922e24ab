"""The device models of the simulator as tables: one row a series.

A row is a constant or `offset + scale * signal`; whole numbers in a row make whole numbers in a value.
Figures are those of the vendors' data sheets, rounded; nothing here was read from a device.
"""

from functools import cache

import msgspec

from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch_simulator.signals import SIGNALS

_MIB = 1 << 20
_GIB = 1 << 30
_MHZ = 1_000_000


class Row(msgspec.Struct, frozen=True):
    """One series; without a signal it is the constant `offset`."""

    series: Series
    offset: Number = 0
    scale: Number = 0
    signal: str = ""

    @property
    def whole(self) -> bool:
        """Whether its values are whole numbers."""
        return isinstance(self.offset, int) and isinstance(self.scale, int)


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """One product."""

    vendor: str
    name: str
    architecture: str
    device_prefix: str
    uuid_prefix: str
    driver_version: str
    firmware_version: str
    part_number: str
    fabric: str
    board_watts: float
    memory_bytes: int
    rows: tuple[Row, ...]


class Plan(msgspec.Struct, frozen=True):
    """A model's rows sorted for speed: moving fractions, moving whole numbers, constants."""

    series: tuple[Series, ...]
    fractions: tuple[tuple[int, float, float], ...]
    """(signal, scale, offset)"""
    wholes: tuple[tuple[int, int, int], ...]
    constants: tuple[Number, ...]

    def moving(self, now: tuple[float, ...]) -> tuple[list[float], list[int]]:
        """Values of the moving series: fractions, then whole numbers."""
        return (
            [round(offset + scale * now[at], 4) for at, scale, offset in self.fractions],
            [offset + int(scale * now[at]) for at, scale, offset in self.wholes],
        )


def _live(signal: str, offset: Number, scale: Number, *series: str) -> Row:
    return Row(series, offset, scale, signal)


def _fixed(value: Number, *series: str) -> Row:
    return Row(series, value)


def _each(value: Number, key: str, *labels: str) -> tuple[Row, ...]:
    return tuple(Row((key, label), value) for label in labels)


def _usual(watts: float, memory: int) -> tuple[Row, ...]:
    """What every model has."""
    return (
        _live("busy", 0.0, 1.0, "utilization_ratio"),
        _live("busy_s", 0.0, 1.0, "busy_seconds_total"),
        _live("bandwidth", 0.0, 1.0, "memory_controller_utilization_ratio"),
        _live("power", 0.0, watts, "power_watts"),
        _live("full_power_s", 0.0, watts, "energy_joules_total", "hardware"),
        _live("busy_peak", 0.0, 1.0, "window_utilization_max_ratio"),
        _live("power_peak", 0.0, watts, "window_power_max_watts"),
        _live("memory", 0, memory, "memory_used_bytes"),
        _live("memory_peak", 0, memory, "window_memory_used_max_bytes"),
        _fixed(memory, "memory_size_bytes"),
        *_each(watts, "power_limit_watts", "enforced", "max"),
        *_each(0, "ecc_errors_total", "corrected", "uncorrected"),
        _fixed(0, "memory_repair_pending"),
        _fixed(0, "memory_repair_failed"),
        _fixed(0, "reset_required"),
        _fixed(0, "pcie_errors_total", "replay"),
        *_each(5, "pcie_link_generation", "current", "max"),
        *_each(16, "pcie_link_width_lanes", "current", "max"),
        *_each(0, "throttle_active", "power", "thermal_hardware"),
        _live("busy_s", 0.0, 0.004, "throttle_seconds_total", "power"),
        _fixed(0.0, "throttle_seconds_total", "thermal_hardware"),
    )


def _links(fabric: str, count: int, bytes_per_s: int) -> tuple[Row, ...]:
    return (
        _live("work_s", 0, bytes_per_s, "interconnect_bytes_total", fabric, "receive"),
        _live("work_s", 0, bytes_per_s, "interconnect_bytes_total", fabric, "transmit"),
        _fixed(count, "interconnect_links", fabric, "up"),
        _fixed(0, "interconnect_links", fabric, "down"),
        _fixed(0, "interconnect_errors_total", fabric, "crc"),
        _fixed(0, "interconnect_errors_total", fabric, "replay"),
        _fixed(0, "interconnect_errors_total", fabric, "recovery"),
    )


def _heat(sensor: str, offset: int, scale: int) -> tuple[Row, ...]:
    return (
        _live("heat", offset, scale, "temperature_celsius", sensor),
        _live("heat_peak", offset, scale, "window_temperature_max_celsius", sensor),
    )


def _clocks(domains: dict[str, tuple[int, bool]]) -> tuple[Row, ...]:
    """Megahertz, and whether the domain follows the load."""
    rows: list[Row] = []
    for domain, (mhz, moves) in domains.items():
        top = mhz * _MHZ
        now = ("clock_hertz", domain)
        rows.append(Row(now, 0, top, "clock") if moves else Row(now, top))
        rows.append(Row(("clock_limit_hertz", domain, "max"), top))
    return tuple(rows)


@cache
def h100() -> Model:
    """A data-centre GPU with 86 series in the default exposition."""
    memory = 81_559 * _MIB
    reasons = ("sync_boost", "thermal_software", "power_brake")
    rows = (
        *_usual(700.0, memory),
        *_links("nvlink", 18, 180_000_000_000),
        *_heat("gpu", 26, 52),
        *_heat("memory", 34, 58),
        *_clocks({"graphics": (1980, True), "sm": (1980, True), "memory": (2619, False)}),
        *_clocks({"video": (1545, False)}),
        _live("bandwidth", 0.0, 1.1, "memory_bandwidth_utilization_ratio"),
        _live("work", 0.0, 0.94, "compute_active_ratio"),
        _live("occupancy", 0.0, 0.9, "compute_occupancy_ratio"),
        _live("work", 0.0, 0.46, "matrix_active_ratio"),
        _fixed(552 * _MIB, "memory_reserved_bytes"),
        *_each(0.0, "engine_utilization_ratio", "encoder", "decoder", "jpeg", "optical_flow"),
        _live("work_s", 0, 2_100_000_000, "pcie_bytes_total", "receive"),
        _live("work_s", 0, 1_200_000_000, "pcie_bytes_total", "transmit"),
        _fixed(1, "fabric_state_info", "completed"),
        _fixed(92, "temperature_limit_celsius", "gpu", "shutdown"),
        _fixed(89, "temperature_limit_celsius", "gpu", "slowdown"),
        _fixed(87, "temperature_limit_celsius", "gpu", "max_operating"),
        *_each(200.0, "power_limit_watts", "min"),
        *_each(700.0, "power_limit_watts", "default"),
        _fixed(0, "performance_state"),
        *_each(0, "throttle_active", *reasons, "clock_setting"),
        *_each(0.0, "throttle_seconds_total", *reasons),
        _fixed(1, "ecc_enabled"),
        *_each(0, "ecc_lifetime_errors", "corrected", "uncorrected"),
        *_each(0, "memory_remapped_rows", "corrected", "uncorrected"),
        _fixed(1, "recovery_action_info", "none"),
    )
    return Model(
        vendor="nvidia",
        name="NVIDIA H100 80GB HBM3",
        architecture="hopper",
        device_prefix="nvidia",
        uuid_prefix="GPU-",
        driver_version="590.48.01",
        firmware_version="96.00.99.00.01",
        part_number="699-SIM-H100",
        fabric="nvlink",
        board_watts=700.0,
        memory_bytes=memory,
        rows=rows,
    )


@cache
def mi300x() -> Model:
    """A data-centre GPU of a second vendor: junction sensor, XGMI, no performance state."""
    memory = 192 * _GIB
    rows = (
        *_usual(750.0, memory),
        *_links("xgmi", 7, 96_000_000_000),
        *_heat("junction", 30, 55),
        *_heat("memory", 32, 50),
        *_clocks({"graphics": (2100, True), "memory": (1300, False), "soc": (1200, False)}),
        *_clocks({"video": (1400, False)}),
        _fixed(100, "temperature_limit_celsius", "junction", "slowdown"),
        _fixed(110, "temperature_limit_celsius", "junction", "shutdown"),
        _live("work_s", 0, 1_900_000_000, "pcie_bytes_total", "receive"),
        _live("work_s", 0, 1_100_000_000, "pcie_bytes_total", "transmit"),
        *_each(0.0, "engine_utilization_ratio", "video", "jpeg"),
        *_each(0, "memory_retired_pages", "corrected", "uncorrected"),
    )
    return Model(
        vendor="amd",
        name="AMD Instinct MI300X",
        architecture="gfx942",
        device_prefix="amd",
        uuid_prefix="",
        driver_version="6.12.12",
        firmware_version="022.040.003.042.000001",
        part_number="102-SIM-MI300X",
        fabric="xgmi",
        board_watts=750.0,
        memory_bytes=memory,
        rows=rows,
    )


@cache
def max1550() -> Model:
    """A data-centre GPU of a third vendor: Xe Link, engines by kind."""
    memory = 128 * _GIB
    rows = (
        *_usual(600.0, memory),
        *_links("xelink", 8, 40_000_000_000),
        *_heat("gpu", 28, 50),
        *_heat("memory", 30, 44),
        *_clocks({"graphics": (1600, True), "memory": (3200, False)}),
        _fixed(105, "temperature_limit_celsius", "gpu", "shutdown"),
        _live("bandwidth", 0.0, 1.0, "memory_bandwidth_utilization_ratio"),
        _live("work", 0.0, 0.9, "engine_utilization_ratio", "compute"),
        _live("bandwidth", 0.0, 0.4, "engine_utilization_ratio", "copy"),
        _live("work_s", 0, 1_700_000_000, "pcie_bytes_total", "receive"),
        _live("work_s", 0, 900_000_000, "pcie_bytes_total", "transmit"),
    )
    return Model(
        vendor="intel",
        name="Intel Data Center GPU Max 1550",
        architecture="xe-hpc",
        device_prefix="intel",
        uuid_prefix="",
        driver_version="1.6.33578",
        firmware_version="PVC2_1.23453",
        part_number="SIM-MAX1550",
        fabric="xelink",
        board_watts=600.0,
        memory_bytes=memory,
        rows=rows,
    )


@cache
def host() -> Model:
    """The machine around the devices, as the agent reads it."""
    memory = 2048 * _GIB
    rows = (
        _live("work", 0.03, 0.21, "host_cpu_utilization_ratio"),
        _live("work", 1.5, 24.0, "host_load_average", "1"),
        _live("work", 1.5, 24.0, "host_load_average", "5"),
        _live("memory", 90 * _GIB, 600 * _GIB, "host_memory_used_bytes"),
        _live("memory", memory - 90 * _GIB, -600 * _GIB, "host_memory_available_bytes"),
        _live("work_s", 0, 2_400_000_000, "host_network_bytes_total", "bond0", "receive"),
        _live("work_s", 0, 2_300_000_000, "host_network_bytes_total", "bond0", "transmit"),
        _fixed(192, "host_cpu_count"),
        _fixed(memory, "host_memory_size_bytes"),
        _fixed(1, "host_network_up", "bond0"),
        _fixed(0, "host_blocked_processes"),
        _fixed(1, "host_clock_synchronized"),
    )
    return Model(
        vendor="host",
        name="Simulated machine",
        architecture="x86_64",
        device_prefix="host",
        uuid_prefix="",
        driver_version="6.1.0-sim",
        firmware_version="",
        part_number="",
        fabric="",
        board_watts=0.0,
        memory_bytes=memory,
        rows=rows,
    )


MODELS = {"nvidia": h100, "amd": mi300x, "intel": max1550}


@cache
def plan(model: Model) -> Plan:
    """The rows of a model, sorted."""
    places = {name: at for at, name in enumerate(SIGNALS)}
    fractions = [row for row in model.rows if row.signal and not row.whole]
    wholes = [row for row in model.rows if row.signal and row.whole]
    constants = [row for row in model.rows if not row.signal]
    return Plan(
        series=tuple(row.series for row in (*fractions, *wholes, *constants)),
        fractions=tuple(
            (places[row.signal], float(row.scale), float(row.offset)) for row in fractions
        ),
        wholes=tuple((places[row.signal], int(row.scale), int(row.offset)) for row in wholes),
        constants=tuple(row.offset for row in constants),
    )
