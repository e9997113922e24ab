"""Fields that nvidia-smi has, up to driver 610, and that we do not read: known, so `[N/A]`, no mistake.

Names, aliases (behind `|`) and units of `nvidia-smi --help-query-gpu` and its CSV headers.
"""

from accelwatch_nvidia_smi.query_field import NOT_AVAILABLE, QueryField


def _fields(unit: str, names: str, missing: str = NOT_AVAILABLE) -> tuple[QueryField, ...]:
    return tuple(QueryField(tuple(row.split("|")), unit, missing=missing) for row in names.split())


UNREAD: tuple[QueryField, ...] = (
    *_fields(
        "",
        """
vgpu_driver_capability.heterogenous_multivGPU pci.baseClass pci.subClass pci.device_id
pci.sub_device_id vgpu_device_capability.fractional_multiVgpu
vgpu_device_capability.heterogeneous_timeSlice_profile
vgpu_device_capability.heterogeneous_timeSlice_sizes
vgpu_device_capability.homogeneous_placements vgpu_device_capability.mig_timeSlicing
vgpu_device_capability.mig_timeSlicing_mode pcie.link.gen.gpumax pcie.link.gen.hostmax
display_mode display_attached display_active addressing_mode accounting.mode
accounting.buffer_size driver_model.current driver_model.pending inforom.img|inforom.image
inforom.oem inforom.ecc inforom.pwr|inforom.power inforom.checksum_validation
gom.current|gpu_operation_mode.current gom.pending|gpu_operation_mode.pending compute_mode
compute_cap encoder.stats.sessionCount encoder.stats.averageFps encoder.stats.averageLatency
dramEncryption.mode.current dramEncryption.mode.pending
ecc.errors.uncorrected.volatile.sram.parity ecc.errors.uncorrected.volatile.sram.secded
ecc.errors.uncorrected.aggregate.sram.parity ecc.errors.uncorrected.aggregate.sram.secded
ecc.errors.uncorrected.aggregate.sram.l2 ecc.errors.uncorrected.aggregate.sram.sm
ecc.errors.uncorrected.aggregate.sram.mcu ecc.errors.uncorrected.aggregate.sram.pcie
ecc.errors.uncorrected.aggregate.sram.other power.management gsp.mode.current
gsp.mode.default c2c.mode platform.peer_type platform.gpu_fabric_guid hostname
power_smoothing.enabled power_smoothing.delayed_power_smoothing_supported
power_smoothing.soc_power_smoothing_enabled power_smoothing.priv_level
power_smoothing.imm_ramp_down power_smoothing.num_preset_profiles
power_smoothing.curr_profile.primary_floor_act_window_multiplier
power_smoothing.curr_profile.primary_floor_tar_window_multiplier
power_smoothing.active_profile
power_smoothing.admin_override.primary_floor_act_window_multiplier
power_smoothing.admin_override.primary_floor_tar_window_multiplier
""",
    ),
    *_fields(
        "W",
        """
module.power.draw.average gpu.base.current gpu.base.requested gpu.base.default gpu.base.min
gpu.base.max power_smoothing.tmp_floor power_smoothing.tmp_ceil
power_smoothing.primary_power_floor power_smoothing.secondary_power_floor
power_smoothing.min_primary_floor_activation_offset
power_smoothing.min_primary_floor_activation_point
power_smoothing.curr_profile.secondary_power_floor
power_smoothing.curr_profile.primary_floor_act_offset
power_smoothing.admin_override.secondary_power_floor
power_smoothing.admin_override.primary_floor_act_offset
""",
    ),
    *_fields(
        "%",
        """
edpp_multiplier power_smoothing.hw_lifetime_remaining_percent
power_smoothing.max_percent_tmp_floor power_smoothing.min_percent_tmp_floor
power_smoothing.curr_profile.percent_tmp_floor
power_smoothing.admin_override.percent_tmp_floor
""",
    ),
    *_fields(
        "MHz",
        """
clocks.applications.graphics|clocks.applications.gr
clocks.applications.memory|clocks.applications.mem
clocks.default_applications.graphics|clocks.default_applications.gr
clocks.default_applications.memory|clocks.default_applications.mem
""",
    ),
    *_fields(
        "MiB",
        """
protected_memory.total protected_memory.used protected_memory.free
""",
    ),
    *_fields(
        "ms",
        """
power_smoothing.window_multiplier power_smoothing.curr_profile.ramp_down_hysteresis
power_smoothing.admin_override.ramp_down_hysteresis
""",
    ),
    *_fields(
        "W/s",
        """
power_smoothing.curr_profile.ramp_up_rate power_smoothing.curr_profile.ramp_down_rate
power_smoothing.admin_override.ramp_up_rate power_smoothing.admin_override.ramp_down_rate
""",
    ),
    *_fields(
        "seconds",
        """
bbx.time_run
""",
    ),
    *_fields(
        "",
        """
fabric.health.bandwidth fabric.health.route_recovery_in_progress
fabric.health.route_unhealthy fabric.health.access_timeout_recovery
fabric.health.incorrect_configuration fabric.health.partition_assigned
""",
        missing="N/A",
    ),
)
