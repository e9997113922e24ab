"""dcgm-exporter: fields of DCGM (dcgm_fields.h), up to 4.8 in vendor units, from 4.9 on in base units.

The default set has no total memory before 4.9: it is the sum of used, free and reserved. Label values
are not escaped, blank integers are near 2^63, and `XID_ERRORS` never clears and says no time. Under DRA
some releases before 4.9 list only GPUs that pods hold.
"""

from accelwatch.fleet.dialects.base.table import (
    KIB,
    MEGA,
    MIB,
    MILLI,
    NANO,
    PERCENT,
    UNSCALED,
    Combine,
    Dialect,
    FamilyMapping,
    Labels,
    Partition,
)
from accelwatch.fleet.dialects.exporters import recovery

_DEV = "DCGM_FI_DEV_"
_PROF = "DCGM_FI_PROF_"

LABELS = Labels(
    uuid=("UUID", "uuid", "gpu_uuid"),
    pci=("pci_bus_id",),
    index=("gpu",),
    name=("device",),
    model=("modelName", "model_name"),
    serial=("DCGM_FI_DEV_SERIAL", "DCGM_FI_DEV_BOARD_SERIAL"),
    vbios=("DCGM_FI_DEV_VBIOS_VERSION",),
    driver=("DCGM_FI_DRIVER_VERSION", "DCGM_FI_SYSTEM_DRIVER_VERSION"),
    namespace=("namespace", "exported_namespace", "pod_namespace"),
    pod=("pod", "exported_pod", "pod_name"),
    container=("container", "exported_container", "container_name"),
    job=("hpc_job",),
)

INSTANCE = Partition(label="GPU_I_ID", profile=("GPU_I_PROFILE",))


def _dev(name: str, target: str, scale: tuple[int, int] = UNSCALED) -> FamilyMapping:
    return FamilyMapping(name=_DEV + name, target=target, scale=scale)


def _prof(name: str, target: str) -> FamilyMapping:
    return FamilyMapping(name=_PROF + name, target=target)


def _links(name: str, target: str, scale: tuple[int, int] = UNSCALED) -> FamilyMapping:
    return FamilyMapping(
        name=_DEV + name, target=target, scale=scale, over="nvlink", combine=Combine.SUM
    )


def _size(name: str, optional: bool = False) -> FamilyMapping:
    return FamilyMapping(
        name=_DEV + name,
        target="memory_size_bytes",
        scale=MIB,
        group="framebuffer",
        optional=optional,
    )


# NVML_GPU_FABRIC_HEALTH_SUMMARY_* (nvml.h); that all is well says less than the manager's status.
_FABRIC_HEALTH: dict[float, str | None] = {0: None, 1: None, 2: "unhealthy", 3: "limited_capacity"}
# dcgmFabricManagerStatus_t (dcgm_structs.h); -1, 5 and 6 are versions that do not know each other.
_FABRIC_MANAGER: dict[float, str | None] = {
    -1: None,
    0: None,
    1: "not_started",
    2: "in_progress",
    3: "completed",
    4: "failed",
    5: None,
    6: None,
}
_FAILED: dict[float, str | None] = {
    number: state if state == "failed" else None for number, state in _FABRIC_MANAGER.items()
}

# Under the names that DCGM had for its fields up to 4.5, and has since.
_STATUS_FIELDS = (
    *(
        _dev(name.format(bank), f"memory_row_remap_banks.{bank.lower()}")
        for bank in ("MAX", "HIGH", "PARTIAL", "LOW", "NONE")
        for name in ("BANKS_REMAP_ROWS_AVAIL_{}", "BANK_REMAP_AVAIL_{}")
    ),
    *(_dev(name, "ecc_enabled") for name in ("ECC_CURRENT", "ECC_MODE")),
    *(_dev(name, "sram_error_threshold_exceeded") for name in ("THRESHOLD_SRM", "SRAM_EXCEEDED")),
    *(
        _dev(name, "memory_unrepairable")
        for name in ("MEMORY_UNREPAIRABLE_FLAG", "MEMORY_UNREPAIRABLE")
    ),
    *(
        row
        for name in ("GET_GPU_RECOVERY_ACTION", "GPU_RECOVERY_ACTION")
        for row in recovery.rows(_DEV + name)
    ),
)
# Field 84, under its names of DCGM up to 4.5 and since: 1 where the checksums match.
_INFOROM = tuple(
    FamilyMapping(name=_DEV + name, target="inforom_corrupted", equals=0, high=1)
    for name in ("INFOROM_CONFIG_VALID", "INFOROM_VALID")
)
_LICENSES: dict[float, str | None] = {0: "unlicensed", 1: "licensed"}
# Models but `H100-20C` and its like: DCGM says 0 of every GPU that needs no license.
_NO_VIRTUAL_GPU = r"(?!.*-\d+[ABCQ](?:ME)?$).*"
_VIRTUAL = tuple(
    FamilyMapping(
        name=_DEV + "VGPU_LICENSE_STATUS",
        target="vgpu_license_info",
        states=_LICENSES,
        without={label: _NO_VIRTUAL_GPU},
    )
    for label in ("modelName", "model_name")
)
# Memories as nvmlMemoryLocation_t (nvml.h) has them.
_MEMORIES = (
    ("L1", "l1_cache"),
    ("L2", "l2_cache"),
    ("DEV", "dram"),
    ("REG", "register_file"),
    ("TEX", "texture_memory"),
    ("SHM", "texture_shm"),
    ("CBU", "cbu"),
    ("SRM", "sram"),
)
_BY_MEMORY = tuple(
    _dev(f"ECC_{bits}_VOL_{memory}", f"ecc_location_errors_total.{severity}.{location}")
    for bits, severity in (("SBE", "corrected"), ("DBE", "uncorrected"))
    for memory, location in _MEMORIES
)
_PCIE_LINK = tuple(
    _dev(f"PCIE_{prefix}LINK_{name}", f"{quantity}.{which}")
    for prefix, which in (("", "current"), ("MAX_", "max"))
    for name, quantity in (("GEN", "pcie_link_generation"), ("WIDTH", "pcie_link_width_lanes"))
)
# Of lists of fields that operators write themselves; up to DCGM 4.5, and since.
_MODES = (
    *(_dev(name, "persistence_enabled") for name in ("PERSISTENCE_MODE", "GPU_PERSISTENCE_MODE")),
    _dev("MIG_MODE", "partitioning_enabled"),
    _dev("ECC_PENDING", "ecc_enabled_pending"),
)
# Fields that kept their names, and units, when others got base units.
_ALIKE = (
    *_BY_MEMORY,
    *_PCIE_LINK,
    *_MODES,
    *(
        _dev(f"CLOCKS_EVENT_REASON_{name}_NS", f"throttle_seconds_total.{reason}", NANO)
        for name, reason in (
            ("SW_POWER_CAP", "power"),
            ("SYNC_BOOST", "sync_boost"),
            ("SW_THERM_SLOWDOWN", "thermal_software"),
            ("HW_THERM_SLOWDOWN", "thermal_hardware"),
            ("HW_POWER_BRAKE_SLOWDOWN", "power_brake"),
        )
    ),
    _dev("MAX_SM_CLOCK", "clock_limit_hertz.sm.max", MEGA),
    _dev("MAX_MEM_CLOCK", "clock_limit_hertz.memory.max", MEGA),
    _dev("MAX_VIDEO_CLOCK", "clock_limit_hertz.video.max", MEGA),
    _dev("BAR1_TOTAL", "memory_pool_size_bytes.bar1", MIB),
    _dev("BAR1_USED", "memory_pool_used_bytes.bar1", MIB),
    _dev("ECC_SBE_VOL_TOTAL", "ecc_errors_total.corrected"),
    _dev("ECC_DBE_VOL_TOTAL", "ecc_errors_total.uncorrected"),
    _dev("ECC_SBE_AGG_TOTAL", "ecc_lifetime_errors.corrected"),
    _dev("ECC_DBE_AGG_TOTAL", "ecc_lifetime_errors.uncorrected"),
    _dev("POWER_VIOLATION", "throttle_seconds_total.power", NANO),
    _dev("THERMAL_VIOLATION", "throttle_seconds_total.thermal_software", NANO),
    _dev("SYNC_BOOST_VIOLATION", "throttle_seconds_total.sync_boost", NANO),
    _dev("BOARD_LIMIT_VIOLATION", "throttle_seconds_total.other", NANO),
    _dev("LOW_UTIL_VIOLATION", "throttle_seconds_total.low_utilization", NANO),
    _dev("RELIABILITY_VIOLATION", "throttle_seconds_total.reliability", NANO),
)

# Bits of nvmlClocksEventReasons (nvml.h); a slowdown whose cause is reported is no other one.
_REASONS = (
    ("clock_setting", 0x002 | 0x100, 0),
    ("power", 0x004, 0),
    ("sync_boost", 0x010, 0),
    ("thermal_software", 0x020, 0),
    ("thermal_hardware", 0x040, 0),
    ("power_brake", 0x080, 0),
    ("other", 0x008, 0x040 | 0x080),
)
# Under the names of DCGM 4 and of before.
_MASKS = tuple(
    FamilyMapping(name=_DEV + name, target=f"throttle_active.{reason}", bits=bits, unless=unless)
    for name in ("CLOCKS_EVENT_REASONS", "CLOCK_THROTTLE_REASONS")
    for reason, bits, unless in _REASONS
)

# Families that are the same in both generations of the exporter.
BOTH = (
    FamilyMapping(
        name="DCGM_EXP_GPU_HEALTH_STATUS",
        target="health",
        states={0: "ok", 10: "degraded", 20: "failed"},
        over="health_watch",
        combine=Combine.MAX,
    ),
    FamilyMapping(name="DCGM_EXP_XID_ERRORS_TOTAL", target="error_events_total.xid_{xid}.other"),
    FamilyMapping(name=_DEV + "FABRIC_MANAGER_STATUS", target="fabric_state_info", states=_FAILED),
    FamilyMapping(
        name=_DEV + "FABRIC_HEALTH_SUMMARY", target="fabric_state_info", states=_FABRIC_HEALTH
    ),
    FamilyMapping(
        name=_DEV + "FABRIC_MANAGER_STATUS", target="fabric_state_info", states=_FABRIC_MANAGER
    ),
    *_STATUS_FIELDS,
    *_INFOROM,
    *_MASKS,
    *_VIRTUAL,
    *_ALIKE,
)

_LEGACY = (
    _dev("GPU_UTIL", "utilization_ratio", PERCENT),
    _prof("GR_ENGINE_ACTIVE", "utilization_ratio"),
    _dev("MEM_COPY_UTIL", "memory_controller_utilization_ratio", PERCENT),
    _prof("DRAM_ACTIVE", "memory_bandwidth_utilization_ratio"),
    _dev("ENC_UTIL", "engine_utilization_ratio.encoder", PERCENT),
    _dev("DEC_UTIL", "engine_utilization_ratio.decoder", PERCENT),
    _prof("SM_ACTIVE", "compute_active_ratio"),
    _prof("SM_OCCUPANCY", "compute_occupancy_ratio"),
    _prof("PIPE_TENSOR_ACTIVE", "matrix_active_ratio"),
    _prof("PIPE_FP64_ACTIVE", "pipe_active_ratio.fp64"),
    _prof("PIPE_FP32_ACTIVE", "pipe_active_ratio.fp32"),
    _prof("PIPE_FP16_ACTIVE", "pipe_active_ratio.fp16"),
    _prof("PIPE_INT_ACTIVE", "pipe_active_ratio.integer"),
    *(
        _prof(f"PIPE_TENSOR_{kind.upper()}_ACTIVE", f"pipe_active_ratio.tensor_{kind}")
        for kind in ("imma", "hmma", "dfma")
    ),
    _dev("FB_TOTAL", "memory_size_bytes", MIB),
    _size("FB_USED"),
    _size("FB_FREE"),
    _size("FB_RESERVED", optional=True),
    _dev("FB_USED", "memory_used_bytes", MIB),
    _dev("FB_RESERVED", "memory_reserved_bytes", MIB),
    _dev("GPU_TEMP", "temperature_celsius.gpu"),
    _dev("MEMORY_TEMP", "temperature_celsius.memory"),
    _dev("SLOWDOWN_TEMP", "temperature_limit_celsius.gpu.slowdown"),
    _dev("SHUTDOWN_TEMP", "temperature_limit_celsius.gpu.shutdown"),
    _dev("GPU_MAX_OP_TEMP", "temperature_limit_celsius.gpu.max_operating"),
    _dev("MEM_MAX_OP_TEMP", "temperature_limit_celsius.memory.max_operating"),
    _dev("GPU_TEMP_LIMIT", "temperature_margin_celsius"),
    _dev("POWER_USAGE", "power_watts"),
    _dev("POWER_USAGE_INSTANT", "power_watts"),
    _dev("ENFORCED_POWER_LIMIT", "power_limit_watts.enforced"),
    _dev("POWER_MGMT_LIMIT", "power_limit_watts.requested"),
    _dev("POWER_MGMT_LIMIT_DEF", "power_limit_watts.default"),
    _dev("POWER_MGMT_LIMIT_MIN", "power_limit_watts.min"),
    _dev("POWER_MGMT_LIMIT_MAX", "power_limit_watts.max"),
    _dev("TOTAL_ENERGY_CONSUMPTION", "energy_joules_total.hardware", MILLI),
    _dev("SM_CLOCK", "clock_hertz.sm", MEGA),
    _dev("SM_CLOCK", "clock_hertz.graphics", MEGA),
    _dev("MEM_CLOCK", "clock_hertz.memory", MEGA),
    _dev("VIDEO_CLOCK", "clock_hertz.video", MEGA),
    _dev("FAN_SPEED", "fan_speed_ratio.0", PERCENT),
    _dev("PSTATE", "performance_state"),
    _prof("PCIE_TX_BYTES", "pcie_throughput_bytes_per_second.transmit"),
    _prof("PCIE_RX_BYTES", "pcie_throughput_bytes_per_second.receive"),
    _dev("PCIE_TX_THROUGHPUT", "pcie_throughput_bytes_per_second.transmit", KIB),
    _dev("PCIE_RX_THROUGHPUT", "pcie_throughput_bytes_per_second.receive", KIB),
    _dev("PCIE_REPLAY_COUNTER", "pcie_errors_total.replay"),
    _links("NVLINK_COUNT_TX_BYTES", "interconnect_bytes_total.nvlink.transmit"),
    _links("NVLINK_COUNT_RX_BYTES", "interconnect_bytes_total.nvlink.receive"),
    _links("NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "interconnect_errors_total.nvlink.crc_flit"),
    _links("NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", "interconnect_errors_total.nvlink.crc_data"),
    _links("NVLINK_REPLAY_ERROR_COUNT_TOTAL", "interconnect_errors_total.nvlink.replay"),
    _links("NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "interconnect_errors_total.nvlink.recovery"),
    _dev("RETIRED_SBE", "memory_retired_pages.single_bit"),
    _dev("RETIRED_DBE", "memory_retired_pages.double_bit"),
    _dev("RETIRED_PENDING", "memory_repair_pending"),
    _dev("CORRECTABLE_REMAPPED_ROWS", "memory_remapped_rows.corrected"),
    _dev("UNCORRECTABLE_REMAPPED_ROWS", "memory_remapped_rows.uncorrected"),
    _dev("ROW_REMAP_PENDING", "memory_repair_pending"),
    _dev("ROW_REMAP_FAILURE", "memory_repair_failed"),
)

# In DCGM 4.6 the new name had the old unit; a 1 may be either.
_PERCENT_OF_4_6 = FamilyMapping(
    name=_DEV + "GPU_UTIL_RATIO", target="utilization_ratio", scale=PERCENT, low=2, high=100
)

# Fields 1617 and on, of DCGM 4.7.
_THROTTLED = tuple(
    _dev(f"GPU_{name}_THROTTLE_SECONDS_TOTAL", f"throttle_seconds_total.{reason}")
    for name, reason in (
        ("POWER", "power"),
        ("THERMAL", "thermal_software"),
        ("SYNC_BOOST", "sync_boost"),
        ("LOW_UTIL", "low_utilization"),
        ("RELIABILITY", "reliability"),
    )
)

_BASE_UNITS = (
    *_THROTTLED,
    _dev("GPU_UTIL_RATIO", "utilization_ratio"),
    _prof("GR_ENGINE_UTIL_RATIO", "utilization_ratio"),
    _PERCENT_OF_4_6,
    _dev("MEMORY_UTIL_RATIO", "memory_controller_utilization_ratio"),
    _prof("DRAM_UTIL_RATIO", "memory_bandwidth_utilization_ratio"),
    _dev("ENC_UTIL_RATIO", "engine_utilization_ratio.encoder"),
    _dev("DEC_UTIL_RATIO", "engine_utilization_ratio.decoder"),
    _prof("SM_UTIL_RATIO", "compute_active_ratio"),
    _prof("SM_OCCUPANCY_RATIO", "compute_occupancy_ratio"),
    _prof("TENSOR_UTIL_RATIO", "matrix_active_ratio"),
    _prof("FP64_UTIL_RATIO", "pipe_active_ratio.fp64"),
    _prof("FP32_UTIL_RATIO", "pipe_active_ratio.fp32"),
    _prof("FP16_UTIL_RATIO", "pipe_active_ratio.fp16"),
    _prof("INT_UTIL_RATIO", "pipe_active_ratio.integer"),
    _prof("IMMA_UTIL_RATIO", "pipe_active_ratio.tensor_imma"),
    _prof("HMMA_UTIL_RATIO", "pipe_active_ratio.tensor_hmma"),
    _prof("DFMA_UTIL_RATIO", "pipe_active_ratio.tensor_dfma"),
    _dev("FB_CAPACITY_BYTES", "memory_size_bytes"),
    _dev("FB_USED_BYTES", "memory_used_bytes"),
    _dev("FB_RESERVED_BYTES", "memory_reserved_bytes"),
    _dev("BAR1_CAPACITY_BYTES", "memory_pool_size_bytes.bar1"),
    _dev("BAR1_USED_BYTES", "memory_pool_used_bytes.bar1"),
    _dev("GPU_TEMP_CELSIUS", "temperature_celsius.gpu"),
    _dev("MEMORY_TEMP_CELSIUS", "temperature_celsius.memory"),
    _dev("GPU_TEMP_SLOWDOWN_CELSIUS", "temperature_limit_celsius.gpu.slowdown"),
    _dev("GPU_TEMP_SHUTDOWN_CELSIUS", "temperature_limit_celsius.gpu.shutdown"),
    _dev("GPU_MAX_OP_TEMP_CELSIUS", "temperature_limit_celsius.gpu.max_operating"),
    _dev("MEMORY_MAX_OP_TEMP_CELSIUS", "temperature_limit_celsius.memory.max_operating"),
    _dev("GPU_TEMP_MARGIN_CELSIUS", "temperature_margin_celsius"),
    _dev("BOARD_POWER_WATTS", "power_watts"),
    _dev("BOARD_POWER_RAW_WATTS", "power_watts"),
    _dev("BOARD_POWER_LIMIT_ENFORCED_WATTS", "power_limit_watts.enforced"),
    _dev("BOARD_POWER_LIMIT_REQUESTED_WATTS", "power_limit_watts.requested"),
    _dev("BOARD_POWER_LIMIT_DEFAULT_WATTS", "power_limit_watts.default"),
    _dev("BOARD_POWER_LIMIT_MIN_WATTS", "power_limit_watts.min"),
    _dev("BOARD_POWER_LIMIT_MAX_WATTS", "power_limit_watts.max"),
    _dev("GPU_ENERGY_JOULES_TOTAL", "energy_joules_total.hardware"),
    _dev("SM_CLOCK_HERTZ", "clock_hertz.sm"),
    _dev("SM_CLOCK_HERTZ", "clock_hertz.graphics"),
    _dev("MEMORY_CLOCK_HERTZ", "clock_hertz.memory"),
    _dev("VIDEO_CLOCK_HERTZ", "clock_hertz.video"),
    _dev("SM_MAX_CLOCK_HERTZ", "clock_limit_hertz.sm.max"),
    _dev("FAN_SPEED_RATIO", "fan_speed_ratio.0"),
    _dev("GPU_PSTATE", "performance_state"),
    _prof("PCIE_TX_BYTES_TOTAL", "pcie_bytes_total.transmit"),
    _prof("PCIE_RX_BYTES_TOTAL", "pcie_bytes_total.receive"),
    _dev("PCIE_REPLAY_TOTAL", "pcie_errors_total.replay"),
    _links("NVLINK_TX_BYTES_TOTAL", "interconnect_bytes_total.nvlink.transmit"),
    _links("NVLINK_RX_BYTES_TOTAL", "interconnect_bytes_total.nvlink.receive"),
    _links("NVLINK_CRC_FLIT_ERROR_TOTAL", "interconnect_errors_total.nvlink.crc_flit"),
    _links("NVLINK_CRC_DATA_ERROR_TOTAL", "interconnect_errors_total.nvlink.crc_data"),
    _links("NVLINK_REPLAY_ERROR_TOTAL", "interconnect_errors_total.nvlink.replay"),
    _links("NVLINK_RECOVERY_ERROR_TOTAL", "interconnect_errors_total.nvlink.recovery"),
    _dev("PAGE_RETIRED_SBE_TOTAL", "memory_retired_pages.single_bit"),
    _dev("PAGE_RETIRED_DBE_TOTAL", "memory_retired_pages.double_bit"),
    _dev("PAGE_RETIRED_PENDING", "memory_repair_pending"),
    _dev("ROW_REMAP_CORRECTABLE_TOTAL", "memory_remapped_rows.corrected"),
    _dev("ROW_REMAP_UNCORRECTABLE_TOTAL", "memory_remapped_rows.uncorrected"),
    _dev("ROW_REMAP_PENDING", "memory_repair_pending"),
    _dev("ROW_REMAP_FAILED", "memory_repair_failed"),
)

_NOT_WITH_BASE_UNITS = (
    "SM_CLOCK",
    "GPU_UTIL",
    "FB_USED",
    "GPU_TEMP",
    "POWER_USAGE",
    "MEM_COPY_UTIL",
)
_BASE_UNITS_ONLY = (
    "SM_CLOCK_HERTZ",
    "GPU_UTIL_RATIO",
    "FB_USED_BYTES",
    "GPU_TEMP_CELSIUS",
    "BOARD_POWER_WATTS",
)

_LAST_XID = "the exporter reports Xid {} as the last one, without its time"

LEGACY = Dialect(
    name="dcgm-exporter",
    vendor="nvidia",
    fingerprints=(*(_DEV + name for name in _NOT_WITH_BASE_UNITS), _PROF + "GR_ENGINE_ACTIVE"),
    labels=LABELS,
    claim=("dra_claim_name",),
    partitions=(INSTANCE,),
    rows=(*_LEGACY, *BOTH),
    remarks={_DEV + "XID_ERRORS": _LAST_XID},
)
BASE_UNITS = Dialect(
    name="dcgm-exporter-4.9",
    vendor="nvidia",
    fingerprints=(*(_DEV + name for name in _BASE_UNITS_ONLY), _PROF + "GR_ENGINE_UTIL_RATIO"),
    labels=LABELS,
    partitions=(INSTANCE,),
    rows=(*_BASE_UNITS, *BOTH),
    remarks={_DEV + "XID_ERROR": _LAST_XID},
)
