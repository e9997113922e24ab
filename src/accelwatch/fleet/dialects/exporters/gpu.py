"""Exporters of GPUs and MLUs of Chinese vendors: Cambricon, Hygon, Iluvatar, MetaX.

Families without a documented unit are left out, and error codes that only look like NVIDIA's.
"""

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects.base.table import (
    KIB,
    MEGA,
    MIB,
    MILLI,
    PERCENT,
    UNSCALED,
    Combine,
    Dialect,
    FamilyMapping,
    Labels,
    Processes,
    ProcessRow,
    Scale,
    mapped,
)


def _flag(name: str, target: str) -> FamilyMapping:
    return FamilyMapping(name=name, target=target, flag=True)


_HEALTH: dict[float, str | None] = {1: "ok", 0: "failed"}


def _mlu(name: str, target: str, scale: Scale = UNSCALED) -> FamilyMapping:
    return mapped(f"mlu_{name}", target, scale)


def _card(name: str, target: str, scale: Scale = UNSCALED) -> FamilyMapping:
    """Of the card; its virtual functions have the label as well."""
    return FamilyMapping(name=f"mlu_{name}", target=target, scale=scale, where={"vf": ("",)})


def _added(*names: str, target: str) -> tuple[FamilyMapping, ...]:
    return tuple(FamilyMapping(name=f"mlu_{name}", target=target, group=target) for name in names)


def _mlulink(name: str, target: str) -> FamilyMapping:
    return FamilyMapping(name=f"mlu_mlulink_{name}", target=target, over="*", combine=Combine.SUM)


# Names as its own example of a configuration has them, and all with its prefix.
CAMBRICON = Dialect(
    name="mlu-exporter",
    vendor="cambricon",
    kind="npu",
    device_name="mlu",
    fingerprints=("mlu_utilization", "mlu_memory_total", "mlu_health"),
    # No fan.
    blanks={-1: Absence.UNSUPPORTED},
    labels=Labels(
        uuid=("uuid",),
        serial=("sn",),
        index=("mlu",),
        model=("model",),
        driver=("driver",),
        firmware=("mcu",),
    ),
    processes=Processes(
        rows=(ProcessRow(name="mlu_process_physical_memory_used", field="gpu_memory_bytes"),)
    ),
    rows=(
        _card("utilization", "utilization_ratio", PERCENT),
        _mlu("core_utilization", "core_utilization_ratio.{core}", PERCENT),
        _mlu("tensor_util", "matrix_active_ratio", PERCENT),
        _mlu("memory_total", "memory_size_bytes"),
        _mlu("memory_used", "memory_used_bytes"),
        _mlu("memory_reserved", "memory_reserved_bytes"),
        _mlu("chip_temperature", "temperature_celsius.gpu"),
        FamilyMapping(
            name="mlu_temperature", target="temperature_celsius.board", where={"cluster": ("",)}
        ),
        FamilyMapping(
            name="mlu_memory_temperature",
            target="temperature_celsius.memory",
            over="memory_die",
            combine=Combine.MAX,
        ),
        _mlu("over_temp_under_clock_threshold", "temperature_limit_celsius.gpu.slowdown"),
        _mlu("over_temp_power_off_threshold", "temperature_limit_celsius.gpu.shutdown"),
        _card("power_usage", "power_watts"),
        _mlu("power_current_limit", "power_limit_watts.enforced"),
        _mlu("power_default_limit", "power_limit_watts.default"),
        _mlu("power_min_limit", "power_limit_watts.min"),
        _mlu("power_max_limit", "power_limit_watts.max"),
        _mlu("fan_speed", "fan_speed_rpm.0"),
        _mlu("frequency", "clock_hertz.npu", MEGA),
        _mlu("ddr_frequency", "clock_hertz.memory", MEGA),
        _flag("mlu_thermal_slow_down", "throttle_active.thermal_hardware"),
        _mlu("pcie_current_speed", "pcie_link_generation.current"),
        _mlu("pcie_max_speed", "pcie_link_generation.max"),
        _mlu("pcie_current_width", "pcie_link_width_lanes.current"),
        _mlu("pcie_max_width", "pcie_link_width_lanes.max"),
        _mlu("pcie_replay_count", "pcie_errors_total.replay"),
        _flag("mlu_ecc_current_mode", "ecc_enabled"),
        _flag("mlu_ecc_pending_mode", "ecc_enabled_pending"),
        _mlu("ecc_corrected_error_total", "ecc_errors_total.corrected"),
        _mlu("ecc_uncorrected_error_total", "ecc_errors_total.uncorrected"),
        *_added("dram_ecc_sbe_count", "sram_ecc_sbe_count", target="ecc_errors_total.corrected"),
        *_added("dram_ecc_dbe_count", "sram_ecc_dbe_count", target="ecc_errors_total.uncorrected"),
        *_added(
            "aggr_dram_ecc_sbe_count",
            "aggr_sram_ecc_sbe_count",
            target="ecc_lifetime_errors.corrected",
        ),
        *_added(
            "aggr_dram_ecc_dbe_count",
            "aggr_sram_ecc_dbe_count",
            target="ecc_lifetime_errors.uncorrected",
        ),
        _flag("mlu_aggr_sram_ecc_threshold_exceed", "sram_error_threshold_exceeded"),
        _mlu("single_bit_retired_page_count", "memory_retired_pages.single_bit"),
        _mlu("double_bit_retired_page_count", "memory_retired_pages.double_bit"),
        _mlu("remapped_correct_rows", "memory_remapped_rows.corrected"),
        _mlu("remapped_uncorrect_rows", "memory_remapped_rows.uncorrected"),
        _flag("mlu_repair_pending", "memory_repair_pending"),
        _flag("mlu_remapped_pending_rows", "memory_repair_pending"),
        _flag("mlu_repair_failure", "memory_repair_failed"),
        _flag("mlu_remapped_failed_rows", "memory_repair_failed"),
        _mlulink("cntr_write_byte_total", "interconnect_bytes_total.mlulink.transmit"),
        _mlulink("cntr_read_byte_total", "interconnect_bytes_total.mlulink.receive"),
        *(
            _mlulink(f"err_{kind}_total", f"interconnect_errors_total.mlulink.{kind}")
            for kind in ("crc24", "crc32", "replay", "fatal")
        ),
        FamilyMapping(name="mlu_health", target="health", states=_HEALTH),
    ),
)


def _dcu(name: str, target: str, scale: Scale = UNSCALED) -> FamilyMapping:
    return mapped(f"dcu_{name}", target, scale)


def _dcu_errors(name: str, severity: str) -> tuple[FamilyMapping, FamilyMapping]:
    return (
        FamilyMapping(
            name=name,
            target=f"ecc_errors_total.{severity}",
            over="block_type",
            combine=Combine.SUM,
        ),
        mapped(name, f"ecc_location_errors_total.{severity}.{{block_type}}"),
    )


# `device_id` is no uuid in other tools.
HYGON = Dialect(
    name="dcu-exporter",
    vendor="hygon",
    device_name="dcu",
    fingerprints=("dcu_utilizationrate", "dcu_memorycap_bytes", "dcu_temp"),
    labels=Labels(
        pci=("pcieBus_number",),
        index=("minor_number",),
        model=("name",),
        namespace=("dcu_pod_namespace",),
        pod=("dcu_pod_name",),
    ),
    rows=(
        _dcu("utilizationrate", "utilization_ratio", PERCENT),
        _dcu("memorycap_bytes", "memory_size_bytes"),
        _dcu("usedmemory_bytes", "memory_used_bytes"),
        _dcu("temp", "temperature_celsius.gpu"),
        _dcu("power_usage", "power_watts"),
        _dcu("powercap", "power_limit_watts.enforced"),
        *_dcu_errors("dcu_ce_count", "corrected"),
        *_dcu_errors("dcu_ue_count", "uncorrected"),
    ),
)


def _ix(name: str, target: str, scale: Scale = UNSCALED) -> FamilyMapping:
    return mapped(f"ix_{name}", target, scale)


# A failed read is written as 0. `ix_xid_errors` is the mask of reasons for throttling
# (collectXidErrors of pkg/collector/gpu_collector.go).
ILUVATAR = Dialect(
    name="ix-exporter",
    vendor="iluvatar",
    device_name="iluvatar",
    fingerprints=("ix_gpu_utilization", "ix_mem_total", "ix_temperature"),
    zero_may_be_failure=True,
    labels=Labels(uuid=("uuid",), index=("gpu",), model=("name",), driver=("driver",)),
    processes=Processes(
        rows=(ProcessRow(name="ix_process_info", field="gpu_memory_bytes", scale=MIB),),
        shown_by=("ix_process_info",),
        pid="process_pid",
        command="process_name",
    ),
    rows=(
        _ix("gpu_utilization", "utilization_ratio", PERCENT),
        _ix("sm_utilization", "compute_active_ratio", PERCENT),
        _ix("sm_occupancy", "compute_occupancy_ratio", PERCENT),
        _ix("dram_bw_util", "memory_bandwidth_utilization_ratio", PERCENT),
        _ix("mem_total", "memory_size_bytes", MIB),
        _ix("mem_used", "memory_used_bytes", MIB),
        _ix("temperature", "temperature_celsius.gpu"),
        _ix("gpu_temperature", "temperature_celsius.gpu"),
        _ix("mem_temperature", "temperature_celsius.memory"),
        _ix("power_usage", "power_watts"),
        _ix("fan_speed", "fan_speed_ratio.0", PERCENT),
        _ix("sm_clock", "clock_hertz.sm", MEGA),
        _ix("mem_clock", "clock_hertz.memory", MEGA),
        _ix("pcie_rx_throughput", "pcie_throughput_bytes_per_second.receive", KIB),
        _ix("pcie_tx_throughput", "pcie_throughput_bytes_per_second.transmit", KIB),
        _ix("pcie_replay_counter", "pcie_errors_total.replay"),
        _ix("ecc_sbe_vol_status", "ecc_errors_total.corrected"),
        _ix("ecc_dbe_vol_status", "ecc_errors_total.uncorrected"),
    ),
)


def _vram(name: str, target: str) -> FamilyMapping:
    return FamilyMapping(name=name, target=target, scale=KIB, where={"type": ("vram",)})


# Memory is in KiB and power in milliwatts.
METAX = Dialect(
    name="mx-exporter",
    vendor="metax",
    device_name="metax",
    fingerprints=("mx_gpu_usage", "mx_gpu_state", "mx_memory_total"),
    labels=Labels(
        uuid=("uuid",),
        index=("deviceId",),
        model=("modelName", "deviceType"),
        driver=("driver_version",),
        vbios=("bios_version",),
        namespace=("exported_namespace", "namespace"),
        pod=("exported_pod", "pod"),
        container=("exported_container", "container"),
    ),
    rows=(
        mapped("mx_gpu_usage", "utilization_ratio", PERCENT),
        _vram("mx_memory_total", "memory_size_bytes"),
        _vram("mx_memory_used", "memory_used_bytes"),
        mapped("mx_chip_hotspot_temp", "temperature_celsius.gpu"),
        mapped("mx_chip_hbm_temp", "temperature_celsius.memory"),
        mapped("mx_board_power", "power_watts", MILLI),
        FamilyMapping(name="mx_gpu_state", target="health", states=_HEALTH),
    ),
)
