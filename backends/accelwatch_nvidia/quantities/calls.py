"""Table of the quantities that one NVML call each gives: a row a call, in order of preference."""

from collections.abc import Callable
from typing import Any

import msgspec

from accelwatch.schema.metrics import Series
from accelwatch_nvidia import mapping
from accelwatch_nvidia.mapping import MHZ, Outcome


class Call(msgspec.Struct, frozen=True):
    """One call: its functions (the first that exists is used), its series and their conversion.

    `convert` turns the answer into one outcome a series. `slow` rows hardly ever change.
    """

    functions: tuple[str, ...]
    args: tuple[int, ...]
    series: tuple[Series, ...]
    convert: Callable[[Any], tuple[Outcome, ...]]
    slow: bool = False
    group: str = ""


def _single(convert: Callable[[Any], Outcome]) -> Callable[[Any], tuple[Outcome, ...]]:
    return lambda raw: (convert(raw),)


_MILLI = _single(mapping.divide(1000))
_CLOCK = _single(mapping.scale(MHZ))
_COUNT = _single(mapping.plain)
_CELSIUS = _single(mapping.celsius)
# nvmlClockType_t 0-3 (nvml.h).
_DOMAINS = ("graphics", "sm", "memory", "video")

_ENGINES = (
    ("encoder", "nvmlDeviceGetEncoderUtilization"),
    ("decoder", "nvmlDeviceGetDecoderUtilization"),
    ("jpeg", "nvmlDeviceGetJpgUtilization"),
    ("optical_flow", "nvmlDeviceGetOfaUtilization"),
)

# nvmlTemperatureThresholds_t (nvml.h); 5 is the current acoustic threshold.
_THRESHOLDS = (
    (0, "gpu", "shutdown"),
    (1, "gpu", "slowdown"),
    (2, "memory", "max_operating"),
    (3, "gpu", "max_operating"),
    (5, "gpu", "target"),
)

# nvmlMemoryErrorType_t, nvmlEccCounterType_t (nvml.h).
_ECC_TOTALS = (
    (0, 0, "ecc_errors_total", "corrected"),
    (1, 0, "ecc_errors_total", "uncorrected"),
    (0, 1, "ecc_lifetime_errors", "corrected"),
    (1, 1, "ecc_lifetime_errors", "uncorrected"),
)

# nvmlMemoryLocation_t (nvml.h).
_ECC_LOCATIONS = (
    (0, "l1_cache"),
    (1, "l2_cache"),
    (2, "dram"),
    (3, "register_file"),
    (4, "texture_memory"),
    (5, "texture_shm"),
    (6, "cbu"),
    (7, "sram"),
)

CALLS: tuple[Call, ...] = (
    Call(
        ("nvmlDeviceGetUtilizationRates",),
        (),
        (("utilization_ratio",), ("memory_controller_utilization_ratio",)),
        mapping.rates,
    ),
    *(
        Call((function,), (), (("engine_utilization_ratio", engine),), mapping.sampled_percent)
        for engine, function in _ENGINES
    ),
    Call(
        ("nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV"),
        (0,),
        (("temperature_celsius", "gpu"),),
        _CELSIUS,
    ),
    Call(("nvmlDeviceGetMarginTemperature",), (), (("temperature_margin_celsius",),), _CELSIUS),
    Call(("nvmlDeviceGetPowerUsage",), (), (("power_watts",),), _MILLI),
    Call(
        ("nvmlDeviceGetTotalEnergyConsumption",),
        (),
        (("energy_joules_total", "hardware"),),
        _MILLI,
    ),
    *(
        Call(("nvmlDeviceGetClockInfo",), (number,), (("clock_hertz", domain),), _CLOCK)
        for number, domain in enumerate(_DOMAINS)
    ),
    Call(
        ("nvmlDeviceGetPerformanceState", "nvmlDeviceGetPowerState"),
        (),
        (("performance_state",),),
        _single(mapping.performance_state),
    ),
    Call(
        ("nvmlDeviceGetCurrPcieLinkGeneration",),
        (),
        (("pcie_link_generation", "current"),),
        _COUNT,
    ),
    Call(("nvmlDeviceGetCurrPcieLinkWidth",), (), (("pcie_link_width_lanes", "current"),), _COUNT),
    Call(
        ("nvmlDeviceGetBAR1MemoryInfo",),
        (),
        (("memory_pool_size_bytes", "bar1"), ("memory_pool_used_bytes", "bar1")),
        mapping.bar1,
        group="pools",
    ),
    *(
        Call(
            ("nvmlDeviceGetPcieThroughput",),
            (counter,),
            (("pcie_throughput_bytes_per_second", direction),),
            _single(mapping.scale(1000)),
            group="pcie",
        )
        for counter, direction in enumerate(("transmit", "receive"))
    ),
    Call(
        ("nvmlDeviceGetMaxPcieLinkGeneration",),
        (),
        (("pcie_link_generation", "max"),),
        _COUNT,
        slow=True,
    ),
    Call(
        ("nvmlDeviceGetMaxPcieLinkWidth",),
        (),
        (("pcie_link_width_lanes", "max"),),
        _COUNT,
        slow=True,
    ),
    Call(
        ("nvmlDeviceGetPcieReplayCounter",),
        (),
        (("pcie_errors_total", "replay"),),
        _COUNT,
        slow=True,
    ),
    Call(
        ("nvmlDeviceGetEnforcedPowerLimit",),
        (),
        (("power_limit_watts", "enforced"),),
        _MILLI,
        slow=True,
    ),
    Call(
        ("nvmlDeviceGetPowerManagementLimit",),
        (),
        (("power_limit_watts", "requested"),),
        _MILLI,
        slow=True,
    ),
    Call(
        ("nvmlDeviceGetPowerManagementDefaultLimit",),
        (),
        (("power_limit_watts", "default"),),
        _MILLI,
        slow=True,
    ),
    Call(
        ("nvmlDeviceGetPowerManagementLimitConstraints",),
        (),
        (("power_limit_watts", "min"), ("power_limit_watts", "max")),
        mapping.power_range,
        slow=True,
    ),
    *(
        Call(
            ("nvmlDeviceGetTemperatureThreshold",),
            (number,),
            (("temperature_limit_celsius", sensor, limit),),
            _CELSIUS,
            slow=True,
        )
        for number, sensor, limit in _THRESHOLDS
    ),
    *(
        Call(
            ("nvmlDeviceGetMaxClockInfo",),
            (number,),
            (("clock_limit_hertz", domain, "max"),),
            _CLOCK,
            slow=True,
        )
        for number, domain in enumerate(_DOMAINS)
    ),
    Call(
        ("nvmlDeviceGetPersistenceMode",),
        (),
        (("persistence_enabled",),),
        _single(mapping.flag),
        slow=True,
    ),
    Call(
        ("nvmlDeviceGetMigMode",),
        (),
        (("partitioning_enabled",), ("partitioning_enabled_pending",)),
        mapping.mode_and_pending,
        slow=True,
    ),
    Call(
        ("nvmlDeviceGetEccMode",),
        (),
        (("ecc_enabled",), ("ecc_enabled_pending",)),
        mapping.mode_and_pending,
        slow=True,
    ),
    *(
        Call(
            ("nvmlDeviceGetTotalEccErrors",), (kind, counter), ((key, severity),), _COUNT, slow=True
        )
        for kind, counter, key, severity in _ECC_TOTALS
    ),
    *(
        Call(
            ("nvmlDeviceGetMemoryErrorCounter",),
            (kind, 0, number),
            (("ecc_location_errors_total", severity, location),),
            _COUNT,
            slow=True,
            group="ecc",
        )
        for kind, severity in enumerate(("corrected", "uncorrected"))
        for number, location in _ECC_LOCATIONS
    ),
    Call(
        ("nvmlDeviceGetRemappedRows",),
        (),
        (
            ("memory_remapped_rows", "corrected"),
            ("memory_remapped_rows", "uncorrected"),
            ("memory_repair_pending",),
            ("memory_repair_failed",),
        ),
        mapping.remapped_rows,
        slow=True,
    ),
    Call(
        ("nvmlDeviceGetRowRemapperHistogram",),
        (),
        tuple(
            ("memory_row_remap_banks", availability) for availability in mapping.REMAP_AVAILABILITY
        ),
        mapping.remap_histogram,
        slow=True,
        group="ecc",
    ),
    *(
        Call(
            ("nvmlDeviceGetRetiredPages_v2", "nvmlDeviceGetRetiredPages"),
            (number,),
            (("memory_retired_pages", cause),),
            _single(len),
            slow=True,
        )
        for number, cause in enumerate(("single_bit", "double_bit"))
    ),
    Call(
        ("nvmlDeviceGetRetiredPagesPendingStatus",),
        (),
        (("memory_repair_pending",),),
        _single(mapping.flag),
        slow=True,
    ),
    Call(
        ("nvmlDeviceGetUnrepairableMemoryFlag_v1",),
        (),
        (("memory_unrepairable",),),
        _single(mapping.flag),
        slow=True,
    ),
)
