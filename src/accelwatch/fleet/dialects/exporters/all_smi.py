"""all-smi: one text for every vendor's devices; percentages and fractions are mixed.

The label `instance` is the host's name and is not used. A device that is lost has no row, and the index
of the later ones moves up. Where a driver gives no uuid, the label names an address on the node. Its
mock server writes some families under other names than the exporter itself; both are read.
"""

from accelwatch.fleet.dialects.base.table import (
    MEGA,
    MIG_MODE,
    PERCENT,
    UNSCALED,
    Dialect,
    Fact,
    FamilyMapping,
    Labels,
    Partition,
    Processes,
    ProcessRow,
    Scale,
)

# 1 while the label `status` is the vendor's word for normal.
_STATUS: dict[float, str | None] = {1: "ok", 0: "degraded"}


def _smi(name: str, target: str, scale: Scale = UNSCALED) -> FamilyMapping:
    return FamilyMapping(name=f"all_smi_{name}", target=target, scale=scale)


def _dla(name: str, target: str, scale: Scale = UNSCALED) -> tuple[FamilyMapping, FamilyMapping]:
    """Of one accelerator beside the GPU, or of several with a number."""
    single = FamilyMapping(name=f"all_smi_{name}", target=target, scale=scale, where={"dla": ("",)})
    return single, _smi(name, target.replace("dla", "dla{dla}"), scale)


def _mount(name: str, target: str) -> FamilyMapping:
    return FamilyMapping(name=f"all_smi_{name}", target=f"{target}.{{mount_point}}", verbatim=True)


_GPU = (
    _smi("gpu_utilization", "utilization_ratio", PERCENT),
    _smi("gpu_memory_controller_activity", "memory_controller_utilization_ratio", PERCENT),
    _smi("gpu_memory_bandwidth_utilization", "memory_controller_utilization_ratio"),
    _smi("gpu_sm_occupancy", "compute_occupancy_ratio"),
    _smi("gpu_engine_utilization", "engine_utilization_ratio.{engine}", PERCENT),
    _smi("gpu_memory_total_bytes", "memory_size_bytes"),
    _smi("gpu_memory_used_bytes", "memory_used_bytes"),
    _smi("gpu_temperature_celsius", "temperature_celsius.gpu"),
    _smi("gpu_hotspot_temperature_celsius", "temperature_celsius.junction"),
    _smi("gpu_memory_temperature_celsius", "temperature_celsius.memory"),
    *(
        _smi(f"gpu_temperature_threshold_{limit}_celsius", f"temperature_limit_celsius.gpu.{limit}")
        for limit in ("slowdown", "shutdown", "max_operating", "acoustic")
    ),
    _smi("gpu_power_consumption_watts", "power_watts"),
    _smi("gpu_card_power_watts", "power_component_watts.card"),
    _smi("ane_power_watts", "power_component_watts.ane"),
    _smi("gpu_power_limit_current_watts", "power_limit_watts.enforced"),
    _smi("gpu_power_limit_max_watts", "power_limit_watts.max"),
    _smi("energy_consumed_joules_total", "energy_joules_total.integrated"),
    _smi("gpu_frequency_mhz", "clock_hertz.graphics", MEGA),
    _smi("gpu_clock_memory_current_mhz", "clock_hertz.memory", MEGA),
    _smi("gpu_clock_domain_current_mhz", "clock_hertz.{domain}", MEGA),
    _smi("gpu_clock_graphics_max_mhz", "clock_limit_hertz.graphics.max", MEGA),
    _smi("gpu_clock_memory_max_mhz", "clock_limit_hertz.memory.max", MEGA),
    _smi("gpu_fan_speed_rpm", "fan_speed_rpm.0"),
    _smi("gpu_fan_duty_cycle", "fan_speed_ratio.0", PERCENT),
    _smi("gpu_performance_state", "performance_state"),
    _smi("gpu_pcie_gen_current", "pcie_link_generation.current"),
    _smi("gpu_pcie_width_current", "pcie_link_width_lanes.current"),
    *_dla("dla_utilization", "engine_utilization_ratio.dla", PERCENT),
    *_dla("dla_frequency_mhz", "clock_hertz.dla", MEGA),
    *_dla("dla_max_frequency_mhz", "clock_limit_hertz.dla.max", MEGA),
    *_dla("dla_power_watts", "power_component_watts.dla"),
    *_dla("dla_temperature_celsius", "temperature_celsius.dla"),
)

_PARTITIONS = (
    FamilyMapping(name="all_smi_gpu_mig_mode", target="partitioning_enabled", flag=True),
    _smi("mig_instance_utilization_gpu", "utilization_ratio", PERCENT),
    _smi("mig_instance_utilization_memory", "memory_controller_utilization_ratio", PERCENT),
    _smi("mig_instance_memory_total_bytes", "memory_size_bytes"),
    _smi("mig_instance_memory_used_bytes", "memory_used_bytes"),
    _smi("vgpu_utilization", "utilization_ratio", PERCENT),
    _smi("vgpu_memory_utilization", "memory_controller_utilization_ratio", PERCENT),
    _smi("vgpu_memory_total_bytes", "memory_size_bytes"),
    _smi("vgpu_memory_used_bytes", "memory_used_bytes"),
)

_NPU = (
    _smi("npu_core_utilization", "compute_active_ratio", PERCENT),
    _smi("npu_computation_utilization", "compute_active_ratio", PERCENT),
    _smi("npu_copy_utilization", "engine_utilization_ratio.copy", PERCENT),
    _smi("npu_soc_utilization", "engine_utilization_ratio.soc", PERCENT),
    _smi("npu_memory_bandwidth_percent", "memory_bandwidth_utilization_ratio", PERCENT),
    _smi("npu_temperature_celsius", "temperature_celsius.gpu"),
    _smi("npu_power_watts", "power_watts"),
    _smi("npu_power_draw_watts", "power_watts"),
    _smi("npu_error_count", "error_events_total.npu_error.other"),
    _smi("gaudi_aip_utilization_percent", "utilization_ratio", PERCENT),
    _smi("gaudi_aip_utilization", "utilization_ratio", PERCENT),
    _smi("gaudi_memory_bandwidth_percent", "memory_bandwidth_utilization_ratio", PERCENT),
    _smi("gaudi_memory_total_bytes", "memory_size_bytes"),
    _smi("gaudi_memory_used_bytes", "memory_used_bytes"),
    _smi("gaudi_temperature_celsius", "temperature_celsius.gpu"),
    _smi("gaudi_power_draw_watts", "power_watts"),
    _smi("gaudi_power_max_watts", "power_limit_watts.max"),
    _smi("tpu_utilization_percent", "utilization_ratio", PERCENT),
    _smi("tpu_memory_total_bytes", "memory_size_bytes"),
    _smi("tpu_memory_used_bytes", "memory_used_bytes"),
    _smi("tpu_power_max_watts", "power_limit_watts.max"),
    _smi("furiosa_utilization_percent", "utilization_ratio", PERCENT),
    _smi("furiosa_compute_utilization_percent", "compute_active_ratio", PERCENT),
    _smi("furiosa_memory_total_bytes", "memory_size_bytes"),
    _smi("furiosa_memory_used_bytes", "memory_used_bytes"),
    _smi("furiosa_clock_mhz", "clock_hertz.npu", MEGA),
    _smi("furiosa_memory_clock_mhz", "clock_hertz.memory", MEGA),
    FamilyMapping(name="all_smi_furiosa_status", target="health", states=_STATUS),
    FamilyMapping(name="all_smi_rebellions_status", target="health", states=_STATUS),
)

_TENSTORRENT = (
    *(
        row
        for sensor, ours in (
            ("asic", "gpu"),
            ("vreg", "vr"),
            ("inlet", "inlet"),
            ("outlet1", "outlet1"),
            ("outlet2", "outlet2"),
        )
        for row in (
            _smi(f"tenstorrent_{sensor}_temperature_celsius", f"temperature_celsius.{ours}"),
            _smi(f"temperature_{sensor}_celsius", f"temperature_celsius.{ours}"),
        )
    ),
    *(
        row
        for before in ("tenstorrent_", "")
        for row in (
            _smi(f"{before}aiclk_mhz", "clock_hertz.npu", MEGA),
            _smi(f"{before}axiclk_mhz", "clock_hertz.fabric", MEGA),
            _smi(f"{before}arcclk_mhz", "clock_hertz.soc", MEGA),
            _smi(f"{before}voltage_volts", "voltage_volts.core"),
            _smi(f"{before}current_amperes", "current_amperes.core"),
        )
    ),
    _smi("tenstorrent_tdp_limit_watts", "power_limit_watts.max"),
    _smi("tenstorrent_thermal_limit_celsius", "temperature_limit_celsius.gpu.slowdown"),
    _smi("tenstorrent_fan_rpm", "fan_speed_rpm.0"),
    _smi("tenstorrent_fan_speed_percent", "fan_speed_ratio.0", PERCENT),
    _smi("tenstorrent_pcie_generation", "pcie_link_generation.current"),
    _smi("tenstorrent_pcie_width", "pcie_link_width_lanes.current"),
)

_HOST = (
    _smi("cpu_utilization", "host_cpu_utilization_ratio", PERCENT),
    _smi("cpu_thread_count", "host_cpu_count"),
    _smi("memory_total_bytes", "host_memory_size_bytes"),
    _smi("memory_used_bytes", "host_memory_used_bytes"),
    _smi("memory_available_bytes", "host_memory_available_bytes"),
    _smi("swap_total_bytes", "host_swap_size_bytes"),
    _smi("swap_used_bytes", "host_swap_used_bytes"),
    _mount("disk_total_bytes", "host_filesystem_size_bytes"),
    _mount("disk_available_bytes", "host_filesystem_available_bytes"),
)

ALL_SMI = Dialect(
    name="all-smi",
    vendor="",
    fingerprints=("all_smi_gpu_utilization", "all_smi_gpu_info"),
    alive=("all_smi_up",),
    device_name="gpu",
    labels=Labels(
        uuid=("gpu_uuid", "uuid", "npu_uuid"),
        pci=("bdf", "pci_bus"),
        index=("gpu_index", "index", "npu_index"),
        model=("gpu", "npu"),
        driver=("driver_version",),
        kind=("type", "device_type"),
        npu=("npu_uuid", "npu_index"),
        library=("lib_name",),
        memory=("memory_type", "variant"),
        positional=(
            r"(?:AMD-|Intel-)?GPU-(?P<pci>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])",
            r"(?:AMD-|Intel-)?GPU-(?:card)?[0-9]{1,3}",
            r"TPU-(?:[0-9]{1,4}|VM)",
            r"JetsonGPU|AppleSiliconGPU|PCI\\VEN_.*",
        ),
    ),
    partitions=(
        Partition(
            label="gpu_instance_id",
            within="compute_instance_id",
            profile=("mig_profile",),
            uuid=("mig_uuid",),
        ),
        Partition(label="mig_instance", name="mig{}", profile=("mig_profile",), uuid=("mig_uuid",)),
        Partition(
            label="vgpu_id",
            technology="vgpu",
            name="vgpu{}",
            profile=("vgpu_type",),
            uuid=("vgpu_uuid",),
        ),
    ),
    identity=("all_smi_gpu_info", "all_smi_neuron_device_info"),
    facts={
        "all_smi_gpu_numa_node_id": Fact(field="numa_node"),
        "all_smi_gpu_mig_mode": MIG_MODE,
    },
    remarks={"all_smi_npu_status": "the exporter says that the NPU runs (status {})"},
    processes=Processes(
        rows=(
            ProcessRow(name="all_smi_process_memory_used_bytes", field="gpu_memory_bytes"),
            ProcessRow(
                name="all_smi_process_cpu_percent", field="cpu_utilization_ratio", scale=PERCENT
            ),
            ProcessRow(name="all_smi_process_start_time_seconds", field="start_time", low=1e9),
        ),
        uuid=("device_uuid", "gpu_uuid"),
        command="name",
        user="user",
    ),
    rows=(*_GPU, *_PARTITIONS, *_NPU, *_TENSTORRENT),
    host=_HOST,
)
