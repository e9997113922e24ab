"""nvidia_gpu_exporter: fields of `nvidia-smi --help-query-gpu` in base units, mostly typed gauge.

Uuids come without `GPU-`. Driver renames leak into names (`clocks_throttle_reasons_*` became
`clocks_event_reasons_*`), so both are rows. Telegraf uses the same prefix with other units, but no
`_ratio`, `_bytes` or `gpu_info`.
"""

from accelwatch.fleet.dialects.base.table import (
    MIG_MODE,
    UINT32_BLANK,
    Combine,
    Dialect,
    FamilyMapping,
    Labels,
    Partition,
    Processes,
    ProcessRow,
)
from accelwatch.fleet.dialects.exporters import recovery

# nvmlGpuFabricState_t (nvml.h); 0 means that there is no fabric.
_FABRIC: dict[float, str | None] = {0: None, 1: "not_started", 2: "in_progress", 3: "completed"}
# A number that is a name: its digits are the label.
_NUMBERED: dict[float, str | None] = {UINT32_BLANK: None}
# Idle is no reason here.
_REASONS = (
    ("sw_power_cap", "power"),
    ("hw_power_brake_slowdown", "power_brake"),
    ("sw_thermal_slowdown", "thermal_software"),
    ("hw_thermal_slowdown", "thermal_hardware"),
    ("sync_boost", "sync_boost"),
    ("applications_clocks_setting", "clock_setting"),
)


def _row(name: str, target: str) -> FamilyMapping:
    return FamilyMapping(name=f"nvidia_smi_{name}", target=target)


_THROTTLE = tuple(
    row
    for family in ("event", "throttle")
    for name, reason in _REASONS
    for row in (
        _row(f"clocks_{family}_reasons_{name}", f"throttle_active.{reason}"),
        _row(
            f"clocks_{family}_reasons_counters_{name}_seconds", f"throttle_seconds_total.{reason}"
        ),
    )
)
# `hw_slowdown` repeats the two hardware causes, and is a reason of its own without them.
_HARDWARE = tuple(
    FamilyMapping(
        name=f"nvidia_smi_clocks_{family}_reasons_{name}",
        target="throttle_active.other",
        combine=Combine.ALONE,
        group=f"hw_slowdown_{family}",
        optional=name != "hw_slowdown",
    )
    for family in ("event", "throttle")
    for name in ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
)
_MODULE_LIMITS = (
    ("enforced_power_limit", "enforced"),
    ("power_limit", "requested"),
    ("power_default_limit", "default"),
    ("power_min_limit", "min"),
    ("power_max_limit", "max"),
)
_CLOCKS = tuple(
    row
    for domain in ("graphics", "sm", "memory", "video")
    for row in (
        _row(f"clocks_current_{domain}_clock_hz", f"clock_hertz.{domain}"),
        _row(f"clocks_max_{domain}_clock_hz", f"clock_limit_hertz.{domain}.max"),
    )
)
_ECC = tuple(
    row
    for severity in ("corrected", "uncorrected")
    for row in (
        _row(f"ecc_errors_{severity}_volatile_total", f"ecc_errors_total.{severity}"),
        _row(f"ecc_errors_{severity}_aggregate_total", f"ecc_lifetime_errors.{severity}"),
        _row(f"ecc_errors_{severity}_volatile_dram", f"ecc_location_errors_total.{severity}.dram"),
        _row(f"ecc_errors_{severity}_volatile_sram", f"ecc_location_errors_total.{severity}.sram"),
    )
)

NVIDIA_GPU_EXPORTER = Dialect(
    name="nvidia_gpu_exporter",
    vendor="nvidia",
    fingerprints=("nvidia_smi_gpu_info", "nvidia_smi_utilization_gpu_ratio"),
    labels=Labels(
        uuid=("uuid",),
        pci=("pci_bus_id",),
        serial=("serial",),
        index=("index",),
        model=("name",),
        driver=("driver_version",),
        vbios=("vbios_version",),
    ),
    facts={"nvidia_smi_mig_mode_current": MIG_MODE},
    partitions=(Partition(label="gpu_instance_id", profile=("profile",), uuid=("mig_uuid",)),),
    identity=("nvidia_smi_gpu_info", "nvidia_smi_mig_info"),
    alive=("nvidia_smi_last_collect_success",),
    success="nvidia_smi_last_collect_success",
    lost={"nvidia_smi_nvml_return_code": 15, "nvidia_smi_command_exit_code": 15},
    processes=Processes(
        rows=(
            ProcessRow(name="nvidia_smi_compute_app_used_memory_bytes", field="gpu_memory_bytes"),
        ),
        info="nvidia_smi_compute_app_info",
        shown_by=("nvidia_smi_compute_apps",),
        command="process_name",
    ),
    rows=(
        _row("utilization_gpu_ratio", "utilization_ratio"),
        _row("utilization_memory_ratio", "memory_controller_utilization_ratio"),
        _row("utilization_encoder_ratio", "engine_utilization_ratio.encoder"),
        _row("utilization_decoder_ratio", "engine_utilization_ratio.decoder"),
        _row("utilization_jpeg_ratio", "engine_utilization_ratio.jpeg"),
        _row("utilization_ofa_ratio", "engine_utilization_ratio.optical_flow"),
        _row("memory_total_bytes", "memory_size_bytes"),
        _row("memory_used_bytes", "memory_used_bytes"),
        _row("memory_reserved_bytes", "memory_reserved_bytes"),
        _row("temperature_gpu", "temperature_celsius.gpu"),
        _row("temperature_memory", "temperature_celsius.memory"),
        _row("temperature_gpu_tlimit", "temperature_margin_celsius"),
        _row("power_draw_instant_watts", "power_watts"),
        _row("power_draw_watts", "power_watts"),
        _row("power_draw_average_watts", "power_watts"),
        _row("enforced_power_limit_watts", "power_limit_watts.enforced"),
        _row("power_limit_watts", "power_limit_watts.requested"),
        _row("power_default_limit_watts", "power_limit_watts.default"),
        _row("power_min_limit_watts", "power_limit_watts.min"),
        _row("power_max_limit_watts", "power_limit_watts.max"),
        _row("module_power_draw_instant_watts", "power_component_watts.module"),
        _row("module_power_draw_average_watts", "power_component_watts.module"),
        *(
            _row(f"module_{name}_watts", f"power_component_limit_watts.module.{limit}")
            for name, limit in _MODULE_LIMITS
        ),
        _row("energy_joules_total", "energy_joules_total.hardware"),
        _row("fan_speed_ratio", "fan_speed_ratio.0"),
        _row("pstate", "performance_state"),
        *_CLOCKS,
        *_THROTTLE,
        *_HARDWARE,
        _row("pcie_link_gen_current", "pcie_link_generation.current"),
        _row("pcie_link_gen_max", "pcie_link_generation.max"),
        _row("pcie_link_width_current", "pcie_link_width_lanes.current"),
        _row("pcie_link_width_max", "pcie_link_width_lanes.max"),
        _row("pcie_throughput_tx_bytes_per_second", "pcie_throughput_bytes_per_second.transmit"),
        _row("pcie_throughput_rx_bytes_per_second", "pcie_throughput_bytes_per_second.receive"),
        _row("persistence_mode", "persistence_enabled"),
        _row("mig_mode_current", "partitioning_enabled"),
        _row("mig_mode_pending", "partitioning_enabled_pending"),
        _row("ecc_mode_current", "ecc_enabled"),
        _row("ecc_mode_pending", "ecc_enabled_pending"),
        *_ECC,
        _row("retired_pages_single_bit_ecc_count", "memory_retired_pages.single_bit"),
        _row("retired_pages_double_bit_count", "memory_retired_pages.double_bit"),
        _row("retired_pages_pending", "memory_repair_pending"),
        _row("remapped_rows_correctable", "memory_remapped_rows.corrected"),
        _row("remapped_rows_uncorrectable", "memory_remapped_rows.uncorrected"),
        _row("remapped_rows_correctable_inactive", "memory_remapped_rows_inactive.corrected"),
        _row("remapped_rows_uncorrectable_inactive", "memory_remapped_rows_inactive.uncorrected"),
        *(
            _row(f"remapped_rows_histogram_{name}", f"memory_row_remap_banks.{name}")
            for name in ("max", "high", "partial", "low", "none")
        ),
        _row("remapped_rows_pending", "memory_repair_pending"),
        _row("remapped_rows_failure", "memory_repair_failed"),
        _row(
            "ecc_errors_uncorrected_aggregate_sram_threshold_exceeded",
            "sram_error_threshold_exceeded",
        ),
        *recovery.rows("nvidia_smi_gpu_recovery_action"),
        FamilyMapping(name="nvidia_smi_fabric_state", target="fabric_state_info", states=_FABRIC),
        FamilyMapping(
            name="nvidia_smi_fabric_clique_id", target="fabric_clique_info", states=_NUMBERED
        ),
        FamilyMapping(
            name="nvidia_smi_platform_module_id", target="platform_module_info", states=_NUMBERED
        ),
        FamilyMapping(
            name="nvidia_smi_xid_errors_total", target="error_events_total.xid_{xid}.other"
        ),
        FamilyMapping(
            name="nvidia_smi_xid_last_timestamp_seconds",
            target="error_event_last_timestamp_seconds.xid_{xid}.other",
        ),
        _row("mig_memory_total_bytes", "memory_size_bytes"),
        _row("mig_memory_used_bytes", "memory_used_bytes"),
        _row("mig_graphics_activity_ratio", "utilization_ratio"),
        _row("mig_sm_activity_ratio", "compute_active_ratio"),
        _row("mig_sm_occupancy_ratio", "compute_occupancy_ratio"),
        _row("mig_tensor_activity_ratio", "matrix_active_ratio"),
    ),
)
