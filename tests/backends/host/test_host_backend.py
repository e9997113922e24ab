"""The host backend over a composed node: every quantity against a value computed by hand."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from accelwatch.backend import Context, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.schema.catalogue.lookup import by_key, host_metrics
from accelwatch.schema.device import DeviceKind
from accelwatch.schema.reading import Reading, complete
from accelwatch_host import HostBackend, system
from support.machines.samples import FIXTURES

NODE = FIXTURES / "host/hgx-ib2/root"
DAMAGED = FIXTURES / "host/damaged/root"
ON = Request(groups=frozenset({"host"}))


def read(root: Path, request: Request = ON) -> Reading:
    """The host's reading as a document shows it."""
    backend = HostBackend(Context(root=root))
    backend.open()
    (device,) = backend.discover()
    (reading,) = backend.read(device, request)
    backend.close()
    return complete(reading, request.groups, host=True)


@pytest.fixture
def node(tmp_path: Path) -> Path:
    return Path(shutil.copytree(NODE, tmp_path / "root"))


def test_identity_has_machine_model_kernel_and_boot() -> None:
    (device,) = HostBackend(Context(root=NODE)).discover()
    assert device.kind is DeviceKind.HOST
    assert (device.vendor, device.name, device.index) == ("host", "host", 0)
    assert device.model == "Examplia GX-8 Node"
    assert device.driver_version == "6.8.0-60-generic"
    assert device.boot_id == "6f0c3c1e-4a44-4c0b-9d37-5b1a4f6d2e01"
    assert device.id == f"host:{device.uuid}"


def test_machine_id_itself_is_not_shown() -> None:
    (device,) = HostBackend(Context(root=NODE)).discover()
    assert device.uuid is not None
    assert "0123456789ab" not in device.uuid.replace("-", "")


def test_without_machine_id_and_firmware_the_names_of_kernel_serve(node: Path) -> None:
    (node / "etc/machine-id").unlink()
    shutil.rmtree(node / "sys/class/dmi")
    (device,) = HostBackend(Context(root=node)).discover()
    assert device.id == "host:gpu-node-17"
    assert device.uuid is None
    assert device.model == "Linux 6.8.0-60-generic"


def operation(
    mountpoint: str,
    name: str,
    requests: int,
    queue_s: float,
    round_trip_s: float,
    execution_s: float,
) -> dict[tuple[str, ...], float]:
    where = (mountpoint, name)
    return {
        ("host_nfs_operation_requests_total", *where): requests,
        ("host_nfs_operation_queue_seconds_total", *where): queue_s,
        ("host_nfs_operation_round_trip_seconds_total", *where): round_trip_s,
        ("host_nfs_operation_execution_seconds_total", *where): execution_s,
    }


NFS_QUEUES: dict[tuple[str, ...], float] = {
    **operation("/home", "GETATTR", 9, 0.0, 0.012, 0.013),
    **operation("/home", "READ", 400, 1.0, 60.0, 62.0),
    **operation("/home", "WRITE", 200, 0.5, 40.0, 41.0),
    **operation("/data", "GETATTR", 50, 0.005, 0.25, 0.26),
    **operation("/fast", "READ", 30, 0.001, 0.006, 0.007),
    ("host_nfs_queue_seconds_total", "/home"): 1.5,  # 0 + 1000 + 500 + 0 ms
    ("host_nfs_queue_seconds_total", "/data"): 0.005,
    ("host_nfs_queue_seconds_total", "/fast"): 0.001,
    ("host_nfs_sends_total", "/home"): 610,  # 300 + 310 over two connections
    ("host_nfs_receives_total", "/home"): 608,
    ("host_nfs_pending_total", "/home"): 61,
    ("host_nfs_slots_peak", "/home"): 26,
    ("host_nfs_slots_limit", "/home"): 131_072,  # 65,536 each
    ("host_nfs_sends_total", "/data"): 50,
    ("host_nfs_receives_total", "/data"): 50,
    ("host_nfs_pending_total", "/data"): 2,
    ("host_nfs_slots_peak", "/data"): 4,
    ("host_nfs_slots_limit", "/data"): 16,
    ("host_nfs_sends_total", "/fast"): 30,
    ("host_nfs_receives_total", "/fast"): 30,
    ("host_nfs_slots_limit", "/fast"): 128,
}

EXPECTED: dict[tuple[str, ...], float] = {
    ("host_uptime_seconds",): 86400.5,
    ("host_cpu_count",): 4,
    ("host_blocked_processes",): 3,
    ("host_runnable_processes",): 5,
    ("host_interrupts_total",): 123456,
    ("host_context_switches_total",): 7654321,
    ("host_paging_bytes_total", "read"): 5_120_000,  # 5000 KiB
    ("host_paging_bytes_total", "write"): 7_168_000,
    ("host_out_of_memory_kills_total",): 2,
    ("host_load_average", "1"): 12.5,
    ("host_load_average", "5"): 8.25,
    ("host_load_average", "15"): 4.0,
    ("host_cpu_seconds_total", "user"): 10.0,  # 1000 ticks of 1/100 s
    ("host_cpu_seconds_total", "nice"): 2.0,
    ("host_cpu_seconds_total", "system"): 3.0,
    ("host_cpu_seconds_total", "idle"): 80.0,
    ("host_cpu_seconds_total", "iowait"): 4.0,
    ("host_cpu_seconds_total", "irq"): 0.1,
    ("host_cpu_seconds_total", "softirq"): 0.2,
    ("host_cpu_seconds_total", "steal"): 0.3,
    ("host_memory_size_bytes",): 2_048_000_000,  # 2,000,000 KiB
    ("host_memory_available_bytes",): 1_536_000_000,
    ("host_memory_used_bytes",): 512_000_000,
    ("host_swap_size_bytes",): 819_200_000,
    ("host_swap_used_bytes",): 102_400_000,
    ("host_pressure_ratio", "cpu", "some"): 0.025,
    ("host_pressure_ratio", "cpu", "full"): 0.0,
    ("host_pressure_ratio", "memory", "some"): 0.0,
    ("host_pressure_ratio", "memory", "full"): 0.0,
    ("host_pressure_ratio", "io", "some"): 0.3725,
    ("host_pressure_ratio", "io", "full"): 0.25,
    ("host_pressure_stall_seconds_total", "cpu", "some"): 4.5,
    ("host_pressure_stall_seconds_total", "cpu", "full"): 0.0,
    ("host_pressure_stall_seconds_total", "memory", "some"): 0.00025,
    ("host_pressure_stall_seconds_total", "memory", "full"): 0.000125,
    ("host_pressure_stall_seconds_total", "io", "some"): 987.654321,
    ("host_pressure_stall_seconds_total", "io", "full"): 123.456789,
    ("host_disk_bytes_total", "nvme0n1", "read"): 102_400_000,  # 200,000 sectors of 512 bytes
    ("host_disk_bytes_total", "nvme0n1", "write"): 204_800_000,
    ("host_disk_io_seconds_total", "nvme0n1"): 7.25,
    ("host_network_up", "eth0"): 1,
    ("host_network_up", "ib0"): 0,
    ("host_network_carrier_changes_total", "eth0"): 4,
    ("host_network_carrier_changes_total", "ib0"): 7,
    ("host_network_bytes_total", "eth0", "receive"): 1_000_000,
    ("host_network_bytes_total", "eth0", "transmit"): 2_000_000,
    ("host_network_bytes_total", "ib0", "receive"): 3000,
    ("host_network_bytes_total", "ib0", "transmit"): 4000,
    ("host_network_errors_total", "eth0", "receive", "error"): 1,
    ("host_network_errors_total", "eth0", "receive", "drop"): 2,
    ("host_network_errors_total", "eth0", "transmit", "error"): 3,
    ("host_network_errors_total", "eth0", "transmit", "drop"): 4,
    ("host_network_errors_total", "ib0", "receive", "error"): 0,
    ("host_network_errors_total", "ib0", "receive", "drop"): 0,
    ("host_network_errors_total", "ib0", "transmit", "error"): 0,
    ("host_network_errors_total", "ib0", "transmit", "drop"): 0,
    ("host_rdma_port_up", "mlx5_0", "1"): 1,
    ("host_rdma_port_up", "mlx5_1", "1"): 0,
    ("host_rdma_port_rate_bytes_per_second", "mlx5_0", "1"): 50e9,  # 400 Gb/s
    ("host_rdma_port_rate_bytes_per_second", "mlx5_1", "1"): 1.25e9,
    ("host_rdma_bytes_total", "mlx5_0", "1", "receive"): 8000,  # 2000 words of 4 bytes
    ("host_rdma_bytes_total", "mlx5_0", "1", "transmit"): 4000,
    ("host_rdma_bytes_total", "mlx5_1", "1", "receive"): 88,
    ("host_rdma_bytes_total", "mlx5_1", "1", "transmit"): 44,
    ("host_rdma_errors_total", "mlx5_0", "1", "link_downed"): 0,
    ("host_rdma_errors_total", "mlx5_0", "1", "symbol_error"): 3,
    ("host_rdma_errors_total", "mlx5_0", "1", "local_ack_timeout_err"): 6,
    ("host_rdma_errors_total", "mlx5_0", "1", "port_xmit_wait"): 999,
    ("host_rdma_errors_total", "mlx5_0", "1", "packet_seq_err"): 5,
    ("host_rdma_errors_total", "mlx5_0", "1", "np_cnp_sent"): 41,
    ("host_rdma_errors_total", "mlx5_0", "1", "np_ecn_marked_roce_packets"): 43,
    ("host_rdma_errors_total", "mlx5_0", "1", "rp_cnp_handled"): 47,
    ("host_rdma_errors_total", "mlx5_1", "1", "port_xmit_wait"): 999,
    ("host_rdma_errors_total", "mlx5_1", "1", "link_downed"): 2,
    ("host_rdma_errors_total", "mlx5_1", "1", "symbol_error"): 0,
    ("host_rdma_errors_total", "mlx5_1", "1", "local_ack_timeout_err"): 6,
    ("host_nfs_requests_total", "/home"): 610,  # 1 + 400 + 200 + 9
    ("host_nfs_retransmissions_total", "/home"): 5,  # 405 - 400
    ("host_nfs_round_trip_seconds_total", "/home"): 100.015,  # 3 + 60000 + 40000 + 12 ms
    ("host_nfs_execution_seconds_total", "/home"): 103.017,  # 4 + 62000 + 41000 + 13 ms
    ("host_nfs_backlog_total", "/home"): 120,  # 50 + 70 over two connections
    ("host_nfs_requests_total", "/data"): 50,
    ("host_nfs_retransmissions_total", "/data"): 1,
    ("host_nfs_round_trip_seconds_total", "/data"): 0.25,
    ("host_nfs_execution_seconds_total", "/data"): 0.26,
    ("host_nfs_backlog_total", "/data"): 8,
    ("host_nfs_requests_total", "/fast"): 30,
    ("host_nfs_retransmissions_total", "/fast"): 0,
    ("host_nfs_round_trip_seconds_total", "/fast"): 0.006,
    ("host_nfs_execution_seconds_total", "/fast"): 0.007,
    ("host_nfs_backlog_total", "/fast"): 5,
    **NFS_QUEUES,
}
UNFIXED = {"host_filesystem_size_bytes", "host_filesystem_available_bytes"}
# Words, in `test_settings`.
NAMED = {"host_setting_info", "host_library_info"}


def test_every_quantity_has_the_value_computed_by_hand() -> None:
    values = read(NODE).values
    fixed = {series: value for series, value in values.items() if series[0] not in UNFIXED | NAMED}
    assert fixed == {series: pytest.approx(value) for series, value in EXPECTED.items()}


def test_series_fit_the_catalogue_and_nothing_is_left_without_a_reason() -> None:
    reading = read(NODE)
    for key, *labels in reading.values:
        assert len(labels) == len(by_key()[key].labels), key
    families = {series[0] for series in (*reading.values, *reading.absent)}
    assert {row.key for row in host_metrics()} <= families


def test_sizes_of_local_file_systems_only(node: Path) -> None:
    (node / "dev/shm").mkdir(parents=True)
    reading = read(node)
    measured = {s[1] for s in (*reading.values, *reading.absent) if s[0] in UNFIXED and s[1:]}
    assert measured == {"/", "/dev/shm", "/var/lib/my data"}
    size = reading.values["host_filesystem_size_bytes", "/"]
    assert 0 < reading.values["host_filesystem_available_bytes", "/"] <= size
    missing = ("host_filesystem_size_bytes", "/var/lib/my data")
    assert reading.absent[missing] is Absence.UNSUPPORTED


def set_cpu(node: Path, line: str) -> None:
    (node / "proc/stat").write_text(f"cpu  {line}\ncpu0 1 1 1 1\nprocs_blocked 0\n")


def test_busy_share_needs_two_reads_that_lie_apart(node: Path) -> None:
    backend = HostBackend(Context(root=node))
    backend.open()
    (device,) = backend.discover()
    key = ("host_cpu_utilization_ratio",)

    def once() -> Reading:
        return backend.read(device, ON)[0]

    assert once().absent[key] is Absence.NOT_COLLECTED
    assert once().absent[key] is Absence.NOT_COLLECTED, "no time has passed"
    # 60 ticks busy (40 user, 20 system), 30 idle, 10 waiting for I/O
    set_cpu(node, "1040 200 320 8030 410 10 20 30 0 0")
    assert once().values[key] == pytest.approx(0.6)
    # iowait may go back: 30 busy of 40
    set_cpu(node, "1070 200 320 8040 400 10 20 30 0 0")
    assert once().values[key] == pytest.approx(0.75)
    set_cpu(node, "1 1 1 100 0 0 0 0 0 0")
    assert once().absent[key] is Absence.NOT_COLLECTED, "the counters began anew"
    set_cpu(node, "1 1 51 150 0 0 0 0 0 0")
    assert once().values[key] == pytest.approx(0.5)


def test_nothing_is_read_while_the_group_is_off() -> None:
    reading = read(NODE, Request())
    assert not reading.values
    assert {reading.absent[(row.key,)] for row in host_metrics()} == {Absence.NOT_COLLECTED}


def test_kernel_without_pressure_information(node: Path) -> None:
    shutil.rmtree(node / "proc/pressure")
    reading = read(node)
    for resource in ("cpu", "memory", "io"):
        assert reading.absent["host_pressure_ratio", resource, "some"] is Absence.UNSUPPORTED
    assert not any(series[0] == "host_pressure_ratio" for series in reading.values)


def test_node_without_rdma_and_nfs(node: Path) -> None:
    shutil.rmtree(node / "sys/class/infiniband")
    (node / "proc/self/mountstats").write_text("device proc mounted on /proc with fstype proc\n")
    absent = read(node).absent
    assert absent[("host_rdma_port_up",)] is Absence.UNSUPPORTED
    assert absent[("host_nfs_backlog_total",)] is Absence.UNSUPPORTED


def test_port_of_a_driver_that_counts_bytes_itself(node: Path) -> None:
    port = node / "sys/class/infiniband/mlx5_0/ports/1"
    shutil.rmtree(port / "counters")
    (port / "hw_counters/rx_bytes").write_text("123\n")
    (port / "hw_counters/tx_bytes").write_text("456\n")
    values = read(node).values
    assert values["host_rdma_bytes_total", "mlx5_0", "1", "receive"] == 123
    assert values["host_rdma_bytes_total", "mlx5_0", "1", "transmit"] == 456


def test_interface_that_is_administratively_down(node: Path) -> None:
    carrier = node / "sys/class/net/ib0/carrier"
    carrier.unlink()
    carrier.write_text("")  # the kernel answers EINVAL; an empty file is as unreadable
    assert read(node).values["host_network_up", "ib0"] == 0


def test_transport_over_rdma_does_not_report_its_slots() -> None:
    absent = read(NODE).absent
    assert absent["host_nfs_slots_peak", "/fast"] is Absence.UNSUPPORTED
    assert absent["host_nfs_pending_total", "/fast"] is Absence.UNSUPPORTED
    assert absent["host_nfs_operation_requests_total", "/fast", "WRITE"] is Absence.UNSUPPORTED


@pytest.mark.parametrize("limit", ["many\n", "0\n", "-1\n", None])
def test_slots_without_a_limit_that_can_be_read(node: Path, limit: str | None) -> None:
    path = node / "proc/sys/sunrpc/rdma_slot_table_entries"
    path.unlink()
    if limit is not None:
        path.write_text(limit)
    reading = read(node)
    assert reading.absent["host_nfs_slots_limit", "/fast"] is Absence.UNSUPPORTED
    assert reading.values["host_nfs_slots_limit", "/data"] == 16


def test_kernel_that_counts_no_kills(node: Path) -> None:
    (node / "proc/vmstat").write_text("pgpgin 1\npgpgout 2\n")
    reading = read(node)
    assert reading.absent[("host_out_of_memory_kills_total",)] is Absence.UNSUPPORTED
    assert reading.values["host_paging_bytes_total", "write"] == 2048
    (node / "proc/vmstat").unlink()
    assert read(node).absent[("host_paging_bytes_total",)] is Absence.UNSUPPORTED


def test_numbers_of_devices_are_bounded(node: Path) -> None:
    for number in range(200):
        port = node / f"sys/class/infiniband/mlx5_{number}/ports/1"
        port.mkdir(parents=True, exist_ok=True)
        (port / "state").write_text("4: ACTIVE\n")
        card = node / f"sys/class/net/ens{number}"
        card.mkdir()
        (card / "operstate").write_text("up\n")
        (card / "carrier").write_text("1\n")
    values = read(node).values
    assert sum(series[0] == "host_rdma_port_up" for series in values) == 64
    assert sum(series[0] == "host_network_up" for series in values) == 64


def test_damaged_files_give_reasons_and_no_value() -> None:
    reading = read(DAMAGED)
    assert not reading.values
    families = {series[0] for series in reading.absent}
    assert {row.key for row in host_metrics()} <= families
    for key in ("host_uptime_seconds", "host_load_average", "host_cpu_count"):
        assert reading.absent[(key,)] is Absence.ERROR
    for key in ("host_cpu_seconds_total", "host_memory_size_bytes", "host_disk_bytes_total"):
        assert reading.absent[(key,)] is Absence.ERROR
    assert reading.absent["host_rdma_port_up", "mlx5_0", "1"] is Absence.ERROR
    assert reading.absent["host_network_up", "eth0"] is Absence.ERROR
    assert reading.absent["host_nfs_backlog_total", "/c"] is Absence.ERROR
    assert reading.absent["host_nfs_slots_limit", "/c"] is Absence.ERROR
    assert reading.absent["host_nfs_operation_requests_total", "/c", "READ"] is Absence.ERROR
    assert reading.absent[("host_interrupts_total",)] is Absence.ERROR
    assert reading.absent["host_paging_bytes_total", "write"] is Absence.ERROR
    assert reading.absent[("host_out_of_memory_kills_total",)] is Absence.ERROR


def test_files_that_may_not_be_read(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = {"mountstats", "loadavg"}
    plain = os.open

    def guarded(path: Path, flags: int) -> int:
        if path.name in refused:
            raise PermissionError(13, "Permission denied")
        return plain(path, flags)

    monkeypatch.setattr(os, "open", guarded)
    absent = read(node).absent
    assert absent[("host_load_average",)] is Absence.PERMISSION
    assert absent[("host_nfs_requests_total",)] is Absence.PERMISSION


def test_empty_root_is_unavailable(tmp_path: Path) -> None:
    backend = HostBackend(Context(root=tmp_path))
    assert not backend.probe().present
    with pytest.raises(BackendUnavailable) as caught:
        backend.open()
    assert caught.value.reason == "not_found"


def test_this_machine_is_read_without_a_fault() -> None:
    reading = read(Path("/"))
    assert reading.values[("host_uptime_seconds",)] > 0
    assert reading.values[("host_cpu_count",)] >= 1
    size = reading.values[("host_memory_size_bytes",)]
    assert 0 < reading.values[("host_memory_used_bytes",)] < size


def test_psutil_is_loaded_by_the_first_read_only() -> None:
    program = (
        "import sys; from pathlib import Path; from accelwatch.backend import Context, Request\n"
        "from accelwatch_host import HostBackend\n"
        f"backend = HostBackend(Context(root=Path({str(NODE)!r}))); backend.open()\n"
        "device = backend.discover()[0]; backend.read(device, Request())\n"
        "assert 'psutil' not in sys.modules\n"
        "backend.read(device, Request(groups=frozenset({'host'})))\n"
        "assert 'psutil' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_without_psutil_the_backend_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BackendUnavailable) as caught:
        HostBackend(Context(root=NODE)).open()
    assert caught.value.reason == "library"
    assert "psutil" in caught.value.remedy


def test_a_traffic_table_that_psutil_rejects_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "proc/net").mkdir(parents=True)
    (tmp_path / "proc/net/dev").write_text("Inter-|\n face |\n \n")
    assert system.networks(tmp_path) is Absence.ERROR
