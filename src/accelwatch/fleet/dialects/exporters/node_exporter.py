"""node_exporter: the host's own families, and AMD's cards where its drm collector is on.

Only amdgpu has the files of that collector; a card is known by its number alone. The collector of NFS
mounts (`mountstats`) names the export, and in a family of its own where it is mounted.
"""

from collections.abc import Mapping

from accelwatch.fleet.dialects.base.table import (
    KIB,
    PERCENT,
    UNSCALED,
    Combine,
    Dialect,
    FamilyMapping,
    Labels,
    Scale,
)

# Block devices that are no disks, or whose traffic the disks under them count too.
NO_DISK = r"(loop|ram|zram|dm-|md|sr|fd)\d.*"
VIRTUAL_INTERFACE = (
    r"lo|(veth|docker|cali|tunl|br-|virbr|cni|flannel|kube-|vxlan|lxc|cilium|dummy|ifb|sit|gre|erspan"
    r"|ip6|ip_vti|nodelocaldns|tap|vnet|nerdctl|podman|teql).*"
)


_NEGATIVE: Scale = (-1, 1)
# Types of file systems that are the host's own.
_LOCAL = ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "jfs", "bcachefs", "vfat")
_NO_DISK = {"device": NO_DISK}
_VIRTUAL = {"device": VIRTUAL_INTERFACE}
_PORT = "{device}.{port}"
# Of other transports the exporter says 0, since the kernel does not count them.
_HAS_SLOTS = {"protocol": ("tcp", "udp")}
# Of the InfiniBand PortState.
_ACTIVE = 4.0
# node_exporter's name of a counter and the kernel's.
_PORT_ERRORS = (
    ("symbol_error_total", "symbol_error"),
    ("link_error_recovery_total", "link_error_recovery"),
    ("link_downed_total", "link_downed"),
    ("port_errors_received_total", "port_rcv_errors"),
    ("port_receive_remote_physical_errors_total", "port_rcv_remote_physical_errors"),
    ("port_receive_switch_relay_errors_total", "port_rcv_switch_relay_errors"),
    ("port_discards_transmitted_total", "port_xmit_discards"),
    ("port_constraint_errors_transmitted_total", "port_xmit_constraint_errors"),
    ("port_constraint_errors_received_total", "port_rcv_constraint_errors"),
    ("local_link_integrity_errors_total", "local_link_integrity_errors"),
    ("excessive_buffer_overrun_errors_total", "excessive_buffer_overrun_errors"),
    ("vl15_dropped_total", "VL15_dropped"),
    ("rnr_nak_retry_packets_received_total", "rnr_nak_retry_err"),
    ("local_ack_timeout_errors_total", "local_ack_timeout_err"),
    ("out_of_sequence_packets_received_total", "out_of_sequence"),
    ("packet_sequence_errors_total", "packet_seq_err"),
    ("implied_nak_seq_errors_total", "implied_nak_seq_err"),
    ("out_of_buffer_drops_total", "out_of_buffer"),
    ("req_cqes_errors_total", "req_cqe_error"),
    ("resp_cqes_errors_total", "resp_cqe_error"),
    ("req_remote_access_errors_total", "req_remote_access_errors"),
    ("roce_slow_restart_used_total", "roce_slow_restart"),  # `roce_slow_restart_total` is another
    ("rx_icrc_encapsulated_errors_total", "rx_icrc_encapsulated"),
    ("port_transmit_wait_total", "port_xmit_wait"),
    ("np_cnp_packets_sent_total", "np_cnp_sent"),
    ("np_ecn_marked_roce_packets_received_total", "np_ecn_marked_roce_packets"),
    ("rp_cnp_packets_handled_total", "rp_cnp_handled"),
    ("rp_cnp_ignored_packets_received_total", "rp_cnp_ignored"),
    ("duplicate_requests_packets_total", "duplicate_request"),
    ("roce_adp_retransmits_total", "roce_adp_retrans"),
    ("roce_adp_retransmits_timeout_total", "roce_adp_retrans_to"),
    ("efa_rx_drops_total", "rx_drops"),
    ("efa_retrans_packets_total", "retrans_pkts"),
    ("efa_retrans_timeout_events_total", "retrans_timeout_events"),
)


def _node(name: str, target: str, scale: Scale = UNSCALED) -> FamilyMapping:
    return FamilyMapping(name=f"node_{name}", target=target, scale=scale, verbatim=True)


def _difference(
    target: str, total: str, deduction: str, group: str
) -> tuple[FamilyMapping, FamilyMapping]:
    return (
        FamilyMapping(name=f"node_{total}", target=target, group=group),
        FamilyMapping(name=f"node_{deduction}", target=target, group=group, scale=_NEGATIVE),
    )


def _disk(name: str, target: str) -> FamilyMapping:
    return FamilyMapping(name=f"node_disk_{name}", target=target, without=_NO_DISK, verbatim=True)


def _filesystem(name: str, target: str) -> FamilyMapping:
    return FamilyMapping(
        name=f"node_filesystem_{name}",
        target=f"{target}.{{mountpoint}}",
        where={"fstype": _LOCAL},
        verbatim=True,
    )


def _network(name: str, target: str) -> FamilyMapping:
    return FamilyMapping(
        name=f"node_network_{name}", target=target, without=_VIRTUAL, verbatim=True
    )


def _rdma(name: str, target: str) -> FamilyMapping:
    return FamilyMapping(name=f"node_infiniband_{name}", target=target, verbatim=True)


def _operations(name: str, target: str, group: str = "", scale: Scale = UNSCALED) -> FamilyMapping:
    return FamilyMapping(
        name=f"node_mountstats_nfs_operations_{name}_total",
        target=f"{target}.{{export}}",
        over="*",
        combine=Combine.SUM,
        group=group,
        scale=scale,
        verbatim=True,
    )


def _each_operation(name: str, target: str) -> FamilyMapping:
    return FamilyMapping(
        name=f"node_mountstats_nfs_operations_{name}_total",
        target=f"{target}.{{export}}.{{operation}}",
        where={"operation": ("GETATTR", "READ", "WRITE")},
        over="*",
        combine=Combine.SUM,
        verbatim=True,
    )


def _transport(
    name: str, target: str, where: Mapping[str, tuple[str, ...]] | None = None
) -> FamilyMapping:
    return FamilyMapping(
        name=f"node_mountstats_nfs_transport_{name}",
        target=f"{target}.{{export}}",
        where=where or {},
        over="*",
        combine=Combine.SUM,
        verbatim=True,
    )


_KERNEL = (
    FamilyMapping(
        name="node_cpu_seconds_total",
        target="host_cpu_seconds_total.{mode}",
        over="cpu",
        combine=Combine.SUM,
    ),
    FamilyMapping(
        name="node_cpu_seconds_total",
        target="host_cpu_count",
        where={"mode": ("idle",)},
        over="cpu",
        combine=Combine.COUNT,
    ),
    *_difference("host_uptime_seconds", "time_seconds", "boot_time_seconds", "uptime"),
    _node("load1", "host_load_average.1"),
    _node("load5", "host_load_average.5"),
    _node("load15", "host_load_average.15"),
    _node("procs_blocked", "host_blocked_processes"),
    _node("procs_running", "host_runnable_processes"),
    _node("intr_total", "host_interrupts_total"),
    _node("context_switches_total", "host_context_switches_total"),
    _node("vmstat_pgpgin", "host_paging_bytes_total.read", KIB),
    _node("vmstat_pgpgout", "host_paging_bytes_total.write", KIB),
    _node("vmstat_oom_kill", "host_out_of_memory_kills_total"),
    _node("memory_MemTotal_bytes", "host_memory_size_bytes"),
    _node("memory_MemAvailable_bytes", "host_memory_available_bytes"),
    *_difference(
        "host_memory_used_bytes", "memory_MemTotal_bytes", "memory_MemAvailable_bytes", "memory"
    ),
    _node("memory_SwapTotal_bytes", "host_swap_size_bytes"),
    *_difference("host_swap_used_bytes", "memory_SwapTotal_bytes", "memory_SwapFree_bytes", "swap"),
    *(
        _node(f"pressure_{name}_seconds_total", f"host_pressure_stall_seconds_total.{target}")
        for name, target in (
            ("cpu_waiting", "cpu.some"),
            ("io_waiting", "io.some"),
            ("io_stalled", "io.full"),
            ("memory_waiting", "memory.some"),
            ("memory_stalled", "memory.full"),
            ("irq_stalled", "irq.full"),
        )
    ),
    _node("timex_offset_seconds", "host_clock_offset_seconds"),
    _node("timex_sync_status", "host_clock_synchronized"),
)

_STORAGE = (
    _disk("read_bytes_total", "host_disk_bytes_total.{device}.read"),
    _disk("written_bytes_total", "host_disk_bytes_total.{device}.write"),
    _disk("io_time_seconds_total", "host_disk_io_seconds_total.{device}"),
    _filesystem("size_bytes", "host_filesystem_size_bytes"),
    _filesystem("avail_bytes", "host_filesystem_available_bytes"),
)

_NETWORK = (
    _network("carrier", "host_network_up.{device}"),
    _network("up", "host_network_up.{device}"),
    _network("carrier_changes_total", "host_network_carrier_changes_total.{device}"),
    *(
        row
        for direction in ("receive", "transmit")
        for row in (
            _network(
                f"{direction}_bytes_total", f"host_network_bytes_total.{{device}}.{direction}"
            ),
            _network(
                f"{direction}_errs_total",
                f"host_network_errors_total.{{device}}.{direction}.error",
            ),
            _network(
                f"{direction}_drop_total", f"host_network_errors_total.{{device}}.{direction}.drop"
            ),
        )
    ),
    FamilyMapping(
        name="node_infiniband_state_id",
        target=f"host_rdma_port_up.{_PORT}",
        equals=_ACTIVE,
        verbatim=True,
    ),
    _rdma("rate_bytes_per_second", f"host_rdma_port_rate_bytes_per_second.{_PORT}"),
    _rdma("port_data_received_bytes_total", f"host_rdma_bytes_total.{_PORT}.receive"),
    _rdma("port_data_transmitted_bytes_total", f"host_rdma_bytes_total.{_PORT}.transmit"),
    *(_rdma(name, f"host_rdma_errors_total.{_PORT}.{ours}") for name, ours in _PORT_ERRORS),
)

# Without `mountstats` the kernel's counts of all mounts together.
_NFS = (
    _operations("requests", "host_nfs_requests_total"),
    _operations("transmissions", "host_nfs_retransmissions_total", "retransmissions"),
    _operations("requests", "host_nfs_retransmissions_total", "retransmissions", _NEGATIVE),
    _operations("response_time_seconds", "host_nfs_round_trip_seconds_total"),
    _operations("request_time_seconds", "host_nfs_execution_seconds_total"),
    _operations("queue_time_seconds", "host_nfs_queue_seconds_total"),
    _each_operation("requests", "host_nfs_operation_requests_total"),
    _each_operation("queue_time_seconds", "host_nfs_operation_queue_seconds_total"),
    _each_operation("response_time_seconds", "host_nfs_operation_round_trip_seconds_total"),
    _each_operation("request_time_seconds", "host_nfs_operation_execution_seconds_total"),
    _transport("backlog_queue_total", "host_nfs_backlog_total"),
    _transport("sends_total", "host_nfs_sends_total"),
    _transport("receives_total", "host_nfs_receives_total"),
    _transport("pending_queue_total", "host_nfs_pending_total", _HAS_SLOTS),
    _transport("maximum_rpc_slots", "host_nfs_slots_peak", _HAS_SLOTS),
    _node("nfs_rpcs_total", "host_nfs_requests_total.all"),
    _node("nfs_rpc_retransmissions_total", "host_nfs_retransmissions_total.all"),
)


def _drm(name: str, target: str, scale: Scale = UNSCALED) -> FamilyMapping:
    return FamilyMapping(name=f"node_drm_{name}", target=target, scale=scale)


NODE_EXPORTER = Dialect(
    name="node_exporter",
    vendor="amd",
    fingerprints=("node_drm_gpu_busy_percent", "node_drm_memory_vram_used_bytes"),
    alive=("node_exporter_build_info", "node_cpu_seconds_total", "node_memory_MemTotal_bytes"),
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
    host=(*_KERNEL, *_STORAGE, *_NETWORK, *_NFS),
    host_names={"node_mountstats_nfs_mountpoint_info": ("export", "mountpoint")},
)
