"""Exporters of several vendors' devices: all-smi, node_exporter's drm collector, Red Hat's rules."""

from accelwatch.fleet.dialects.table import (
    MEGA,
    ONE,
    PERCENT,
    Dialect,
    Labels,
    Processes,
    ProcessRow,
    Row,
    Scale,
)


def _smi(name: str, target: str, scale: Scale = ONE) -> Row:
    return Row(name=f"all_smi_{name}", target=target, scale=scale)


ALL_SMI = Dialect(
    name="all-smi",
    vendor="",
    fingerprints=("all_smi_gpu_utilization", "all_smi_gpu_info"),
    device_name="gpu",
    labels=Labels(
        uuid=("gpu_uuid", "uuid", "npu_uuid"),
        index=("gpu_index", "index", "npu_index"),
        model=("gpu", "npu"),
        driver=("driver_version",),
    ),
    identity=("all_smi_gpu_info",),
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
    rows=(
        _smi("gpu_utilization", "utilization_ratio", PERCENT),
        _smi("gpu_memory_bandwidth_utilization", "memory_controller_utilization_ratio"),
        _smi("gpu_sm_occupancy", "compute_occupancy_ratio"),
        _smi("gpu_memory_total_bytes", "memory_size_bytes"),
        _smi("gpu_memory_used_bytes", "memory_used_bytes"),
        _smi("gpu_temperature_celsius", "temperature_celsius.gpu"),
        _smi(
            "gpu_temperature_threshold_slowdown_celsius", "temperature_limit_celsius.gpu.slowdown"
        ),
        _smi(
            "gpu_temperature_threshold_shutdown_celsius", "temperature_limit_celsius.gpu.shutdown"
        ),
        _smi(
            "gpu_temperature_threshold_max_operating_celsius",
            "temperature_limit_celsius.gpu.max_operating",
        ),
        _smi("gpu_power_consumption_watts", "power_watts"),
        _smi("gpu_power_limit_current_watts", "power_limit_watts.enforced"),
        _smi("gpu_power_limit_max_watts", "power_limit_watts.max"),
        _smi("energy_consumed_joules_total", "energy_joules_total.integrated"),
        _smi("gpu_frequency_mhz", "clock_hertz.graphics", MEGA),
        _smi("gpu_clock_graphics_max_mhz", "clock_limit_hertz.graphics.max", MEGA),
        _smi("gpu_clock_memory_max_mhz", "clock_limit_hertz.memory.max", MEGA),
        _smi("gpu_fan_speed_rpm", "fan_speed_rpm.0"),
        _smi("gpu_performance_state", "performance_state"),
        _smi("gpu_pcie_gen_current", "pcie_link_generation.current"),
        _smi("gpu_pcie_width_current", "pcie_link_width_lanes.current"),
    ),
)
"""Percentages and fractions are mixed; the label `instance` is the host's name and is not used."""


def _drm(name: str, target: str, scale: Scale = ONE) -> Row:
    return Row(name=f"node_drm_{name}", target=target, scale=scale)


NODE_DRM = Dialect(
    name="node_exporter",
    vendor="amd",
    fingerprints=("node_drm_gpu_busy_percent", "node_drm_memory_vram_used_bytes"),
    labels=Labels(name=("card",), namespace=(), pod=(), container=(), pod_uid=()),
    rows=(
        _drm("gpu_busy_percent", "utilization_ratio", PERCENT),
        _drm("memory_vram_size_bytes", "memory_size_bytes"),
        _drm("memory_vram_total_bytes", "memory_size_bytes"),
        _drm("memory_vram_used_bytes", "memory_used_bytes"),
        _drm("memory_vis_vram_size_bytes", "memory_pool_size_bytes.visible"),
        _drm("memory_vis_vram_used_bytes", "memory_pool_used_bytes.visible"),
        _drm("memory_gtt_size_bytes", "memory_pool_size_bytes.gtt"),
        _drm("memory_gtt_used_bytes", "memory_pool_used_bytes.gtt"),
    ),
)
"""Only amdgpu has these files; a card is known by its number alone."""


def _hertz(name: str, domain: str) -> tuple[Row, Row]:
    """Published rules call megahertz hertz: a number that small is not hertz."""
    return (
        Row(name=name, target=f"clock_hertz.{domain}", scale=MEGA, high=20_000),
        Row(name=name, target=f"clock_hertz.{domain}", low=1e6),
    )


def _rule(name: str, target: str, scale: Scale = ONE) -> Row:
    return Row(name=f"accelerator_{name}", target=target, scale=scale)


RED_HAT = Dialect(
    name="red-hat",
    vendor="",
    fingerprints=("accelerator_gpu_utilization", "accelerator_memory_used_bytes"),
    device_name="gpu",
    labels=Labels(
        uuid=("UUID", "uuid", "gpu_uuid"),
        pci=("pci_bus_id", "pci_bdf"),
        serial=("serial_number", "Serial"),
        index=("gpu", "gpu_id"),
        name=("device",),
        model=("modelName", "model_name", "card_series", "card_model"),
    ),
    rows=(
        _rule("gpu_utilization", "utilization_ratio", PERCENT),
        _rule("memory_total_bytes", "memory_size_bytes"),
        _rule("memory_used_bytes", "memory_used_bytes"),
        _rule("temperature_celsius", "temperature_celsius.gpu"),
        _rule("temperature_celcius", "temperature_celsius.gpu"),
        _rule("power_usage_watts", "power_watts"),
        *_hertz("accelerator_sm_clock_hertz", "sm"),
        *_hertz("accelerator_memory_clock_hertz", "memory"),
    ),
)
"""Recording rules over other exporters, so the labels are the source's."""
