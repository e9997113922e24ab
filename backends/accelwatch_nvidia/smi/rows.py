"""Table of the quantities in `nvidia-smi -q -x`, schemas v10 to v13: a row a series, by path.

The same tag stands under several parents, so every path is whole. A row lists the paths of all
schemas; the first that holds a value counts.
"""

from accelwatch_nvidia.smi import text as smi_text
from accelwatch_nvidia.smi.memory_errors import MEMORY_ERROR_ROWS
from accelwatch_nvidia.smi.text_row import (
    BYTES,
    CELSIUS,
    COUNT,
    FAN,
    HERTZ,
    LANES,
    RATE,
    RATIO,
    SECONDS,
    VOLTS,
    WATTS,
    TextRow,
)

_ENGINES = (
    ("encoder", "encoder"),
    ("decoder", "decoder"),
    ("jpeg", "jpeg"),
    ("ofa", "optical_flow"),
)
_DOMAINS = (("graphics", "graphics"), ("sm", "sm"), ("mem", "memory"), ("video", "video"))
_LINK = "pci/pci_gpu_link_info"

_TEMPERATURES = (
    ("gpu_temp_max_threshold", "gpu", "shutdown"),
    ("gpu_temp_slow_threshold", "gpu", "slowdown"),
    ("gpu_temp_max_gpu_threshold", "gpu", "max_operating"),
    ("gpu_temp_max_mem_threshold", "memory", "max_operating"),
    ("gpu_target_temperature", "gpu", "target"),
)
_LIMITS = (
    ("enforced", ("gpu_power_readings/current_power_limit", "power_readings/enforced_power_limit")),
    ("requested", ("gpu_power_readings/requested_power_limit", "power_readings/power_limit")),
    ("default", ("gpu_power_readings/default_power_limit", "power_readings/default_power_limit")),
    ("min", ("gpu_power_readings/min_power_limit", "power_readings/min_power_limit")),
    ("max", ("gpu_power_readings/max_power_limit", "power_readings/max_power_limit")),
)
_MODULE_LIMITS = (
    ("current", "enforced"),
    ("requested", "requested"),
    ("default", "default"),
    ("min", "min"),
    ("max", "max"),
)
_THROTTLE = (
    ("sw_power_cap", "power"),
    ("sync_boost", "sync_boost"),
    ("sw_therm_slowdown", "thermal_software"),
    ("hw_therm_slowdown", "thermal_hardware"),
    ("hw_power_brake", "power_brake"),
)


def _draw(parent: str) -> tuple[str, ...]:
    return tuple(f"{parent}/{kind}power_draw" for kind in ("instant_", "average_", ""))


ROWS: tuple[TextRow, ...] = (
    TextRow(("utilization_ratio",), ("utilization/gpu_util",), RATIO),
    TextRow(("memory_controller_utilization_ratio",), ("utilization/memory_util",), RATIO),
    *(
        TextRow(("engine_utilization_ratio", engine), (f"utilization/{tag}_util",), RATIO)
        for tag, engine in _ENGINES
    ),
    TextRow(("memory_size_bytes",), ("fb_memory_usage/total",), BYTES),
    TextRow(("memory_used_bytes",), ("fb_memory_usage/used",), BYTES),
    TextRow(("memory_reserved_bytes",), ("fb_memory_usage/reserved",), BYTES),
    TextRow(("memory_pool_size_bytes", "bar1"), ("bar1_memory_usage/total",), BYTES, "pools"),
    TextRow(("memory_pool_used_bytes", "bar1"), ("bar1_memory_usage/used",), BYTES, "pools"),
    TextRow(("temperature_celsius", "gpu"), ("temperature/gpu_temp",), CELSIUS),
    TextRow(("temperature_celsius", "memory"), ("temperature/memory_temp",), CELSIUS),
    TextRow(("temperature_margin_celsius",), ("temperature/gpu_temp_tlimit",), CELSIUS),
    *(
        TextRow(("temperature_limit_celsius", sensor, limit), (f"temperature/{tag}",), CELSIUS)
        for tag, sensor, limit in _TEMPERATURES
    ),
    TextRow(("power_watts",), (*_draw("gpu_power_readings"), "power_readings/power_draw"), WATTS),
    TextRow(
        ("power_average_watts",), ("gpu_power_readings/average_power_draw",), WATTS, "components"
    ),
    *(TextRow(("power_limit_watts", limit), paths, WATTS) for limit, paths in _LIMITS),
    TextRow(
        ("power_component_watts", "module"), _draw("module_power_readings"), WATTS, "components"
    ),
    TextRow(
        ("power_component_watts", "memory"),
        _draw("gpu_memory_power_readings"),
        WATTS,
        "components",
    ),
    *(
        TextRow(
            ("power_component_limit_watts", "module", limit),
            (f"module_power_readings/{tag}_power_limit",),
            WATTS,
            "components",
        )
        for tag, limit in _MODULE_LIMITS
    ),
    TextRow(("voltage_volts", "graphics"), ("voltage/graphics_volt",), VOLTS, "components"),
    TextRow(("fan_speed_ratio", "0"), ("fan_speed",), FAN),
    *(
        TextRow(("clock_hertz", domain), (f"clocks/{tag}_clock",), HERTZ)
        for tag, domain in _DOMAINS
    ),
    *(
        TextRow(("clock_limit_hertz", domain, "max"), (f"max_clocks/{tag}_clock",), HERTZ)
        for tag, domain in _DOMAINS
    ),
    TextRow(
        ("performance_state",),
        ("performance_state", "gpu_power_readings/power_state", "power_readings/power_state"),
        smi_text.performance_state,
    ),
    *(
        TextRow(
            ("throttle_seconds_total", reason),
            (f"clocks_event_reasons_counters/clocks_event_reasons_counters_{tag}",),
            SECONDS,
        )
        for tag, reason in _THROTTLE
    ),
    *(
        TextRow(("pcie_link_generation", state), (f"{_LINK}/pcie_gen/{state}_link_gen",), COUNT)
        for state in ("current", "max")
    ),
    *(
        TextRow(
            ("pcie_link_width_lanes", state), (f"{_LINK}/link_widths/{state}_link_width",), LANES
        )
        for state in ("current", "max")
    ),
    TextRow(("pcie_errors_total", "replay"), ("pci/replay_counter",), COUNT),
    TextRow(("pcie_errors_total", "replay_rollover"), ("pci/replay_rollover_counter",), COUNT),
    TextRow(("pcie_throughput_bytes_per_second", "transmit"), ("pci/tx_util",), RATE, "pcie"),
    TextRow(("pcie_throughput_bytes_per_second", "receive"), ("pci/rx_util",), RATE, "pcie"),
    TextRow(("persistence_enabled",), ("persistence_mode",), smi_text.flag),
    TextRow(("partitioning_enabled",), ("mig_mode/current_mig",), smi_text.flag),
    TextRow(("partitioning_enabled_pending",), ("mig_mode/pending_mig",), smi_text.flag),
    TextRow(("ecc_enabled",), ("ecc_mode/current_ecc",), smi_text.flag),
    TextRow(("ecc_enabled_pending",), ("ecc_mode/pending_ecc",), smi_text.flag),
    *MEMORY_ERROR_ROWS,
)

# What the element of a MIG instance holds.
PARTITION_ROWS: tuple[TextRow, ...] = (
    *(row for row in ROWS if row.paths[0].startswith("fb_memory_usage/")),
    *(row for row in ROWS if row.paths[0].startswith("bar1_memory_usage/")),
    TextRow(
        ("ecc_location_errors_total", "uncorrected", "sram"),
        ("ecc_error_count/volatile_count/sram_uncorrectable",),
        COUNT,
        "ecc",
    ),
)

SLOWDOWN_MARGIN = "temperature/gpu_temp_slow_tlimit_threshold"

# Tag less its prefix, and the NVML bit (nvml.h nvmlClocksEventReasons).
THROTTLE_TAGS = (
    ("gpu_idle", 0x001),
    ("applications_clocks_setting", 0x002),
    ("sw_power_cap", 0x004),
    ("hw_slowdown", 0x008),
    ("sync_boost", 0x010),
    ("sw_thermal_slowdown", 0x020),
    ("hw_thermal_slowdown", 0x040),
    ("hw_power_brake_slowdown", 0x080),
    ("display_clocks_setting", 0x100),
)
