"""The pure parsers of the host backend, with damaged and unusual input."""

import hmac
import os
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.base.absence import Absence
from accelwatch_host import mounts, network, nfs, nfs_transport, procfs, timekeeping
from accelwatch_host.backend import machine_uuid
from accelwatch_host.digest import keyed_digest


def test_mount_under_a_network_mount_is_not_measured() -> None:
    table = mounts.parse(
        "/dev/a / ext4 rw 0 0\n"
        "srv:/x /nfs nfs rw 0 0\n"
        "/dev/b /nfs/local xfs rw 0 0\n"
        "auto /auto autofs rw 0 0\n"
        "/dev/c /auto/c ext4 rw 0 0\n"
        "/dev/d /nfsdata ext4 rw 0 0\n"
    )
    assert [mount.mountpoint for mount in mounts.measurable(table, 64)] == ["/", "/nfsdata"]


def test_local_file_system_covered_by_a_network_mount_is_not_measured() -> None:
    table = mounts.parse("/dev/a /data ext4 rw 0 0\nsrv:/x /data nfs4 rw 0 0\n")
    assert mounts.measurable(table, 64) == []


def test_unknown_type_counts_as_one_that_may_hang() -> None:
    table = mounts.parse("x /pfs newfs rw 0 0\n/dev/b /pfs/scratch xfs rw 0 0\n")
    assert mounts.measurable(table, 64) == []


def test_mounts_are_measured_once_each_and_bounded() -> None:
    lines = [
        f"/dev/disk{n} /m{n} ext4 rw 0 0\n/dev/disk{n} /again{n} ext4 rw 0 0\n" for n in range(99)
    ]
    chosen = mounts.measurable(mounts.parse("".join(lines)), 64)
    assert len(chosen) == 64
    assert chosen[0].mountpoint == "/m0"


@pytest.mark.parametrize(
    ("transport", "backlog"),
    [
        ("tcp 1 1 1 0 0 9 9 0 100 7 2 3 4", 7),
        ("tcp 1 1 1 0 0 9 9 0 100 7", 7),  # statvers 1.0, before the slot figures
        ("udp 1 1 9 9 0 100 6", 6),
        ("rdma 0 1 1 0 0 9 9 0 100 5 1 2 3 4 5 6 7 8 9 10", 5),
        ("local 1 1 0 0 9 9 0 100 4 2 3 4", 4),
        ("tcp 1 1 1", None),
        ("quic 1 2 3 4 5 6 7 8 9 10 11 12", None),
        ("", None),
    ],
)
def test_backlog_by_transport(transport: str, backlog: int | None) -> None:
    text = f"device s:/e mounted on /m with fstype nfs statvers=1.1\n\txprt:\t{transport}\n"
    (mount,) = nfs.mountstats(text)
    assert mount.transport.backlog == backlog


@pytest.mark.parametrize(
    ("transport", "expected"),
    [
        ("tcp 1 1 1 0 0 91 90 0 100 7 24 3 40", (91, 90, 40, 24)),
        ("tcp 1 1 1 0 0 91 90 0 100 7", (91, 90, None, None)),  # statvers 1.0
        ("udp 1 1 91 90 0 100 6 16 3 40", (91, 90, 40, 16)),
        ("local 1 1 0 0 91 90 0 100 4 2 3 40", (91, 90, 40, 2)),
        # chunks and segments stand where other transports tell their slots
        ("rdma 0 1 1 0 0 91 90 0 100 5 10 11 12 13 14 15 16 17 18 19", (91, 90, None, None)),
        ("tcp 1 1 1 0 0 x 90 0 100 7 24 3 -1", (None, 90, None, 24)),
    ],
)
def test_slots_by_transport(transport: str, expected: tuple[int | None, ...]) -> None:
    text = f"device s:/e mounted on /m with fstype nfs statvers=1.1\n\txprt:\t{transport}\n"
    (mount,) = nfs.mountstats(text)
    found = mount.transport
    assert (found.sends, found.receives, found.pending, found.peak) == expected


def test_a_connection_that_does_not_report_its_slots_makes_the_sum_unknown() -> None:
    old, new = "tcp 1 1 1 0 0 9 9 0 100 7", "tcp 1 1 1 0 0 9 9 0 100 7 24 3 40"
    both = nfs_transport.together(
        [connection for line in (old, new) if (connection := nfs_transport.transport(line.split()))]
    )
    assert (both.sends, both.backlog, both.peak, both.pending) == (18, 14, None, None)


def test_the_limit_of_a_mount_is_that_of_all_its_connections() -> None:
    both = nfs_transport.Transport(kinds=("tcp", "rdma"))
    limits = {"tcp_max_slot_table_entries": 65536, "rdma_slot_table_entries": 128}
    assert both.limit(limits.get) == 65664
    assert both.limit({"rdma_slot_table_entries": 128}.get) is None, "one is not known"
    assert nfs_transport.Transport().limit(limits.get) is None


def test_first_number_of_the_interrupts_is_that_of_all() -> None:
    stat = procfs.kernel_stat("intr 812 5 0 0 17\nctxt 99\nprocs_running 4\nprocs_blocked 1\n")
    assert (stat.interrupts, stat.context_switches) == (812, 99)
    assert (stat.runnable, stat.blocked) == (4, 1)


@pytest.mark.parametrize("count", ["", "-1", "0x10", "1_000", "9" * 21, "½"])
def test_a_count_that_the_kernel_does_not_print_is_none(count: str) -> None:
    assert procfs.kernel_stat(f"intr {count}\nctxt {count}\n") == procfs.KernelStat()
    paging = procfs.paging(f"pgpgin {count}\noom_kill {count}\n")
    assert (paging.read, paging.out_of_memory_kills) == (Absence.ERROR, Absence.ERROR)
    assert paging.written is Absence.UNSUPPORTED, "a line that is missing is no error"


def test_paging_is_reported_in_kib() -> None:
    paging = procfs.paging("pgpgin 3\npgpgout 5\npgpgoutrun 7\noom_kill 2\n")
    assert (paging.read, paging.written, paging.out_of_memory_kills) == (3072, 5120, 2)


def test_mountpoint_with_blanks_and_other_file_systems() -> None:
    text = (
        "device s:/e mounted on /my data with fstype nfs4 statvers=1.1\n\t  READ: 1 2 0 0 0 0 5 6\n"
        "device none mounted on /x with fstype tmpfs\n\t  READ: 9 9 9 9 9 9 9 9\n"
    )
    (mount,) = nfs.mountstats(text)
    assert mount.mountpoint == "/my data"
    assert mount.operations is not None
    assert (mount.operations.requests, mount.operations.retransmissions) == (1, 1)


def test_damaged_operation_makes_the_sums_unknown() -> None:
    head = "device s:/e mounted on /m with fstype nfs statvers=1.1\n\t READ: 1 2 0 0 0 0 5 6\n"
    (mount,) = nfs.mountstats(head + "\t WRITE: 1 x 0 0 0 0 5 6\n")
    assert mount.operations is None
    (mount,) = nfs.mountstats("device s:/e mounted on /m with fstype nfs statvers=1.1\n")
    assert mount.operations is None, "no line is not zero requests"


def test_long_tables_are_read_to_their_end(tmp_path: Path) -> None:
    table = tmp_path / "mounts"
    os.mkfifo(table)  # gives at most a pipe's buffer per read, as /proc gives at most a page

    def write() -> None:
        table.write_text("x" * 300_000)

    writer = threading.Thread(target=write)
    writer.start()
    text = procfs.read_table(table)
    writer.join()
    assert isinstance(text, str)
    assert len(text) == 300_000


@pytest.mark.parametrize(
    ("name", "virtual"),
    [
        *((name, True) for name in ("lo", "veth9", "docker0", "cali12", "tunl0", "br-9f", "cni0")),
        *(
            (name, False)
            for name in ("eth0", "ens1f0np0", "ib0", "bond0", "enp1s0", "wlan0", "lom1")
        ),
    ],
)
def test_virtual_interfaces(name: str, virtual: bool) -> None:
    assert network.is_virtual(name) is virtual


def test_rates() -> None:
    assert network.port_rate("200 Gb/sec (4X HDR)") == 25e9
    assert network.port_rate("2.5 Gb/sec (1X SDR)") == 312.5e6
    assert network.port_rate("1.2.3 Gb/sec") is None
    assert network.port_rate("fast") is None


def test_clock_status_bits_and_units() -> None:
    assert timekeeping.decode(0x0001, -2500) == timekeeping.ClockState(True, -0.0025)
    assert timekeeping.decode(0x2001, 1_500_000) == timekeeping.ClockState(True, 0.0015)
    assert not timekeeping.decode(0x0040, 0).synchronized


def test_clock_of_this_kernel_is_queried_without_setting_it() -> None:
    state = timekeeping.clock_state()
    assert isinstance(state, timekeeping.ClockState | Absence)
    if isinstance(state, timekeeping.ClockState):
        assert abs(state.offset_s) <= 1.0, "the kernel slews at most half a second"


def test_machine_identity_needs_a_whole_id() -> None:
    assert machine_uuid("0" * 32) is not None
    assert machine_uuid("uninitialized") is None
    assert machine_uuid("00") is None


@pytest.mark.parametrize("hidden", [(), ("_sha2",), ("_sha2", "_sha256")])
def test_a_digest_is_that_of_hmac_wherever_sha256_comes_from(
    hidden: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in hidden:
        monkeypatch.setitem(sys.modules, name, None)
    for key in (b"k" * 16, b"k" * 64, b""):
        assert keyed_digest(key, b"message") == hmac.digest(key, b"message", "sha256")


def test_pressure_over_one_is_refused() -> None:
    line = "some avg10=0.00 avg60={} avg300=0.00 total=1"
    assert procfs.pressure(line.format("101.00")) == []
    assert procfs.pressure(line.format("1.0.0")) == []
    assert procfs.pressure(line.format("100.00"))[0].ratio == 1.0


@given(st.text(max_size=400))
def test_any_text_is_survived(text: str) -> None:
    procfs.pressure(text)
    procfs.kernel_stat(text)
    procfs.load_averages(text)
    procfs.uptime(text)
    network.port_rate(text)
    mounts.measurable(mounts.parse(text), 64)
    nfs.mountstats(text)


@given(st.data())
def test_damaged_mountstats_invent_nothing(data: st.DataObject) -> None:
    whole = (
        "device s:/e mounted on /m with fstype nfs statvers=1.1\n"
        "\txprt:\ttcp 1 1 1 0 0 9 9 0 100 7 2 3 4\n\t  READ: 4 5 0 100 200 1 60 62 0\n"
    )
    cut = data.draw(st.integers(0, len(whole)))
    for mount in nfs.mountstats(whole[:cut]):
        assert mount.operations is None or mount.operations.requests == 4
        assert mount.transport.backlog in (None, 7)


@pytest.mark.parametrize("text", ["-5 1", "1e300 1", "nan", "", "soon"])
def test_an_uptime_that_cannot_be_true_is_none(text: str) -> None:
    assert procfs.uptime(text) is None


def test_a_negative_load_is_none() -> None:
    assert procfs.load_averages("0.5 -1 2 1/2 3") is None


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("SwapTotal:  8 kB\nSwapFree:  2 kB\n", 8192),
        ("SwapTotal:  0 kB\nSwapFree:  0 kB\n", 0),
        ("SwapTotal:  8 kB\n", None),
        ("SwapTotal:  8 kB\nSwapFree:  9 kB\n", None),
        ("SwapTotal:  8\nSwapFree:  2\n", None),
        ("", None),
    ],
)
def test_swap_needs_both_of_its_lines(text: str, size: int | None) -> None:
    found = procfs.swap(text)
    assert (found.size if found else None) == size


@pytest.mark.parametrize("text", ["-1", "18446744073709551615", "9" * 30, "1_000"])
def test_a_port_counter_that_cannot_be_true_is_left_out(tmp_path: Path, text: str) -> None:
    port = tmp_path / "sys/class/infiniband/mlx5_0/ports/1"
    (port / "counters").mkdir(parents=True)
    (port / "state").write_text("4: ACTIVE\n")
    (port / "counters/symbol_error").write_text(text)
    (port / "counters/port_rcv_data").write_text(text)
    (found,) = network.rdma_ports(tmp_path, 4)
    assert found.errors == {}
    assert found.received is Absence.ERROR
