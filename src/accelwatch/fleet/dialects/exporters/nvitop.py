"""nvitop-exporter: NVIDIA devices, their processes and the host, with units at the end of names.

What a device does not have is NaN. Of a lost device every number is NaN, its uuid is `N/A`, and an error
replaces its model. Commands have all arguments.
"""

from accelwatch.fleet.dialects.base.table import (
    MEGA,
    MIB,
    PERCENT,
    UNSCALED,
    Dialect,
    FamilyMapping,
    Labels,
    Processes,
    ProcessRow,
    Scale,
)
from accelwatch.fleet.dialects.exporters.node_exporter import NO_DISK, VIRTUAL_INTERFACE


def _gpu(name: str, target: str, scale: Scale = UNSCALED) -> FamilyMapping:
    return FamilyMapping(name=f"gpu_{name}", target=target, scale=scale)


def _host(name: str, target: str, scale: Scale = UNSCALED) -> FamilyMapping:
    return FamilyMapping(name=f"host_{name}", target=target, scale=scale, verbatim=True)


def _interface(name: str, direction: str) -> FamilyMapping:
    return FamilyMapping(
        name=f"host_{name}",
        target=f"host_network_bytes_total.{{interface}}.{direction}",
        scale=MIB,
        without={"interface": VIRTUAL_INTERFACE},
        verbatim=True,
    )


def _disk(name: str, direction: str) -> FamilyMapping:
    return FamilyMapping(
        name=f"host_{name}",
        target=f"host_disk_bytes_total.{{partition}}.{direction}",
        scale=MIB,
        without={"partition": NO_DISK},
        verbatim=True,
    )


# Its load averages are percentages of the processors' number, which it does not export.
NVITOP = Dialect(
    name="nvitop-exporter",
    vendor="nvidia",
    fingerprints=("gpu_utilization_Percentage", "gpu_memory_total_MiB"),
    alive=("nvitop_info",),
    broken="ERROR:",
    labels=Labels(uuid=("uuid",), index=("index",), model=("devicename",)),
    identity=(
        "gpu_memory_free_MiB",
        "gpu_memory_percent_Percentage",
        "gpu_nvlink_mean_tx_throughput_MiBps",
        "gpu_nvlink_mean_rx_throughput_MiBps",
    ),
    rows=(
        _gpu("utilization_Percentage", "utilization_ratio", PERCENT),
        _gpu("memory_utilization_Percentage", "memory_controller_utilization_ratio", PERCENT),
        _gpu("encoder_utilization_Percentage", "engine_utilization_ratio.encoder", PERCENT),
        _gpu("decoder_utilization_Percentage", "engine_utilization_ratio.decoder", PERCENT),
        _gpu("memory_total_MiB", "memory_size_bytes", MIB),
        _gpu("memory_used_MiB", "memory_used_bytes", MIB),
        _gpu("clock_graphics_MHz", "clock_hertz.graphics", MEGA),
        _gpu("clock_sm_MHz", "clock_hertz.sm", MEGA),
        _gpu("clock_memory_MHz", "clock_hertz.memory", MEGA),
        _gpu("clock_video_MHz", "clock_hertz.video", MEGA),
        _gpu("power_usage_W", "power_watts"),
        _gpu("power_limit_W", "power_limit_watts.enforced"),
        _gpu("temperature_C", "temperature_celsius.gpu"),
        _gpu("fan_speed_Percentage", "fan_speed_ratio.0", PERCENT),
        _gpu("pcie_tx_throughput_MiBps", "pcie_throughput_bytes_per_second.transmit", MIB),
        _gpu("pcie_rx_throughput_MiBps", "pcie_throughput_bytes_per_second.receive", MIB),
        _gpu(
            "nvlink_total_tx_throughput_MiBps",
            "interconnect_throughput_bytes_per_second.nvlink.transmit",
            MIB,
        ),
        _gpu(
            "nvlink_total_rx_throughput_MiBps",
            "interconnect_throughput_bytes_per_second.nvlink.receive",
            MIB,
        ),
    ),
    processes=Processes(
        rows=(
            ProcessRow(name="process_gpu_memory_MiB", field="gpu_memory_bytes", scale=MIB),
            ProcessRow(
                name="process_gpu_sm_utilization_Percentage",
                field="utilization_ratio",
                scale=PERCENT,
            ),
            ProcessRow(name="process_rss_memory_MiB", field="host_memory_bytes", scale=MIB),
            ProcessRow(
                name="process_cpu_percent_Percentage", field="cpu_utilization_ratio", scale=PERCENT
            ),
        ),
        info="process_info_info",
        shown_by=("nvitop_info",),
        uuid=("uuid",),
        command="command",
        user="username",
    ),
    host=(
        _host("uptime_Second", "host_uptime_seconds"),
        _host("cpu_percent_Percentage", "host_cpu_utilization_ratio", PERCENT),
        _host("virtual_memory_total_MiB", "host_memory_size_bytes", MIB),
        _host("virtual_memory_used_MiB", "host_memory_used_bytes", MIB),
        _host("swap_memory_total_MiB", "host_swap_size_bytes", MIB),
        _host("swap_memory_used_MiB", "host_swap_used_bytes", MIB),
        _interface("net_io_tx_data_MiB", "transmit"),
        _interface("net_io_rx_data_MiB", "receive"),
        _disk("disk_io_read_data_MiB", "read"),
        _disk("disk_io_write_data_MiB", "write"),
        _host("disk_usage_total_MiB", "host_filesystem_size_bytes.{mountpoint}", MIB),
        _host("disk_usage_free_MiB", "host_filesystem_available_bytes.{mountpoint}", MIB),
    ),
)
