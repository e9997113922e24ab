"""What exporters report of the host itself, beside devices or alone."""

import pytest

from accelwatch.fleet.dialects import ForeignReader, read_devices
from accelwatch.fleet.dialects.base.table import Dialect
from accelwatch.fleet.dialects.plans.host import MAX_OF_EACH
from accelwatch.fleet.dialects.registry import DIALECTS
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.hub.foreign import foreign_reader
from accelwatch.fleet.target import targets_of
from accelwatch.fleet.tsdb.families import readable_families
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.device import DeviceKind
from accelwatch.schema.metrics import Scope
from accelwatch.schema.series import series_of
from accelwatch.schema.snapshot import DeviceView
from support.machines.samples import FIXTURES, sample

NOW = 1_700_000_120.0
PAGE = FIXTURES / "fleet" / "dialects" / "node_exporter.prom"


def host(text: str | bytes) -> DeviceView:
    view = read_devices(text, NOW).node
    assert view is not None
    return view


def test_a_plain_node_exporter_is_a_host() -> None:
    read = read_devices(PAGE.read_bytes(), NOW)
    assert (read.dialects, read.devices) == (("node_exporter",), ())
    assert read.node is not None
    assert read.node.device.kind is DeviceKind.HOST
    values = {".".join(series): value for series, value in read.node.reading.values.items()}
    assert values == {
        "host_uptime_seconds": 120,
        "host_cpu_count": 2,
        "host_cpu_seconds_total.idle": 2200,
        "host_cpu_seconds_total.user": 800,
        "host_cpu_seconds_total.iowait": 30,
        "host_load_average.1": 0.5,
        "host_load_average.5": 1.5,
        "host_load_average.15": 2.5,
        "host_blocked_processes": 3,
        "host_runnable_processes": 7,
        "host_interrupts_total": 8_500_000,
        "host_context_switches_total": 12_500_000,
        "host_paging_bytes_total.read": 2_048_000,
        "host_paging_bytes_total.write": 3_072_000,
        "host_out_of_memory_kills_total": 1,
        "host_memory_size_bytes": 1e11,
        "host_memory_available_bytes": 6e10,
        "host_memory_used_bytes": 4e10,
        "host_swap_size_bytes": 8e9,
        "host_swap_used_bytes": 3e9,
        "host_pressure_stall_seconds_total.cpu.some": 14.5,
        "host_pressure_stall_seconds_total.io.some": 20,
        "host_pressure_stall_seconds_total.io.full": 19.5,
        "host_pressure_stall_seconds_total.memory.some": 2,
        "host_pressure_stall_seconds_total.memory.full": 1,
        "host_clock_offset_seconds": -0.002,
        "host_clock_synchronized": 1,
        "host_disk_bytes_total.nvme0n1.read": 4096,
        "host_disk_bytes_total.nvme0n1.write": 8192,
        "host_disk_io_seconds_total.nvme0n1": 12.5,
        "host_filesystem_size_bytes./srv/Data": 2e12,
        "host_filesystem_available_bytes./srv/Data": 5e11,
        "host_network_up.eth0": 1,
        "host_network_up.bond0": 1,
        "host_network_carrier_changes_total.eth0": 4,
        "host_network_bytes_total.eth0.receive": 100,
        "host_network_bytes_total.eth0.transmit": 200,
        "host_network_errors_total.eth0.receive.error": 5,
        "host_network_errors_total.eth0.receive.drop": 6,
        "host_rdma_port_up.mlx5_0.1": 1,
        "host_rdma_port_up.mlx5_1.1": 0,
        "host_rdma_port_rate_bytes_per_second.mlx5_0.1": 5e10,
        "host_rdma_bytes_total.mlx5_0.1.receive": 18527668,
        "host_rdma_bytes_total.mlx5_0.1.transmit": 14933760,
        "host_rdma_errors_total.mlx5_0.1.link_downed": 2,
        "host_rdma_errors_total.mlx5_0.1.port_rcv_errors": 7,
        "host_rdma_errors_total.mlx5_0.1.symbol_error": 8,
        "host_rdma_errors_total.mlx5_0.1.packet_seq_err": 9,
        "host_rdma_errors_total.mlx5_0.1.np_cnp_sent": 10,
        "host_rdma_errors_total.mlx5_0.1.np_ecn_marked_roce_packets": 11,
        "host_rdma_errors_total.mlx5_0.1.rp_cnp_handled": 12,
        "host_rdma_errors_total.mlx5_0.1.roce_slow_restart": 13,
        "host_rdma_errors_total.mlx5_0.1.port_xmit_wait": 15,
        "host_nfs_requests_total./Home": 175,
        "host_nfs_requests_total.10.0.0.1:/Scratch": 9,
        "host_nfs_requests_total.all": 159,
        "host_nfs_retransmissions_total./Home": 3,
        "host_nfs_retransmissions_total.all": 3,
        "host_nfs_round_trip_seconds_total./Home": 1.5,
        "host_nfs_execution_seconds_total./Home": 3.0,
        "host_nfs_queue_seconds_total./Home": 0.25,
        "host_nfs_operation_requests_total./Home.GETATTR": 20,
        "host_nfs_operation_requests_total./Home.READ": 100,
        "host_nfs_operation_requests_total./Home.WRITE": 50,
        "host_nfs_operation_requests_total.10.0.0.1:/Scratch.READ": 9,
        "host_nfs_operation_queue_seconds_total./Home.READ": 0.25,
        "host_nfs_operation_round_trip_seconds_total./Home.READ": 1.5,
        "host_nfs_operation_execution_seconds_total./Home.GETATTR": 0.5,
        "host_nfs_operation_execution_seconds_total./Home.READ": 2.5,
        "host_nfs_backlog_total./Home": 11,
        "host_nfs_sends_total./Home": 130,
        "host_nfs_sends_total.10.0.0.1:/fast": 40,
        "host_nfs_receives_total./Home": 129,
        "host_nfs_pending_total./Home": 50,
        "host_nfs_slots_peak./Home": 9,
    }


def test_the_busy_share_is_that_since_the_page_before() -> None:
    def page(idle: float, iowait: float, user: float) -> str:
        modes = {"idle": idle, "iowait": iowait, "user": user}
        return "".join(
            f'node_cpu_seconds_total{{cpu="0",mode="{mode}"}} {seconds}\n'
            for mode, seconds in modes.items()
        )

    reader = ForeignReader()

    def busy(text: str) -> float | None:
        node = reader.read(text, NOW).node
        assert node is not None
        return node.reading.values.get(("host_cpu_utilization_ratio",))

    assert busy(page(100, 10, 50)) is None
    assert busy(page(106, 11, 53)) == pytest.approx(0.3)
    assert busy(page(106.05, 11, 53.05)) is None  # a tenth of a second is mostly rounding
    assert busy(page(107, 11, 54)) == pytest.approx(0.5)
    assert busy(page(1, 0, 1)) is None  # it has started again
    assert busy(page(2, 0, 4) + "node_load1 1\n") == pytest.approx(0.75)


def test_the_times_since_the_start_of_a_host_are_no_busy_share() -> None:
    reader = ForeignReader()
    pages = ("", 'node_cpu_seconds_total{cpu="0",mode="user"} 50\n')
    for page in pages:
        node = reader.read(f"node_load1 1\nnode_exporter_build_info 1\n{page}", NOW).node
        assert node is not None
        assert ("host_cpu_utilization_ratio",) not in node.reading.values
        assert node.reading.device_id == node.device.id


def test_a_difference_that_cannot_be_is_none() -> None:
    view = host("node_memory_MemTotal_bytes 5\nnode_memory_MemAvailable_bytes 7\n")
    assert ("host_memory_used_bytes",) not in view.reading.values
    assert ("host_memory_used_bytes",) in view.reading.absent
    alone = host("node_memory_MemTotal_bytes 5\n")
    assert ("host_memory_used_bytes",) not in alone.reading.values


def test_interfaces_are_bounded() -> None:
    lines = [f'node_network_receive_bytes_total{{device="e{n}"}} 1' for n in range(999)]
    read = read_devices("\n".join(["node_load1 1", "node_exporter_build_info 1", *lines]), NOW)
    assert read.node is not None
    assert len(read.node.reading.values) == MAX_OF_EACH + 1
    assert read.rejected["too_many"] == 999 - MAX_OF_EACH


@pytest.mark.parametrize(
    ("page", "hosts"), [("node_exporter", 1), ("all_smi_npus", 0), ("nvitop", 1)]
)
def test_a_target_of_the_hub_is_read(page: str, hosts: int) -> None:
    (target,) = targets_of(["box:9100"])
    read = foreign_reader(target, now=lambda: NOW)
    exposed = read((FIXTURES / f"fleet/dialects/{page}.prom").read_bytes())
    kinds = [view.device.kind for view in exposed.devices]
    assert kinds.count(DeviceKind.HOST) == hosts


def test_a_page_of_nobody_is_still_garbage() -> None:
    (target,) = targets_of(["box:9100"])
    with pytest.raises(TargetFault, match="no accelerator"):
        foreign_reader(target)(b"process_cpu_seconds_total 1\ngo_goroutines 7\n")


def test_hosts_are_not_queried_from_a_store() -> None:
    """A store has node_exporter for every machine of a company, with or without accelerators."""
    names = {"node_cpu_seconds_total", "node_load1", "node_exporter_build_info"}
    assert readable_families(names, "default") == []


def test_identity_and_failure_are_queried_from_a_store() -> None:
    names = {
        "nvidia_smi_gpu_info",
        "nvidia_smi_mig_mode_current",
        "nvidia_smi_nvml_return_code",
        "nvidia_smi_last_collect_success",
    }
    assert set(readable_families(names, "default")) == names


@pytest.mark.parametrize("dialect", [one for one in DIALECTS if one.host], ids=lambda one: one.name)
def test_every_row_of_a_host_aims_at_the_catalogue(dialect: Dialect) -> None:
    for row in dialect.host:
        series = series_of(row.target)
        metric = by_key()[series[0]]
        assert metric.scope is Scope.NODE, row.name
        assert len(series) == len(metric.labels) + 1, row.name


@pytest.mark.oracle
def test_the_host_of_a_recorded_page_of_all_smi() -> None:
    page = sample("exporters/all_smi/api_0.28.1_h100x8_one_lost.metrics").read_bytes()
    assert host(page).reading.values == {
        ("host_cpu_utilization_ratio",): pytest.approx(0.9933333587646484),
        ("host_cpu_count",): 2,
        ("host_memory_size_bytes",): 25276514304,
        ("host_memory_used_bytes",): 1502048256,
        ("host_memory_available_bytes",): 23774466048,
        ("host_filesystem_size_bytes", "/"): 270553174016,
        ("host_filesystem_available_bytes", "/"): 75887693824,
    }
