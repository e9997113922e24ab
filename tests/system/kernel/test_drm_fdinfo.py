"""DRM fdinfo: recorded texts, a fake /proc, ratios over time, and damaged input."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.base.clock import ManualClock
from accelwatch.system.kernel.drm_fdinfo import (
    DrmClient,
    FdinfoScanner,
    UsageMeter,
    client_memory_bytes,
    parse_fdinfo,
    unshared_bytes,
)
from support.machines.samples import sample

KIB, MIB = 1 << 10, 1 << 20
CARD = "0000:03:00.0"


def recorded(name: str) -> str:
    return sample(f"fdinfo/{name}").read_text()


def parsed(text: str) -> DrmClient:
    client = parse_fdinfo(text)
    assert client is not None
    return client


@pytest.mark.oracle
def test_amdgpu_compute_recording() -> None:
    client = parsed(recorded("amdgpu_compute_v2_purgeable.txt"))
    assert (client.driver, client.pdev, client.client_id) == ("amdgpu", "0000:04:00.0", 4)
    assert client.engines == {"compute": 46464671}
    assert client.memory["vram"] == {
        "total": 44564 * KIB,
        "shared": 31952 * KIB,
        "active": 0,
        "resident": 44564 * KIB,
        "purgeable": 0,
        "memory": 44564 * KIB,
    }
    assert client.memory["gtt"]["memory"] == 2392 * KIB
    assert client.memory["cpu"]["memory"] == 0
    assert client_memory_bytes(client, ["vram", "gtt"]) == (44564 + 2392) * KIB
    assert unshared_bytes(client, ["vram", "gtt"]) == (44564 - 31952 + 2392) * KIB


@pytest.mark.oracle
def test_amdgpu_graphics_recording() -> None:
    client = parsed(recorded("amdgpu_gfx.txt"))
    assert client.client_id == 30
    assert client.engines == {"gfx": 39456116802}
    assert client.memory["gtt"]["total"] == 22 * MIB
    assert client.memory["gtt"]["active"] == 10 * MIB
    assert client_memory_bytes(client, ["vram"]) == 544428 * KIB


@pytest.mark.oracle
def test_i915_recording() -> None:
    client = parsed(recorded("i915_chromeos_kohaku.txt"))
    assert (client.driver, client.pdev, client.client_id) == ("i915", "0000:00:02.0", 22)
    assert client.engines == {"render": 0, "copy": 0, "video": 0, "video-enhance": 0}
    assert client.memory == {"memory": {"total": 102 * MIB, "shared": 102 * MIB, "active": 0}}
    assert unshared_bytes(client, ["memory"]) == 0


@pytest.mark.oracle
def test_xe_recording() -> None:
    excerpt = recorded("xe_kernel_doc.txt")
    assert parse_fdinfo(excerpt) is None, "the excerpt begins below drm-driver"
    client = parsed(f"drm-driver: xe\ndrm-client-id: 9\ndrm-pdev: {CARD}\n{excerpt}")
    assert client.cycles == {"rcs": 28257900, "bcs": 0, "vcs": 0, "vecs": 0, "ccs": 0}
    assert set(client.total_cycles.values()) == {7655183225}
    assert client.capacity == {"vcs": 2, "vecs": 2, "ccs": 4}
    assert client.memory["vram0"]["resident"] == 23992 * KIB
    assert client.memory["vram0"]["shared"] == 16 * MIB
    assert unshared_bytes(client, ["vram0", "stolen"]) == (23992 - 16 * 1024) * KIB
    assert "cycles" not in client.memory


def test_a_file_of_another_kind_is_no_client() -> None:
    assert parse_fdinfo("pos:\t0\nflags:\t02\nmnt_id:\t24\n") is None


def test_a_cut_line_gives_no_value() -> None:
    text = "drm-driver: amdgpu\ndrm-pdev: 0000:03:00.0\ndrm-engine-gfx: 39456"
    assert parsed(text).engines == {}
    assert parsed(text + "\n").engines == {}, "nanoseconds need their unit"


@pytest.mark.parametrize("value", ["-1", "many", "", "1.5 KiB", "12 bushels", "9" * 400, "٣"])
def test_damaged_amounts_are_left_out(value: str) -> None:
    assert parsed(f"drm-driver: xe\ndrm-total-vram0: {value}\n").memory == {}


def test_memory_not_named_is_unknown() -> None:
    assert client_memory_bytes(parsed("drm-driver: xe\n"), ["vram0"]) is None
    assert unshared_bytes(parsed("drm-driver: xe\n"), ["vram0"]) is None


@given(st.text(max_size=400))
def test_any_text_is_survived(text: str) -> None:
    parse_fdinfo(text)


@given(st.integers(0, 200), st.text(max_size=5))
def test_truncated_and_damaged_text_invents_nothing(cut: int, junk: str) -> None:
    whole = (
        "drm-driver:\txe\ndrm-client-id:\t7\ndrm-pdev:\t0000:03:00.0\n"
        "drm-total-vram0:\t23992 KiB\ndrm-cycles-ccs:\t28257900\ndrm-total-cycles-ccs:\t7655183225\n"
    )
    client = parse_fdinfo(whole[:cut])
    if client is not None:
        assert client.cycles in ({}, {"ccs": 28257900})
        assert client.total_cycles in ({}, {"ccs": 7655183225})
        assert client.memory in ({}, {"vram0": {"total": 23992 * KIB}})
    parse_fdinfo(whole[:cut] + junk + whole[cut:])


class Machine:
    """A fake /proc whose processes hold device nodes."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def process(self, pid: int, start: int = 100) -> None:
        folder = self.root / "proc" / str(pid)
        (folder / "fd").mkdir(parents=True, exist_ok=True)
        (folder / "fdinfo").mkdir(exist_ok=True)
        fields = ["S", "1", *["0"] * 17, str(start), "0"]
        (folder / "stat").write_text(f"{pid} (a ) name) {' '.join(fields)}\n")

    def open(self, pid: int, fd: int, text: str, node: str = "/dev/dri/renderD128") -> None:
        folder = self.root / "proc" / str(pid)
        (folder / "fd" / str(fd)).symlink_to(node)
        (folder / "fdinfo" / str(fd)).write_text(text)


def fdinfo(client: int, busy: int = 0, pdev: str = CARD) -> str:
    return f"drm-driver: i915\ndrm-client-id: {client}\ndrm-pdev: {pdev}\ndrm-engine-render: {busy} ns\n"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_shared_client_counts_once(machine: Machine, tmp_path: Path) -> None:
    for pid in (20, 10):
        machine.process(pid)
        machine.open(pid, 3, fdinfo(1))
        machine.open(pid, 4, fdinfo(1))
        machine.open(pid, 5, "pos: 0\n", node="/dev/null")
    machine.open(20, 6, fdinfo(2))
    scan = FdinfoScanner(tmp_path, ManualClock()).scan()
    assert [(client.pid, client.client_id) for client in scan.clients] == [(10, 1), (20, 2)]
    assert (scan.processes_visited, scan.processes_unreadable) == (2, 0)


def test_same_client_id_on_two_devices_is_two_clients(machine: Machine, tmp_path: Path) -> None:
    machine.process(10)
    machine.open(10, 3, fdinfo(1))
    machine.open(10, 4, fdinfo(1, pdev="0000:04:00.0"), node="/dev/dri/renderD129")
    scanner = FdinfoScanner(tmp_path, ManualClock())
    assert len(scanner.scan().clients) == 2
    assert [client.pdev for client in scanner.scan("0000:04:00.0").clients] == ["0000:04:00.0"]
    assert scanner.scan("0000:05:00.0").clients == ()


def test_clients_without_an_id_are_distinguished_by_open_file(
    machine: Machine, tmp_path: Path
) -> None:
    text = f"drm-driver: old\ndrm-pdev: {CARD}\n"
    node = tmp_path / "dev/dri/renderD128"
    node.parent.mkdir(parents=True)
    node.touch()
    for pid in (10, 11):
        machine.process(pid)
        machine.open(pid, 3, text)
        machine.open(pid, 4, text)
    scan = FdinfoScanner(tmp_path, ManualClock()).scan()
    assert {client.pid for client in scan.clients} == {10, 11}
    assert all(client.client_id is None for client in scan.clients)


def test_device_of_a_platform_driver_comes_from_its_node(machine: Machine, tmp_path: Path) -> None:
    machine.process(10)
    machine.open(10, 3, "drm-driver: panthor\ndrm-client-id: 3\n")
    node = tmp_path / "sys/class/drm/renderD128"
    node.mkdir(parents=True)
    (node / "device").symlink_to("../../../fb000000.gpu")
    (client,) = FdinfoScanner(tmp_path, ManualClock()).scan().clients
    assert client.pdev == "fb000000.gpu"


def test_new_holders_are_found_by_the_next_search(machine: Machine, tmp_path: Path) -> None:
    clock = ManualClock()
    scanner = FdinfoScanner(tmp_path, clock)
    machine.process(10)
    machine.open(10, 3, fdinfo(1))
    assert len(scanner.scan().clients) == 1
    machine.process(11)
    machine.open(11, 3, fdinfo(2))
    clock.advance(4.9)
    assert len(scanner.scan().clients) == 1
    clock.advance(0.2)
    assert len(scanner.scan().clients) == 2


def test_a_reused_pid_is_not_the_remembered_process(machine: Machine, tmp_path: Path) -> None:
    clock = ManualClock()
    scanner = FdinfoScanner(tmp_path, clock)
    machine.process(10, start=100)
    machine.open(10, 3, fdinfo(1))
    assert len(scanner.scan().clients) == 1
    machine.process(10, start=200)
    assert scanner.scan().clients == ()
    clock.advance(5)
    assert len(scanner.scan().clients) == 1


def test_a_process_that_ends_between_reads_is_left_out(machine: Machine, tmp_path: Path) -> None:
    scanner = FdinfoScanner(tmp_path, ManualClock())
    machine.process(10)
    machine.open(10, 3, fdinfo(1))
    scanner.scan()
    (tmp_path / "proc/10/fdinfo/3").unlink()
    assert scanner.scan().clients == ()


def test_no_proc_is_an_empty_scan(tmp_path: Path) -> None:
    scan = FdinfoScanner(tmp_path, ManualClock()).scan()
    assert (scan.clients, scan.processes_visited) == ((), 0)


def busy(client: int, ns: int, pid: int = 5, **more: object) -> DrmClient:
    fields = {"engines": {"render": ns}} | more
    return DrmClient(pdev=CARD, driver="i915", client_id=client, pid=pid, **fields)  # type: ignore[arg-type]


def test_nanoseconds_over_wall_time_and_capacity() -> None:
    meter = UsageMeter()
    assert meter.update([busy(1, 0, engines={"video": 10**9}, capacity={"video": 2})], 10.0) == {}
    later = busy(1, 0, engines={"video": 2 * 10**9}, capacity={"video": 2})
    assert meter.update([later], 12.0) == {5: {"video": 0.25}}
    assert meter.engine_totals(CARD) == {"video": 0.25}


def test_cycles_over_the_devices_own_total() -> None:
    meter = UsageMeter()
    first = busy(1, 0, engines={}, cycles={"ccs": 100}, total_cycles={"ccs": 1000})
    second = busy(
        1, 0, engines={}, cycles={"ccs": 500}, total_cycles={"ccs": 2000}, capacity={"ccs": 4}
    )
    meter.update([first], 1.0)
    assert meter.update([second], 2.0) == {5: {"ccs": 0.1}}
    assert meter.update([second], 3.0) == {5: {}}, "a total that stands still tells nothing"


def test_a_vanished_client_does_not_make_the_sum_fall() -> None:
    meter = UsageMeter()
    meter.update([busy(1, 9 * 10**9), busy(2, 10**9, pid=6)], 1.0)
    assert meter.update([busy(2, 15 * 10**8, pid=6)], 2.0) == {6: {"render": 0.5}}
    assert meter.engine_totals(CARD) == {"render": 0.5}


def test_a_new_client_counts_from_its_second_reading() -> None:
    meter = UsageMeter()
    meter.update([], 1.0)
    assert meter.update([busy(1, 9 * 10**9)], 2.0) == {}
    assert meter.engine_totals(CARD) == {}


def test_ratios_stay_within_one_and_never_below_zero() -> None:
    meter = UsageMeter()
    meter.update([busy(1, 0), busy(2, 5 * 10**9)], 1.0)
    assert meter.update([busy(1, 9 * 10**9), busy(2, 0)], 2.0) == {5: {"render": 1.0}}


def test_no_time_passed_gives_nothing_and_keeps_the_base() -> None:
    meter = UsageMeter()
    meter.update([busy(1, 0)], 1.0)
    assert meter.update([busy(1, 10**9)], 1.0) == {}
    assert meter.update([busy(1, 10**9)], 3.0) == {5: {"render": 0.5}}


def test_the_sum_of_two_clients_of_a_process_is_clamped() -> None:
    meter = UsageMeter()
    meter.update([busy(1, 0), busy(2, 0)], 1.0)
    assert meter.update([busy(1, 8 * 10**8), busy(2, 8 * 10**8)], 2.0) == {5: {"render": 1.0}}


@pytest.mark.oracle
@pytest.mark.parametrize(
    "name",
    [
        "amdgpu_compute_v2_purgeable.txt",
        "amdgpu_gfx.txt",
        "i915_chromeos_kohaku.txt",
        "xe_kernel_doc.txt",
    ],
)
def test_every_prefix_of_a_recording_holds_only_what_the_whole_holds(name: str) -> None:
    whole = f"drm-driver: any\n{recorded(name)}"
    client = parsed(whole)
    for cut in range(len(whole)):
        part = parse_fdinfo(whole[:cut])
        if part is None:
            continue
        assert part.engines.items() <= client.engines.items()
        assert part.cycles.items() <= client.cycles.items()
        for region, states in part.memory.items():
            assert states.items() <= client.memory[region].items()


def test_processes_of_other_users_are_counted_as_unreadable(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pid in (10, 11):
        machine.process(pid)
        machine.open(pid, 3, fdinfo(pid))
    really = os.scandir

    def scandir(path: Path) -> object:
        if path == tmp_path / "proc/11/fd":
            raise PermissionError(13, "Permission denied")
        return really(path)

    monkeypatch.setattr(os, "scandir", scandir)
    scan = FdinfoScanner(tmp_path, ManualClock()).scan()
    assert [client.pid for client in scan.clients] == [10]
    assert (scan.processes_visited, scan.processes_unreadable) == (2, 1)


def test_several_threads_may_scan_at_once(machine: Machine, tmp_path: Path) -> None:
    for pid in range(10, 30):
        machine.process(pid)
        machine.open(pid, 3, fdinfo(pid))
    clock = ManualClock()
    scanner = FdinfoScanner(tmp_path, clock)

    def scan(_: int) -> int:
        clock.advance(3.0)
        return len(scanner.scan(CARD).clients)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(scan, range(24))) == {20}
