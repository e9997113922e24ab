"""AMD device-metrics-exporter (docs/configuration/metricslist.md): everything is typed gauge.

"MB" is MiB in effect. Partitions other than 0 report 0 or nothing, and before 1.4 whatever is not
supported was 0. Operators may put a prefix before every name; 0.x wrote labels in capitals.
"""

from uuid import UUID

from accelwatch.fleet.dialects.base.table import (
    KIB,
    MEGA,
    MIB,
    MICRO,
    PERCENT,
    Combine,
    Dialect,
    FamilyMapping,
    Labels,
    Processes,
    Scale,
    mapped,
)
from accelwatch.system.kernel.amdgpu_ras import BLOCKS, BOGUS

# The exporter's words for the RAS blocks; none is for `mmsch` (its GPUMetricField).
_BLOCKS = {block: block for block in sorted(BLOCKS - {"mmsch"})} | {"pcie_bif": "bif"}
# A share of time may be measured as a little more than 100 %; what is far beyond stands for nothing.
_MORE_THAN_ALL = 1000
# Of virtual functions, which have none.
_NO_PARTITION = str((1 << 32) - 1)
_SEVERITIES = (("correct", "corrected"), ("uncorrect", "uncorrected"), ("deferred", "deferred"))
_DOMAINS = {
    "clock_type": {
        "system": "graphics",
        "GPU_CLOCK_TYPE_SYSTEM": "graphics",
        "GPU_CLOCK_TYPE_MEMORY": "memory",
        "GPU_CLOCK_TYPE_VIDEO": "video",
        "GPU_CLOCK_TYPE_DATA": "data",
        "GPU_CLOCK_TYPE_SOC": "soc",
    }
}


def _over(
    name: str, target: str, scale: Scale, over: str, combine: Combine = Combine.MEAN
) -> FamilyMapping:
    return FamilyMapping(name=name, target=target, scale=scale, over=over, combine=combine)


def _clock(name: str, target: str) -> FamilyMapping:
    return FamilyMapping(
        name=name,
        target=target,
        scale=MEGA,
        value_names=_DOMAINS,
        over="clock_index",
        combine=Combine.MEAN,
    )


def _violation(name: str, reason: str) -> FamilyMapping:
    return FamilyMapping(
        name=f"gpu_violation_{name}_percentage",
        target=f"throttle_active.{reason}",
        flag=True,
        high=_MORE_THAN_ALL,
    )


def _errors(name: str, quantity: str, severity: str, *where: str) -> FamilyMapping:
    """A count of errors; only of corrected ones may there be any number."""
    return FamilyMapping(
        name=name,
        target=".".join((quantity, severity, *where)),
        high=None if severity == "corrected" else BOGUS - 1,
    )


_ECC = tuple(
    row
    for keyword, severity in _SEVERITIES
    for row in (
        _errors(f"gpu_ecc_{keyword}_total", "ecc_errors_total", severity),
        *(
            _errors(f"gpu_ecc_{keyword}_{name}", "ecc_location_errors_total", severity, block)
            for block, name in _BLOCKS.items()
        ),
    )
)

AMD = Dialect(
    name="amd-device-metrics-exporter",
    vendor="amd",
    fingerprints=("gpu_gfx_activity", "gpu_gfx_busy_instantaneous", "gpu_used_vram"),
    any_prefix=True,
    zero_may_be_failure=True,
    where={"gpu_partition_id": ("", "0", "NA", "N/A", _NO_PARTITION)},
    labels=Labels(
        uuid=("gpu_uuid", "GPU_UUID"),
        no_uuid=str(UUID(int=0)),
        serial=("serial_number", "SERIAL_NUMBER"),
        index=("gpu_id", "GPU_ID"),
        model=("card_series", "card_model", "CARD_SERIES", "CARD_MODEL"),
        driver=("driver_version", "DRIVER_VERSION"),
        vbios=("vbios_version", "VBIOS_VERSION"),
        namespace=("namespace", "exported_namespace", "NAMESPACE"),
        pod=("pod", "exported_pod", "POD"),
        container=("container", "exported_container", "CONTAINER"),
        pod_uid=("pod_uuid",),
        job=("job_id", "JOB_ID"),
        job_user=("job_user", "JOB_USER"),
        job_queue=("job_partition", "JOB_PARTITION"),
    ),
    processes=Processes(info="gpu_process_cu_occupancy", pid="process_id"),
    rows=(
        mapped("gpu_gfx_activity", "utilization_ratio", PERCENT),
        _over("gpu_gfx_busy_instantaneous", "utilization_ratio", PERCENT, "xcc_index"),
        mapped("gpu_usage", "utilization_ratio", PERCENT),
        mapped("gpu_umc_activity", "memory_controller_utilization_ratio", PERCENT),
        _over("gpu_vcn_busy_instantaneous", "engine_utilization_ratio.vcn", PERCENT, "*"),
        _over("gpu_jpeg_busy_instantaneous", "engine_utilization_ratio.jpeg", PERCENT, "*"),
        mapped("gpu_prof_sm_active", "compute_active_ratio", PERCENT),
        mapped("gpu_prof_occupancy_percent", "compute_occupancy_ratio", PERCENT),
        mapped("gpu_prof_tensor_active_percent", "matrix_active_ratio", PERCENT),
        mapped("gpu_total_vram", "memory_size_bytes", MIB),
        mapped("gpu_total_memory", "memory_size_bytes", MIB),
        mapped("gpu_used_vram", "memory_used_bytes", MIB),
        mapped("gpu_used_memory", "memory_used_bytes", MIB),
        mapped("gpu_total_visible_vram", "memory_pool_size_bytes.visible", MIB),
        mapped("gpu_used_visible_vram", "memory_pool_used_bytes.visible", MIB),
        mapped("gpu_total_gtt", "memory_pool_size_bytes.gtt", MIB),
        mapped("gpu_used_gtt", "memory_pool_used_bytes.gtt", MIB),
        mapped("gpu_edge_temperature", "temperature_celsius.gpu"),
        mapped("gpu_junction_temperature", "temperature_celsius.junction"),
        mapped("gpu_memory_temperature", "temperature_celsius.memory"),
        mapped("gpu_hbm_temperature", "temperature_celsius.hbm{hbm_index}"),
        mapped("gpu_package_power", "power_watts"),
        mapped("gpu_average_package_power", "power_watts"),
        mapped("gpu_power_usage", "power_watts"),
        mapped("gpu_energy_consumed", "energy_joules_total.hardware", MICRO),
        _clock("gpu_clock", "clock_hertz.{clock_type}"),
        _clock("gpu_min_clock", "clock_limit_hertz.{clock_type}.min"),
        _clock("gpu_max_clock", "clock_limit_hertz.{clock_type}.max"),
        mapped("pcie_replay_count", "pcie_errors_total.replay"),
        mapped("pcie_recovery_count", "pcie_errors_total.recovery"),
        mapped("pcie_replay_rollover_count", "pcie_errors_total.replay_rollover"),
        mapped("pcie_nack_sent_count", "pcie_errors_total.nak_sent"),
        mapped("pcie_nac_sent_count", "pcie_errors_total.nak_sent"),
        mapped("pcie_nack_received_count", "pcie_errors_total.nak_received"),
        mapped("pcie_nac_received_count", "pcie_errors_total.nak_received"),
        _over("gpu_xgmi_link_rx", "interconnect_bytes_total.xgmi.receive", KIB, "*", Combine.SUM),
        _over("gpu_xgmi_link_tx", "interconnect_bytes_total.xgmi.transmit", KIB, "*", Combine.SUM),
        *_ECC,
        _violation("processor_hot_residency", "power_brake"),
        _violation("ppt_residency", "power"),
        _violation("socket_thermal_residency", "thermal_software"),
        _violation("vr_thermal_residency", "thermal_hardware"),
        _violation("hbm_thermal_residency", "memory_thermal"),
        _violation("low_utilization", "low_utilization"),
        FamilyMapping(name="gpu_health", target="health", states={1: "ok", 0: "failed"}),
    ),
)
