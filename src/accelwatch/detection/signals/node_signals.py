"""The signals of a node, family by family; its interfaces, mounts and ports folded."""

from accelwatch.detection.signals.signal import ANY, Direction, Fold, Form, SignalRow, faults

_GIB = float(2**30)

_HOST = (
    # Recorded to 0.001; what else a host does moves it by a hundredth.
    SignalRow(("host_cpu_utilization_ratio",), "host", step=0.01, relative=0.05),
    # Processes differ by some from sample to sample, so does what is derived from them.
    SignalRow(("host_load_average", "5"), "host", step=1.0, relative=0.05),
    SignalRow(("host_runnable_processes",), "host", step=2.0, relative=0.05),
    SignalRow(
        ("host_blocked_processes",), "host", direction=Direction.HIGH, step=2.0, relative=0.1
    ),
    # Interrupts and switches a second: a healthy host varies by 5-10 % between samples.
    SignalRow(("host_interrupts_total",), "host", Form.RATE, step=100.0, relative=0.05),
    SignalRow(("host_context_switches_total",), "host", Form.RATE, step=100.0, relative=0.05),
    # Page caches come and go by gigabytes.
    SignalRow(
        ("host_memory_available_bytes",),
        "host",
        direction=Direction.LOW,
        step=4 * _GIB,
        relative=0.02,
    ),
    SignalRow(("host_swap_used_bytes",), "host", direction=Direction.HIGH, step=0.25 * _GIB),
    # 1 MiB/s of page-out is the noise of a host at rest.
    SignalRow(("host_paging_bytes_total", "out"), "host", Form.RATE, Direction.HIGH, step=2.0**20),
    # Shares of ten seconds, recorded to 0.01.
    SignalRow(("host_pressure_ratio", "cpu", "some"), "host", direction=Direction.HIGH, step=0.02),
    SignalRow(
        ("host_pressure_ratio", "memory", "some"), "host", direction=Direction.HIGH, step=0.01
    ),
    # Seconds since boot: only a fall of it means something, by the structural channel.
    SignalRow(
        ("host_uptime_seconds",), "host", direction=Direction.LOW, step=3600.0, inventory=True
    ),
    # Clocks in step are within milliseconds.
    SignalRow(("host_clock_offset_seconds",), "host", step=0.005, inventory=True),
    SignalRow(("host_clock_synchronized",), "host", direction=Direction.LOW, step=0.5),
)

_STORAGE = (
    SignalRow(
        ("host_pressure_ratio", "io", "some"), "storage", direction=Direction.HIGH, step=0.02
    ),
    SignalRow(
        ("host_pressure_ratio", "io", "full"), "storage", direction=Direction.HIGH, step=0.02
    ),
    # 1 % of a disk's time, of all disks.
    SignalRow(("host_disk_io_seconds_total", ANY), "storage", Form.RATE, step=0.01, fold=Fold.MAX),
    # The fullest file system is the one that matters; a job's files differ by some GiB.
    SignalRow(
        ("host_filesystem_available_bytes", ANY),
        "storage",
        direction=Direction.LOW,
        step=4 * _GIB,
        relative=0.02,
        fold=Fold.MIN,
        inventory=True,
    ),
    # Requests a second: a rank that saves more than others has more of them.
    SignalRow(
        ("host_nfs_requests_total", ANY),
        "storage",
        Form.RATE,
        step=5.0,
        relative=0.05,
        fold=Fold.SUM,
    ),
    faults(("host_nfs_retransmissions_total", ANY), "storage", Fold.SUM),
    # Seconds of waiting a second, of all requests: 0.1 is ten requests of 10 ms.
    SignalRow(
        ("host_nfs_round_trip_seconds_total", ANY),
        "storage",
        Form.RATE,
        Direction.HIGH,
        step=0.1,
        relative=0.1,
        fold=Fold.SUM,
    ),
    SignalRow(
        ("host_nfs_execution_seconds_total", ANY),
        "storage",
        Form.RATE,
        Direction.HIGH,
        step=0.1,
        relative=0.1,
        fold=Fold.SUM,
    ),
    # Requests that wait, summed at each one sent.
    SignalRow(
        ("host_nfs_backlog_total", ANY),
        "storage",
        Form.RATE,
        Direction.HIGH,
        step=5.0,
        relative=0.1,
        fold=Fold.SUM,
    ),
)

_FABRIC = (
    # Flags: the worst port speaks for the node.
    SignalRow(
        ("host_rdma_port_up", ANY, ANY),
        "fabric",
        direction=Direction.LOW,
        step=0.1,
        fold=Fold.MIN,
    ),
    # Rates of links are steps of a factor; the slowest port.
    SignalRow(
        ("host_rdma_port_rate_bytes_per_second", ANY, ANY),
        "fabric",
        direction=Direction.LOW,
        step=1e8,
        fold=Fold.MIN,
    ),
    # Traffic varies by 3 % between samples; 1 MB/s is what an idle port does.
    SignalRow(
        ("host_rdma_bytes_total", ANY, ANY, "receive"),
        "fabric",
        Form.RATE,
        step=1e6,
        relative=0.03,
        fold=Fold.SUM,
        phase=True,
    ),
    SignalRow(
        ("host_rdma_bytes_total", ANY, ANY, "transmit"),
        "fabric",
        Form.RATE,
        step=1e6,
        relative=0.03,
        fold=Fold.SUM,
    ),
    # Congestion notices are usual under load: half of the level is no difference.
    SignalRow(
        ("host_rdma_errors_total", ANY, ANY, "np_cnp_sent"),
        "fabric",
        Form.RATE,
        Direction.HIGH,
        step=5.0,
        relative=0.25,
        fold=Fold.SUM,
    ),
    # Errors are whole events.
    faults(("host_rdma_errors_total", ANY, ANY, "packet_seq_err"), "fabric", Fold.SUM),
    faults(("host_rdma_errors_total", ANY, ANY, "link_downed"), "fabric", Fold.SUM),
    faults(("host_network_carrier_changes_total", ANY), "fabric", Fold.SUM),
    faults(("host_network_errors_total", ANY, "receive", "drop"), "fabric", Fold.SUM),
    # Interfaces that nobody uses are down for ever: how many are up, not whether all are.
    SignalRow(
        ("host_network_up", ANY),
        "fabric",
        direction=Direction.LOW,
        step=0.1,
        fold=Fold.SUM,
        inventory=True,
    ),
    # A megabyte a second of ssh, logs and scrapes is nobody's load.
    SignalRow(
        ("host_network_bytes_total", ANY, ANY),
        "fabric",
        Form.RATE,
        step=1e6,
        relative=0.1,
        fold=Fold.SUM,
    ),
)

_SCRAPE = (
    # Durations have a tail: a quarter of the level is no difference.
    SignalRow(
        ("collector_duration_seconds", ANY),
        "scrape",
        direction=Direction.HIGH,
        step=0.05,
        relative=0.25,
        fold=Fold.MAX,
    ),
    faults(("collector_cycles_total", ANY, "timeout"), "scrape", Fold.SUM),
    SignalRow(
        ("fleet_target_read_duration_seconds",),
        "scrape",
        direction=Direction.HIGH,
        step=0.1,
        relative=0.25,
    ),
    # Skews of up to half a minute are usual, and constant for a node: 80 s are not.
    SignalRow(("fleet_target_clock_skew_seconds",), "scrape", step=10.0, inventory=True),
    # Series differ with processes and mounts; a device is some forty of them.
    SignalRow(
        ("exporter_series",),
        "scrape",
        direction=Direction.LOW,
        step=2.0,
        relative=0.01,
        inventory=True,
    ),
    # Whole devices.
    SignalRow(("devices", "ok"), "scrape", direction=Direction.LOW, step=0.1, inventory=True),
    SignalRow(("devices", "lost"), "scrape", direction=Direction.HIGH, step=0.1, inventory=True),
)

NODE_SIGNALS: tuple[SignalRow, ...] = (*_HOST, *_STORAGE, *_FABRIC, *_SCRAPE)
