"""The host's own quantities: the signals that explain a slow or silent node."""

from accelwatch.schema.metrics import FLAG, Bounds, Kind, Metric, Scope, Tier


def _host(
    key: str,
    kind: Kind,
    unit: str,
    text: str,
    *labels: str,
    primary: tuple[tuple[str, ...], ...] = (),
    bounds: Bounds | None = None,
) -> Metric:
    return Metric(
        key,
        kind,
        Tier.OPT_IN,
        unit,
        text,
        labels=labels,
        group="host",
        scope=Scope.NODE,
        primary=primary,
        bounds=bounds,
    )


_GAUGE, _COUNTER = Kind.GAUGE, Kind.COUNTER
_COUNT: Bounds = (0.0, 1e7)
_MEMORY: Bounds = (0.0, 2.0**50)
"""1 PiB."""
_STORAGE: Bounds = (0.0, 1.8e19)
"""Network file systems without an end say 8 EiB."""
_WORK: Bounds = (0.0, 1e15)
"""Seconds of many processors or requests at once."""

METRICS: tuple[Metric, ...] = (
    _host("host_uptime_seconds", _GAUGE, "seconds", "Time since the host booted."),
    _host("host_cpu_count", _GAUGE, "", "Logical processors that are online.", bounds=_COUNT),
    _host(
        "host_cpu_utilization_ratio",
        _GAUGE,
        "ratio",
        "Busy share of all processors, averaged over the last sample interval.",
    ),
    _host(
        "host_cpu_seconds_total",
        _COUNTER,
        "seconds",
        "Processor time by mode, all processors together.",
        "mode",
        bounds=_WORK,
    ),
    _host(
        "host_load_average",
        _GAUGE,
        "",
        "Load average by window in minutes.",
        "window",
        primary=(("1",),),
        bounds=_COUNT,
    ),
    _host(
        "host_memory_size_bytes", _GAUGE, "bytes", "Usable main memory of the host.", bounds=_MEMORY
    ),
    _host(
        "host_memory_available_bytes",
        _GAUGE,
        "bytes",
        "Main memory that new work can get without swapping.",
        bounds=_MEMORY,
    ),
    _host(
        "host_memory_used_bytes",
        _GAUGE,
        "bytes",
        "Main memory in use, caches that can be dropped excluded.",
        bounds=_MEMORY,
    ),
    _host("host_swap_size_bytes", _GAUGE, "bytes", "Swap space of the host.", bounds=_MEMORY),
    _host("host_swap_used_bytes", _GAUGE, "bytes", "Swap space in use.", bounds=_MEMORY),
    _host(
        "host_pressure_ratio",
        _GAUGE,
        "ratio",
        "Share of the last 60 seconds in which tasks waited for a resource.",
        "resource",
        "share",
    ),
    _host(
        "host_pressure_stall_seconds_total",
        _COUNTER,
        "seconds",
        "Time in which tasks waited for a resource.",
        "resource",
        "share",
    ),
    _host(
        "host_blocked_processes", _GAUGE, "", "Processes in uninterruptible sleep.", bounds=_COUNT
    ),
    _host(
        "host_disk_bytes_total",
        _COUNTER,
        "bytes",
        "Bytes moved by a block device.",
        "disk",
        "direction",
    ),
    _host(
        "host_disk_io_seconds_total",
        _COUNTER,
        "seconds",
        "Time in which a block device had work.",
        "disk",
    ),
    _host(
        "host_filesystem_size_bytes",
        _GAUGE,
        "bytes",
        "Size of a local file system.",
        "mountpoint",
        bounds=_STORAGE,
    ),
    _host(
        "host_filesystem_available_bytes",
        _GAUGE,
        "bytes",
        "Space of a local file system open to ordinary users.",
        "mountpoint",
        bounds=_STORAGE,
    ),
    _host(
        "host_network_up",
        _GAUGE,
        "",
        "Whether a network interface has a carrier.",
        "interface",
        bounds=FLAG,
    ),
    _host(
        "host_network_carrier_changes_total",
        _COUNTER,
        "events",
        "Carrier changes of a network interface.",
        "interface",
    ),
    _host(
        "host_network_bytes_total",
        _COUNTER,
        "bytes",
        "Bytes moved by a network interface.",
        "interface",
        "direction",
    ),
    _host(
        "host_network_errors_total",
        _COUNTER,
        "events",
        "Packets lost to errors or drops on a network interface.",
        "interface",
        "direction",
        "type",
    ),
    _host(
        "host_rdma_port_up",
        _GAUGE,
        "",
        "Whether an RDMA port is active.",
        "rdma_device",
        "port",
        bounds=FLAG,
    ),
    _host(
        "host_rdma_port_rate_bytes_per_second",
        _GAUGE,
        "bytes/s",
        "Signalling rate of an RDMA port.",
        "rdma_device",
        "port",
    ),
    _host(
        "host_rdma_bytes_total",
        _COUNTER,
        "bytes",
        "Bytes moved by an RDMA port.",
        "rdma_device",
        "port",
        "direction",
    ),
    _host(
        "host_rdma_errors_total",
        _COUNTER,
        "events",
        "Errors of an RDMA port by the kernel's counter name.",
        "rdma_device",
        "port",
        "type",
    ),
    _host(
        "host_nfs_requests_total", _COUNTER, "events", "RPC requests of an NFS mount.", "mountpoint"
    ),
    _host(
        "host_nfs_retransmissions_total",
        _COUNTER,
        "events",
        "RPC retransmissions of an NFS mount.",
        "mountpoint",
    ),
    _host(
        "host_nfs_round_trip_seconds_total",
        _COUNTER,
        "seconds",
        "Time RPC requests of an NFS mount waited for the server.",
        "mountpoint",
        bounds=_WORK,
    ),
    _host(
        "host_nfs_execution_seconds_total",
        _COUNTER,
        "seconds",
        "Time RPC requests of an NFS mount took from queueing to completion.",
        "mountpoint",
        bounds=_WORK,
    ),
    _host(
        "host_nfs_backlog_total",
        _COUNTER,
        "events",
        "Requests found waiting for a transport slot, summed at each send.",
        "mountpoint",
    ),
    _host(
        "host_clock_offset_seconds",
        _GAUGE,
        "seconds",
        "Estimated offset of the system clock as the kernel knows it.",
        bounds=(-4e9, 4e9),
    ),
    _host(
        "host_clock_synchronized",
        _GAUGE,
        "",
        "Whether the kernel believes the system clock is synchronised.",
        bounds=FLAG,
    ),
)
