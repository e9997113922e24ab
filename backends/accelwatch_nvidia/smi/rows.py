"""Table of the quantities in `nvidia-smi -q -x`, schemas v10 to v13: a row a series, by path.

The same tag stands under several parents, so every path is whole. A row lists the paths of all
schemas; the first that holds a value counts.
"""

from collections.abc import Callable
from functools import partial

import msgspec

from accelwatch.schema.metrics import Series
from accelwatch_nvidia.mapping import REMAP_AVAILABILITY, Outcome
from accelwatch_nvidia.smi import text as smi_text


class TextRow(msgspec.Struct, frozen=True):
    """One series: its paths below `gpu` and how its text becomes a number."""

    series: Series
    paths: tuple[str, ...]
    convert: Callable[[str], Outcome]
    group: str = ""


_RATIO = partial(smi_text.number, kind="ratio")
_FAN = partial(smi_text.number, kind="fan_ratio")
_CELSIUS = partial(smi_text.number, kind="celsius")
_WATTS = partial(smi_text.number, kind="watts")
_HERTZ = partial(smi_text.number, kind="hertz")
_BYTES = partial(smi_text.number, kind="bytes")
_SECONDS = partial(smi_text.number, kind="seconds")
_RATE = partial(smi_text.number, kind="bytes_per_second")
_VOLTS = partial(smi_text.number, kind="volts")
_COUNT = partial(smi_text.number, kind="count")
_LANES = partial(smi_text.number, kind="lanes")

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
_OLD_LOCATIONS = (
    ("device_memory", "dram"),
    ("register_file", "register_file"),
    ("l1_cache", "l1_cache"),
    ("l2_cache", "l2_cache"),
    ("texture_memory", "texture_memory"),
    ("texture_shm", "texture_shm"),
    ("cbu", "cbu"),
)


def _draw(parent: str) -> tuple[str, ...]:
    return tuple(f"{parent}/{kind}power_draw" for kind in ("instant_", "average_", ""))


ROWS: tuple[TextRow, ...] = (
    TextRow(("utilization_ratio",), ("utilization/gpu_util",), _RATIO),
    TextRow(("memory_controller_utilization_ratio",), ("utilization/memory_util",), _RATIO),
    *(
        TextRow(("engine_utilization_ratio", engine), (f"utilization/{tag}_util",), _RATIO)
        for tag, engine in _ENGINES
    ),
    TextRow(("memory_size_bytes",), ("fb_memory_usage/total",), _BYTES),
    TextRow(("memory_used_bytes",), ("fb_memory_usage/used",), _BYTES),
    TextRow(("memory_reserved_bytes",), ("fb_memory_usage/reserved",), _BYTES),
    TextRow(("memory_pool_size_bytes", "bar1"), ("bar1_memory_usage/total",), _BYTES, "pools"),
    TextRow(("memory_pool_used_bytes", "bar1"), ("bar1_memory_usage/used",), _BYTES, "pools"),
    TextRow(("temperature_celsius", "gpu"), ("temperature/gpu_temp",), _CELSIUS),
    TextRow(("temperature_celsius", "memory"), ("temperature/memory_temp",), _CELSIUS),
    TextRow(("temperature_margin_celsius",), ("temperature/gpu_temp_tlimit",), _CELSIUS),
    *(
        TextRow(("temperature_limit_celsius", sensor, limit), (f"temperature/{tag}",), _CELSIUS)
        for tag, sensor, limit in _TEMPERATURES
    ),
    TextRow(("power_watts",), (*_draw("gpu_power_readings"), "power_readings/power_draw"), _WATTS),
    TextRow(
        ("power_average_watts",), ("gpu_power_readings/average_power_draw",), _WATTS, "components"
    ),
    *(TextRow(("power_limit_watts", limit), paths, _WATTS) for limit, paths in _LIMITS),
    TextRow(
        ("power_component_watts", "module"), _draw("module_power_readings"), _WATTS, "components"
    ),
    TextRow(
        ("power_component_watts", "memory"),
        _draw("gpu_memory_power_readings"),
        _WATTS,
        "components",
    ),
    *(
        TextRow(
            ("power_component_limit_watts", "module", limit),
            (f"module_power_readings/{tag}_power_limit",),
            _WATTS,
            "components",
        )
        for tag, limit in _MODULE_LIMITS
    ),
    TextRow(("voltage_volts", "graphics"), ("voltage/graphics_volt",), _VOLTS, "components"),
    TextRow(("fan_speed_ratio", "0"), ("fan_speed",), _FAN),
    *(
        TextRow(("clock_hertz", domain), (f"clocks/{tag}_clock",), _HERTZ)
        for tag, domain in _DOMAINS
    ),
    *(
        TextRow(("clock_limit_hertz", domain, "max"), (f"max_clocks/{tag}_clock",), _HERTZ)
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
            _SECONDS,
        )
        for tag, reason in _THROTTLE
    ),
    *(
        TextRow(("pcie_link_generation", state), (f"{_LINK}/pcie_gen/{state}_link_gen",), _COUNT)
        for state in ("current", "max")
    ),
    *(
        TextRow(
            ("pcie_link_width_lanes", state), (f"{_LINK}/link_widths/{state}_link_width",), _LANES
        )
        for state in ("current", "max")
    ),
    TextRow(("pcie_errors_total", "replay"), ("pci/replay_counter",), _COUNT),
    TextRow(("pcie_errors_total", "replay_rollover"), ("pci/replay_rollover_counter",), _COUNT),
    TextRow(("pcie_throughput_bytes_per_second", "transmit"), ("pci/tx_util",), _RATE, "pcie"),
    TextRow(("pcie_throughput_bytes_per_second", "receive"), ("pci/rx_util",), _RATE, "pcie"),
    TextRow(("persistence_enabled",), ("persistence_mode",), smi_text.flag),
    TextRow(("partitioning_enabled",), ("mig_mode/current_mig",), smi_text.flag),
    TextRow(("partitioning_enabled_pending",), ("mig_mode/pending_mig",), smi_text.flag),
    TextRow(("ecc_enabled",), ("ecc_mode/current_ecc",), smi_text.flag),
    TextRow(("ecc_enabled_pending",), ("ecc_mode/pending_ecc",), smi_text.flag),
    *(
        TextRow(
            ("ecc_location_errors_total", severity, location),
            (
                f"ecc_errors/volatile/{bits}/{tag}",
                *((f"ecc_errors/volatile/dram_{label}",) if location == "dram" else ()),
            ),
            _COUNT,
            "ecc",
        )
        for severity, bits, label in (
            ("corrected", "single_bit", "correctable"),
            ("uncorrected", "double_bit", "uncorrectable"),
        )
        for tag, location in _OLD_LOCATIONS
    ),
    TextRow(
        ("ecc_location_errors_total", "corrected", "sram"),
        ("ecc_errors/volatile/sram_correctable",),
        _COUNT,
        "ecc",
    ),
    TextRow(("memory_remapped_rows", "corrected"), ("remapped_rows/remapped_row_corr",), _COUNT),
    TextRow(("memory_remapped_rows", "uncorrected"), ("remapped_rows/remapped_row_unc",), _COUNT),
    *(
        TextRow(
            ("memory_remapped_rows_inactive", cause),
            (f"remapped_rows/remapped_row_{tag}_inactive",),
            _COUNT,
            "ecc",
        )
        for tag, cause in (("corr", "corrected"), ("unc", "uncorrected"))
    ),
    *(
        TextRow(
            ("memory_row_remap_banks", availability),
            (f"remapped_rows/row_remapper_histogram/row_remapper_histogram_{availability}",),
            _COUNT,
            "ecc",
        )
        for availability in REMAP_AVAILABILITY
    ),
    TextRow(("memory_repair_failed",), ("remapped_rows/remapped_row_failure",), smi_text.flag),
    TextRow(("memory_unrepairable",), ("ecc_errors/unrepairable_memory",), smi_text.flag),
    TextRow(("compute_repair_pending",), ("ecc_errors/tpc_repair_pending",), smi_text.flag),
    TextRow(
        ("sram_error_threshold_exceeded",),
        ("ecc_errors/aggregate/sram_threshold_exceeded",),
        smi_text.flag,
    ),
    TextRow(
        ("memory_retired_pages", "single_bit"),
        ("retired_pages/multiple_single_bit_retirement/retired_count",),
        _COUNT,
    ),
    TextRow(
        ("memory_retired_pages", "double_bit"),
        ("retired_pages/double_bit_retirement/retired_count",),
        _COUNT,
    ),
)

# Totals that the document gives in parts: of the alternatives, the first whose tags all exist.
ECC_SUMS: tuple[tuple[Series, tuple[tuple[str, ...], ...]], ...] = tuple(
    (
        (key, severity),
        (
            (f"ecc_errors/{counter}/{bits}/total",),
            *(
                tuple(f"ecc_errors/{counter}/{tag}" for tag in tags)
                for tags in (
                    (f"dram_{label}", f"sram_{label}"),
                    (
                        f"dram_{label}",
                        f"sram_{label}_parity",
                        f"sram_{label}_secded",
                    ),
                )
            ),
        ),
    )
    for key, counter in (("ecc_errors_total", "volatile"), ("ecc_lifetime_errors", "aggregate"))
    for severity, bits, label in (
        ("corrected", "single_bit", "correctable"),
        ("uncorrected", "double_bit", "uncorrectable"),
    )
)

SRAM_UNCORRECTED = (
    ("ecc_errors/volatile/sram_uncorrectable",),
    (
        "ecc_errors/volatile/sram_uncorrectable_parity",
        "ecc_errors/volatile/sram_uncorrectable_secded",
    ),
)

REPAIR_PENDING = (
    "remapped_rows/remapped_row_pending",
    "retired_pages/pending_retirement",
    "retired_pages/pending_blacklist",
    "ecc_errors/channel_repair_pending",
)

# What the element of a MIG instance holds.
PARTITION_ROWS: tuple[TextRow, ...] = (
    *(row for row in ROWS if row.paths[0].startswith("fb_memory_usage/")),
    *(row for row in ROWS if row.paths[0].startswith("bar1_memory_usage/")),
    TextRow(
        ("ecc_location_errors_total", "uncorrected", "sram"),
        ("ecc_error_count/volatile_count/sram_uncorrectable",),
        _COUNT,
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
