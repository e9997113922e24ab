"""Which of nvidia-smi's query fields is which of our quantities, and how nvidia-smi writes it.

Names, aliases, units and words follow `nvidia-smi --help-query-gpu` and its CSV output; an alias is
answered under the field's first name, as nvidia-smi does.
"""

from collections.abc import Callable
from functools import cache

import msgspec

from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

MIB = 1 << 20

Write = Callable[[Number], str]


class QueryField(msgspec.Struct, frozen=True):
    """One field: names (the first is the one that is printed), unit, and where the answer is.

    Exactly one of `identity` (a field of Device), `series` and `special` is set; none of them means that
    nvidia-smi has the field and we do not read it: the answer is `[N/A]`.
    """

    names: tuple[str, ...]
    unit: str = ""
    identity: str = ""
    series: Series = ()
    write: Write = str
    special: str = ""


def _scaled(factor: float, digits: int = 0) -> Write:
    return lambda value: f"{value * factor:.{digits}f}"


_PERCENT, _WATTS = _scaled(100), _scaled(1, 2)
_MEBIBYTES, _MEGAHERTZ, _MICROSECONDS = _scaled(1 / MIB), _scaled(1e-6), _scaled(1e6)


def _words(zero: str, one: str) -> Write:
    return lambda value: one if value else zero


_ACTIVE = _words("Not Active", "Active")
_ENABLED = _words("Disabled", "Enabled")
_YES = _words("No", "Yes")


def _quantity(name: str, unit: str, write: Write, *series: str, alias: str = "") -> QueryField:
    names = (name, *alias.split()) if alias else (name,)
    return QueryField(names, unit, series=series, write=write)


def _reason(name: str, reason: str) -> QueryField:
    names = (f"clocks_event_reasons.{name}", f"clocks_throttle_reasons.{name}")
    return QueryField(names, series=("throttle_active", reason), write=_ACTIVE)


def _counter(name: str, reason: str) -> QueryField:
    key = f"clocks_event_reasons_counters.{name}"
    return _quantity(key, "us", _MICROSECONDS, "throttle_seconds_total", reason)


def _limit(name: str, limit: str, alias: str) -> QueryField:
    return _quantity(name, "W", _WATTS, "power_limit_watts", limit, alias=alias)


def _ecc() -> tuple[QueryField, ...]:
    rows: list[QueryField] = []
    for word in ("corrected", "uncorrected"):
        for life, key in (("volatile", "ecc_errors_total"), ("aggregate", "ecc_lifetime_errors")):
            name = f"ecc.errors.{word}.{life}"
            rows += [
                _quantity(f"{name}.{place}", "", str, "ecc_location_errors_total", word, label)
                if life == "volatile"
                else QueryField((f"{name}.{place}",))
                for place, label in _ECC_PLACES
            ]
            rows.append(_quantity(f"{name}.total", "", str, key, word))
    return tuple(rows)


_ECC_PLACES = (
    ("device_memory", "device_memory"),
    ("dram", "dram"),
    ("register_file", "register_file"),
    ("l1_cache", "l1_cache"),
    ("l2_cache", "l2_cache"),
    ("texture_memory", "texture_memory"),
    ("cbu", "cbu"),
    ("sram", "sram"),
)

_FIELDS: tuple[QueryField, ...] = (
    QueryField(("timestamp",), special="timestamp"),
    QueryField(("driver_version",), identity="driver_version"),
    QueryField(("count",), special="count"),
    QueryField(("name", "gpu_name"), identity="model"),
    QueryField(("serial", "gpu_serial"), identity="serial"),
    QueryField(("uuid", "gpu_uuid"), identity="uuid"),
    QueryField(("pci.bus_id", "gpu_bus_id"), special="pci.bus_id"),
    QueryField(("pci.domain",), special="pci.domain"),
    QueryField(("pci.bus",), special="pci.bus"),
    QueryField(("pci.device",), special="pci.device"),
    QueryField(("index",), identity="index"),
    QueryField(("vbios_version",), identity="vbios_version"),
    QueryField(("hostname",), special="hostname"),
    QueryField(("gpu_recovery_action",), special="gpu_recovery_action"),
    QueryField(("mig.mode.current",), special="mig.mode.current"),
    QueryField(("fabric.state",), special="fabric.state"),
    QueryField(("memory.free",), "MiB", special="memory.free"),
    QueryField(
        ("clocks_event_reasons.active", "clocks_throttle_reasons.active"),
        special="clocks_event_reasons.active",
    ),
    QueryField(
        ("clocks_event_reasons.hw_slowdown", "clocks_throttle_reasons.hw_slowdown"),
        special="clocks_event_reasons.hw_slowdown",
    ),
    _quantity(
        "pcie.link.gen.gpucurrent", "", str, "pcie_link_generation", "current",
        alias="pcie.link.gen.current",
    ),
    _quantity("pcie.link.gen.max", "", str, "pcie_link_generation", "max", alias="pcie.link.gen.gpumax"),
    _quantity("pcie.link.width.current", "", str, "pcie_link_width_lanes", "current"),
    _quantity("pcie.link.width.max", "", str, "pcie_link_width_lanes", "max"),
    _quantity("fan.speed", "%", _PERCENT, "fan_speed_ratio", "0"),
    _quantity("pstate", "", lambda value: f"P{value}", "performance_state"),
    _reason("applications_clocks_setting", "clock_setting"),
    _reason("sw_power_cap", "power"),
    _reason("hw_thermal_slowdown", "thermal_hardware"),
    _reason("hw_power_brake_slowdown", "power_brake"),
    _reason("sw_thermal_slowdown", "thermal_software"),
    _reason("sync_boost", "sync_boost"),
    _counter("sw_power_cap", "power"),
    _counter("sync_boost", "sync_boost"),
    _counter("sw_thermal_slowdown", "thermal_software"),
    _counter("hw_thermal_slowdown", "thermal_hardware"),
    _counter("hw_power_brake_slowdown", "power_brake"),
    _quantity("memory.total", "MiB", _MEBIBYTES, "memory_size_bytes"),
    _quantity("memory.reserved", "MiB", _MEBIBYTES, "memory_reserved_bytes"),
    _quantity("memory.used", "MiB", _MEBIBYTES, "memory_used_bytes"),
    _quantity("utilization.gpu", "%", _PERCENT, "utilization_ratio"),
    _quantity("utilization.memory", "%", _PERCENT, "memory_controller_utilization_ratio"),
    _quantity("utilization.encoder", "%", _PERCENT, "engine_utilization_ratio", "encoder"),
    _quantity("utilization.decoder", "%", _PERCENT, "engine_utilization_ratio", "decoder"),
    _quantity("utilization.jpeg", "%", _PERCENT, "engine_utilization_ratio", "jpeg"),
    _quantity("utilization.ofa", "%", _PERCENT, "engine_utilization_ratio", "optical_flow"),
    _quantity("ecc.mode.current", "", _ENABLED, "ecc_enabled"),
    *_ecc(),
    _quantity(
        "retired_pages.single_bit_ecc.count", "", str, "memory_retired_pages", "single_bit",
        alias="retired_pages.sbe",
    ),
    _quantity(
        "retired_pages.double_bit.count", "", str, "memory_retired_pages", "double_bit",
        alias="retired_pages.dbe",
    ),
    _quantity("retired_pages.pending", "", _YES, "memory_repair_pending"),
    _quantity(
        "remapped_rows.correctable", "", str, "memory_remapped_rows", "corrected",
        alias="remapped_rows.sbe",
    ),
    _quantity(
        "remapped_rows.uncorrectable", "", str, "memory_remapped_rows", "uncorrected",
        alias="remapped_rows.dbe",
    ),
    _quantity("remapped_rows.pending", "", _YES, "memory_repair_pending"),
    _quantity("remapped_rows.failure", "", _YES, "memory_repair_failed"),
    QueryField(("temperature.gpu",), special="temperature.gpu"),
    _quantity("temperature.gpu.tlimit", "", _scaled(1), "temperature_margin_celsius"),
    _quantity("temperature.memory", "", _scaled(1), "temperature_celsius", "memory"),
    _quantity("power.draw", "W", _WATTS, "power_watts"),
    _quantity(
        "power.draw.instant", "W", _WATTS, "power_watts", alias="gpu.power.draw.instant"
    ),
    _limit("power.limit", "requested", "gpu.power.requested_limit"),
    _limit("enforced.power.limit", "enforced", "gpu.power.current_limit"),
    _limit("power.default_limit", "default", "gpu.power.default_limit"),
    _limit("power.min_limit", "min", "gpu.power.min_limit"),
    _limit("power.max_limit", "max", "gpu.power.max_limit"),
    _quantity("module.power.draw.instant", "W", _WATTS, "power_component_watts", "module"),
    _quantity(
        "clocks.current.graphics", "MHz", _MEGAHERTZ, "clock_hertz", "graphics",
        alias="clocks.gr clocks.graphics",
    ),
    _quantity("clocks.current.sm", "MHz", _MEGAHERTZ, "clock_hertz", "sm", alias="clocks.sm"),
    _quantity(
        "clocks.current.memory", "MHz", _MEGAHERTZ, "clock_hertz", "memory",
        alias="clocks.mem clocks.memory",
    ),
    _quantity("clocks.current.video", "MHz", _MEGAHERTZ, "clock_hertz", "video", alias="clocks.video"),
    _quantity(
        "clocks.max.graphics", "MHz", _MEGAHERTZ, "clock_limit_hertz", "graphics", "max",
        alias="clocks.max.gr",
    ),
    _quantity("clocks.max.sm", "MHz", _MEGAHERTZ, "clock_limit_hertz", "sm", "max"),
    _quantity(
        "clocks.max.memory", "MHz", _MEGAHERTZ, "clock_limit_hertz", "memory", "max",
        alias="clocks.max.mem",
    ),
)  # fmt: skip

_UNREAD = """
vgpu_driver_capability.heterogenous_multivGPU pci.baseClass pci.subClass pci.device_id
pci.sub_device_id pcie.link.gen.hostmax display_mode display_attached display_active
persistence_mode addressing_mode accounting.mode accounting.buffer_size driver_model.current
driver_model.pending inforom.img inforom.oem inforom.ecc inforom.pwr inforom.checksum_validation
gom.current gom.pending clocks_event_reasons.supported clocks_event_reasons.gpu_idle compute_mode
compute_cap encoder.stats.sessionCount encoder.stats.averageFps encoder.stats.averageLatency
dramEncryption.mode.current dramEncryption.mode.pending ecc.mode.pending
ecc.errors.uncorrected.volatile.sram.parity ecc.errors.uncorrected.volatile.sram.secded
ecc.errors.uncorrected.aggregate.sram.parity ecc.errors.uncorrected.aggregate.sram.secded
ecc.errors.uncorrected.aggregate.sram.thresholdExceeded ecc.errors.uncorrected.aggregate.sram.l2
ecc.errors.uncorrected.aggregate.sram.sm ecc.errors.uncorrected.aggregate.sram.mcu
ecc.errors.uncorrected.aggregate.sram.pcie ecc.errors.uncorrected.aggregate.sram.other
remapped_rows.histogram.max remapped_rows.histogram.high remapped_rows.histogram.partial
remapped_rows.histogram.low remapped_rows.histogram.none power.management power.draw.average
module.power.draw.average module.power.limit module.enforced.power.limit module.power.default_limit
module.power.min_limit module.power.max_limit clocks.applications.graphics clocks.applications.memory
clocks.default_applications.graphics clocks.default_applications.memory mig.mode.pending
gsp.mode.current gsp.mode.default c2c.mode protected_memory.total protected_memory.used
protected_memory.free fabric.status fabric.cliqueId fabric.clusterUuid fabric.health.summary
fabric.health.bandwidth platform.chassis_serial_number platform.slot_number platform.tray_index
platform.host_id platform.peer_type platform.module_id platform.gpu_fabric_guid
"""
_UNITS_OF_UNREAD = {
    "power.draw.average": "W",
    "module.power.draw.average": "W",
    "module.power.limit": "W",
    "module.enforced.power.limit": "W",
    "module.power.default_limit": "W",
    "module.power.min_limit": "W",
    "module.power.max_limit": "W",
    "clocks.applications.graphics": "MHz",
    "clocks.applications.memory": "MHz",
    "clocks.default_applications.graphics": "MHz",
    "clocks.default_applications.memory": "MHz",
    "protected_memory.total": "MiB",
    "protected_memory.used": "MiB",
    "protected_memory.free": "MiB",
}


@cache
def query_fields() -> dict[str, QueryField]:
    """Every name and alias that may be asked for."""
    unread = (QueryField((name,), _UNITS_OF_UNREAD.get(name, "")) for name in _UNREAD.split())
    return {name: field for field in (*_FIELDS, *unread) for name in field.names}


def needs_group(field: QueryField) -> str:
    """The opt-in group that a field's quantity is in, or an empty string."""
    from accelwatch.schema.metrics import by_key

    return by_key()[field.series[0]].group if field.series else ""
