"""Which of nvidia-smi's query fields is which of our quantities, and how nvidia-smi writes it.

Names, aliases, units and words follow `nvidia-smi --help-query-gpu` and the CSV output of drivers 590 to
610; an alias is answered under the field's first name, as nvidia-smi does.
"""

from accelwatch_nvidia_smi.query_field import MIB, NOT_AVAILABLE, QueryField, Write
from accelwatch_nvidia_smi.unread import UNREAD


def scaled(factor: float, digits: int = 0) -> Write:
    """Writes a number times a factor."""
    return lambda value: f"{value * factor:.{digits}f}"


PERCENT, WATTS = scaled(100), scaled(1, 2)
MEBIBYTES, MEGAHERTZ, MICROSECONDS = scaled(1 / MIB), scaled(1e-6), scaled(1e6)


def flag_text(zero: str, other: str) -> Write:
    """Writes a flag."""
    return lambda value: other if value else zero


_ACTIVE = flag_text("Not Active", "Active")
_ENABLED = flag_text("Disabled", "Enabled")
YES = flag_text("No", "Yes")


def _quantity(name: str, unit: str, write: Write, *series: str, alias: str = "") -> QueryField:
    return QueryField((name, *alias.split()), unit, series=series, write=write)


def _special(
    name: str, unit: str = "", *, of: str = "", alias: str = "", needs: str = ""
) -> QueryField:
    """A field that is no single quantity; the absence of `of` says why it has no answer."""
    names, keys = (name, *alias.split()), tuple(needs.split())
    series = tuple(of.split())
    return QueryField(names, unit, series=series, special=name, needs=keys)


def _reason(name: str, reason: str) -> QueryField:
    names = (f"clocks_event_reasons.{name}", f"clocks_throttle_reasons.{name}")
    return QueryField(names, series=("throttle_active", reason), write=_ACTIVE)


def _counter(name: str, reason: str) -> QueryField:
    key = f"clocks_event_reasons_counters.{name}"
    return _quantity(key, "us", MICROSECONDS, "throttle_seconds_total", reason)


def _limit(name: str, limit: str, alias: str) -> QueryField:
    return _quantity(name, "W", WATTS, "power_limit_watts", limit, alias=alias)


def _module_limit(name: str, limit: str, alias: str = "") -> QueryField:
    key = "power_component_limit_watts"
    return _quantity(f"module.{name}", "W", WATTS, key, "module", limit, alias=alias)


def _location(name: str, key: str, missing: str = NOT_AVAILABLE) -> QueryField:
    return QueryField((name,), series=(key,), special=name, missing=missing)


def _clock(name: str, domain: str, alias: str) -> QueryField:
    key = f"clocks.current.{name}"
    return _quantity(key, "MHz", MEGAHERTZ, "clock_hertz", domain, alias=alias)


def _max_clock(name: str, alias: str) -> QueryField:
    key = f"clocks.max.{name}"
    return _quantity(key, "MHz", MEGAHERTZ, "clock_limit_hertz", name, "max", alias=alias)


_ECC_LOCATIONS = (
    "dram",
    "register_file",
    "l1_cache",
    "l2_cache",
    "texture_memory",
    "cbu",
    "sram",
)


def _ecc() -> tuple[QueryField, ...]:
    rows: list[QueryField] = []
    for error_kind in ("corrected", "uncorrected"):
        rows += [
            _quantity(
                f"ecc.errors.{error_kind}.volatile.{location}", "", str,
                "ecc_location_errors_total", error_kind, location,
            )
            for location in _ECC_LOCATIONS
        ]  # fmt: skip
        rows += [
            QueryField((f"ecc.errors.{error_kind}.aggregate.{location}",))
            for location in _ECC_LOCATIONS
        ]
        rows += [
            QueryField(
                (f"ecc.errors.{error_kind}.volatile.device_memory",),
                series=("ecc_location_errors_total", error_kind, "dram"),
                special=f"device_memory.{error_kind}",
            ),
            QueryField((f"ecc.errors.{error_kind}.aggregate.device_memory",)),
        ]
        for life, key in (("volatile", "ecc_errors_total"), ("aggregate", "ecc_lifetime_errors")):
            rows.append(
                _quantity(f"ecc.errors.{error_kind}.{life}.total", "", str, key, error_kind)
            )
    return tuple(rows)


_READ: tuple[QueryField, ...] = (
    _special("timestamp"),
    QueryField(("driver_version",), identity="driver_version"),
    QueryField(("kmd_version",), identity="driver_version"),
    _special("count"),
    QueryField(("name", "gpu_name"), identity="model"),
    QueryField(("serial", "gpu_serial"), identity="serial"),
    QueryField(("uuid", "gpu_uuid"), identity="uuid"),
    _special("pci.bus_id", alias="gpu_bus_id"),
    _special("pci.domain"),
    _special("pci.bus"),
    _special("pci.device"),
    _special("index"),
    QueryField(("vbios_version",), identity="vbios_version"),
    _special("gpu_recovery_action", of="recovery_action_info"),
    _special("mig.mode.current", of="partitioning_enabled"),
    _quantity("mig.mode.pending", "", _ENABLED, "partitioning_enabled_pending"),
    _quantity("persistence_mode", "", _ENABLED, "persistence_enabled"),
    QueryField(
        ("fabric.state",), series=("fabric_state_info",), special="fabric.state", missing="N/A"
    ),
    QueryField(
        ("fabric.status",), series=("fabric_state_info",), special="fabric.status", missing="N/A"
    ),
    _location("fabric.cliqueId", "fabric_clique_info", "N/A"),
    _location("fabric.clusterUuid", "fabric_cluster_info", "N/A"),
    _location("fabric.health.summary", "fabric_state_info", "N/A"),
    _location("platform.chassis_serial_number", "platform_info"),
    _location("platform.slot_number", "platform_info"),
    _location("platform.tray_index", "platform_info"),
    _location("platform.host_id", "platform_info"),
    _location("platform.module_id", "platform_module_info"),
    _special("memory.free", "MiB", of="memory_used_bytes"),
    _special(
        "clocks_event_reasons.supported", of="throttle_active",
        alias="clocks_throttle_reasons.supported",
        needs="clocks_idle",
    ),
    _special(
        "clocks_event_reasons.active", of="throttle_active",
        alias="clocks_throttle_reasons.active", needs="clocks_idle",
    ),
    _special("clocks_event_reasons.hw_slowdown", of="throttle_active",
        alias="clocks_throttle_reasons.hw_slowdown"),
    _quantity(
        "clocks_event_reasons.gpu_idle", "", _ACTIVE, "clocks_idle",
        alias="clocks_throttle_reasons.gpu_idle",
    ),
    _quantity("pcie.link.gen.current", "", str, "pcie_link_generation", "current"),
    _quantity("pcie.link.gen.gpucurrent", "", str, "pcie_link_generation", "current"),
    _quantity("pcie.link.gen.max", "", str, "pcie_link_generation", "max"),
    _quantity("pcie.link.width.current", "", str, "pcie_link_width_lanes", "current"),
    _quantity("pcie.link.width.max", "", str, "pcie_link_width_lanes", "max"),
    _quantity("fan.speed", "%", PERCENT, "fan_speed_ratio", "0"),
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
    _quantity("memory.total", "MiB", MEBIBYTES, "memory_size_bytes"),
    _quantity("memory.reserved", "MiB", MEBIBYTES, "memory_reserved_bytes"),
    _quantity("memory.used", "MiB", MEBIBYTES, "memory_used_bytes"),
    _quantity("utilization.gpu", "%", PERCENT, "utilization_ratio"),
    _quantity("utilization.memory", "%", PERCENT, "memory_controller_utilization_ratio"),
    _quantity("utilization.encoder", "%", PERCENT, "engine_utilization_ratio", "encoder"),
    _quantity("utilization.decoder", "%", PERCENT, "engine_utilization_ratio", "decoder"),
    _quantity("utilization.jpeg", "%", PERCENT, "engine_utilization_ratio", "jpeg"),
    _quantity("utilization.ofa", "%", PERCENT, "engine_utilization_ratio", "optical_flow"),
    _quantity("ecc.mode.current", "", _ENABLED, "ecc_enabled"),
    _quantity("ecc.mode.pending", "", _ENABLED, "ecc_enabled_pending"),
    *_ecc(),
    _quantity(
        "ecc.errors.uncorrected.aggregate.sram.thresholdExceeded", "", YES,
        "sram_error_threshold_exceeded",
    ),
    _quantity(
        "retired_pages.single_bit_ecc.count", "", str, "memory_retired_pages", "single_bit",
        alias="retired_pages.sbe",
    ),
    _quantity(
        "retired_pages.double_bit.count", "", str, "memory_retired_pages", "double_bit",
        alias="retired_pages.dbe",
    ),
    _special("retired_pages.pending", of="memory_retired_pages"),
    _quantity(
        "remapped_rows.correctable", "", str, "memory_remapped_rows", "corrected",
        alias="remapped_rows.sbe",
    ),
    _quantity(
        "remapped_rows.uncorrectable", "", str, "memory_remapped_rows", "uncorrected",
        alias="remapped_rows.dbe",
    ),
    _quantity(
        "remapped_rows.correctable_inactive", "", str, "memory_remapped_rows_inactive", "corrected"
    ),
    _quantity(
        "remapped_rows.uncorrectable_inactive", "", str,
        "memory_remapped_rows_inactive", "uncorrected",
    ),
    *(
        _quantity(f"remapped_rows.histogram.{left}", "", str, "memory_row_remap_banks", left)
        for left in ("max", "high", "partial", "low", "none")
    ),
    _special("remapped_rows.pending", of="memory_remapped_rows"),
    _quantity("remapped_rows.failure", "", YES, "memory_repair_failed"),
    _special("temperature.gpu", of="temperature_celsius gpu"),
    _quantity("temperature.gpu.tlimit", "", scaled(1), "temperature_margin_celsius"),
    QueryField(
        ("temperature.memory",), series=("temperature_celsius", "memory"), write=scaled(1),
        missing="N/A",
    ),
    _special("power.draw", "W", of="power_watts", needs="power_average_watts"),
    _quantity(
        "power.draw.average", "W", WATTS, "power_average_watts", alias="gpu.power.draw.average"
    ),
    _quantity("power.draw.instant", "W", WATTS, "power_watts", alias="gpu.power.draw.instant"),
    _limit("power.limit", "requested", "gpu.power.requested_limit"),
    _limit("enforced.power.limit", "enforced", "gpu.power.current_limit"),
    _limit("power.default_limit", "default", "gpu.power.default_limit"),
    _limit("power.min_limit", "min", "gpu.power.min_limit"),
    _limit("power.max_limit", "max", "gpu.power.max_limit"),
    _quantity("module.power.draw.instant", "W", WATTS, "power_component_watts", "module"),
    _module_limit("power.limit", "requested", "module.power.requested_limit"),
    _module_limit("enforced.power.limit", "enforced", "module.power.current_limit"),
    _module_limit("power.default_limit", "default"),
    _module_limit("power.min_limit", "min"),
    _module_limit("power.max_limit", "max"),
    _clock("graphics", "graphics", "clocks.gr clocks.graphics"),
    _clock("sm", "sm", "clocks.sm"),
    _clock("memory", "memory", "clocks.mem clocks.memory"),
    _clock("video", "video", "clocks.video"),
    _max_clock("graphics", "clocks.max.gr"),
    _max_clock("sm", ""),
    _max_clock("memory", "clocks.max.mem"),
)  # fmt: skip

FIELDS: tuple[QueryField, ...] = (*_READ, *UNREAD)
