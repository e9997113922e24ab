"""Processes: joined with /proc where the pid is ours, anonymous where it is not."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from accelwatch.backend import Request
from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.schema.reading import MAX_PROCESSES, Process, Reading
from accelwatch.system.kernel.proc import HOST_PID_NAMESPACE
from accelwatch_nvidia.devices.host_processes import has_gpu_open, stat_ticks

from .conftest import Machine, Rig

MIB = 1 << 20


def process_files(
    root: Path, pid: int, comm: str, *, start: int = 500, cpu: int = 100, gpu: bool = True
) -> None:
    folder = root / "proc" / str(pid)
    (folder / "fd").mkdir(parents=True, exist_ok=True)
    (folder / "comm").write_text(f"{comm}\n")
    rest = ["0"] * 40
    rest[0], rest[11], rest[12], rest[19] = "S", str(cpu), "0", str(start)
    (folder / "stat").write_text(f"{pid} ({comm}) {' '.join(rest)}\n")
    (folder / "status").write_text(f"Name:\t{comm}\nUid:\t4242\t4242\nVmRSS:\t  2048 kB\n")
    (folder / "cgroup").write_text("0::/system.slice/docker-" + "ab" * 32 + ".scope\n")
    (folder / "cmdline").write_bytes(b"python3\0train.py\0--x=\xff\0")
    link = folder / "fd" / "7"
    if gpu and not link.is_symlink():
        link.symlink_to("/dev/nvidia0")


def namespace(root: Path, name: str) -> None:
    folder = root / "proc/self/ns"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pid").symlink_to(name)


def processes(machine: Machine, **request: bool) -> tuple[Process, ...]:
    found = machine.read(0, **request)[0].processes
    assert found is not None
    return found


def test_a_process_of_ours_has_its_facts(rig: Rig) -> None:
    process_files(rig.root, 4242, "python3")
    namespace(rig.root, HOST_PID_NAMESPACE)
    scenario = rig.devices(1).processes(
        0,
        [
            {"pid": 4242, "kind": "c", "memory": 512 * MIB, "sm": 80},
            {"pid": 4242, "kind": "g", "memory": 512 * MIB},
        ],
    )
    with rig.machine(scenario) as machine:
        (process,) = processes(machine, argv=True)
    assert process.pid_namespace == "same"
    assert process.type == "compute+graphics"
    assert process.command == "python3"
    assert process.user == "4242"
    assert process.container == "ab" * 32
    assert process.argv == ("python3", "train.py", "--x=\ufffd")
    assert process.gpu_memory_bytes == 512 * MIB
    assert process.utilization_ratio == 0.8
    assert process.host_memory_bytes == 2048 * 1024
    assert process.absent == {"cpu_utilization_ratio": Absence.NOT_COLLECTED}


def test_a_pid_of_another_namespace_stays_anonymous(rig: Rig) -> None:
    process_files(rig.root, 4242, "sshd", gpu=False)
    namespace(rig.root, "pid:[4026532999]")
    scenario = rig.devices(1).processes(
        0, [{"pid": 4242, "kind": "c", "memory": MIB}, {"pid": 99, "kind": "c", "memory": MIB}]
    )
    with rig.machine(scenario) as machine:
        found = processes(machine)
    assert [process.pid_namespace for process in found] == ["foreign", "foreign"]
    assert [process.command for process in found] == [None, None]
    assert found[0].absent["command"] is Absence.UNSUPPORTED
    assert found[0].gpu_memory_bytes == MIB


def test_a_shared_namespace_in_a_container_is_known_by_the_open_device(rig: Rig) -> None:
    process_files(rig.root, 4242, "python3", gpu=True)
    namespace(rig.root, "pid:[4026532999]")
    scenario = rig.devices(1).processes(0, [{"pid": 4242, "kind": "c", "memory": MIB}])
    with rig.machine(scenario) as machine:
        (process,) = processes(machine)
    assert process.pid_namespace == "same"
    assert process.command == "python3"


def test_memory_that_the_driver_does_not_give_is_absent(rig: Rig) -> None:
    scenario = rig.devices(1).processes(0, [{"pid": 99, "kind": "c"}])
    with rig.machine(scenario) as machine:
        (process,) = processes(machine)
    assert process.gpu_memory_bytes is None
    assert process.absent["gpu_memory_bytes"] is Absence.UNSUPPORTED
    assert process.utilization_ratio is None
    assert process.absent["utilization_ratio"] is Absence.NOT_COLLECTED


def test_mps_clients_are_distinguished(rig: Rig) -> None:
    scenario = rig.devices(1).processes(
        0, [{"pid": 7, "kind": "m", "memory": MIB}, {"pid": 8, "kind": "g", "memory": MIB}]
    )
    with rig.machine(scenario) as machine:
        assert [process.type for process in processes(machine)] == ["mps", "graphics"]


def test_processes_are_left_out_when_not_requested(rig: Rig) -> None:
    with rig.machine(rig.scenario("h100x8")) as machine:
        reading = machine.read(0, processes=False)[0]
    assert reading.processes is None
    assert reading.absent["processes",] is Absence.NOT_COLLECTED


def test_facts_are_kept_while_a_pid_stays_and_read_again_on_slow(rig: Rig) -> None:
    clock = ManualClock()
    process_files(rig.root, 4242, "python3", cpu=100)
    scenario = rig.devices(1).processes(0, [{"pid": 4242, "kind": "c", "memory": MIB}])
    with rig.machine(scenario, clock=clock) as machine:
        (device,) = machine.identify(0)
        machine.backend.read(device, Request())
        ticks = os.sysconf("SC_CLK_TCK")
        process_files(rig.root, 4242, "python3", cpu=100 + 2 * ticks)
        clock.advance(10)
        machine.backend.read(device, Request(slow=False))
        process_files(rig.root, 4242, "renamed", cpu=100 + 7 * ticks)
        clock.advance(10)
        kept = (machine.backend.read(device, Request(slow=False))[0].processes or ())[0]
        fresh = (machine.backend.read(device, Request(slow=True))[0].processes or ())[0]
    assert kept.command == "python3"
    assert fresh.command == "renamed"
    assert fresh.cpu_utilization_ratio == pytest.approx(0.5)


def test_the_share_of_processors_is_known_at_the_second_reading(rig: Rig) -> None:
    clock = ManualClock()
    process_files(rig.root, 4242, "python3", cpu=100)
    scenario = rig.devices(1).processes(0, [{"pid": 4242, "kind": "c", "memory": MIB}])
    with rig.machine(scenario, clock=clock) as machine:
        (device,) = machine.identify(0)
        machine.backend.read(device, Request())
        process_files(rig.root, 4242, "python3", cpu=100 + os.sysconf("SC_CLK_TCK"))
        clock.advance(2)
        second = (machine.backend.read(device, Request(slow=False))[0].processes or ())[0]
    assert second.cpu_utilization_ratio == pytest.approx(0.5)


def test_a_reused_pid_is_a_new_process(rig: Rig) -> None:
    clock = ManualClock()
    process_files(rig.root, 4242, "old", start=500, cpu=100)
    scenario = rig.devices(1).processes(0, [{"pid": 4242, "kind": "c", "memory": MIB}])
    with rig.machine(scenario, clock=clock) as machine:
        (device,) = machine.identify(0)
        machine.backend.read(device, Request())
        process_files(rig.root, 4242, "new", start=900, cpu=900)
        clock.advance(1)
        fresh = (machine.backend.read(device, Request())[0].processes or ())[0]
    assert fresh.command == "new"
    assert fresh.cpu_utilization_ratio is None


@pytest.mark.parametrize("content", ["", "1 (x", "1 (x) S 1 2", "1 (a) b) S " + "x " * 30])
def test_a_broken_stat_file_is_no_process(tmp_path: Path, content: str) -> None:
    (tmp_path / "proc/1").mkdir(parents=True)
    (tmp_path / "proc/1/stat").write_text(content)
    assert stat_ticks(tmp_path, 1) is None
    assert not has_gpu_open(tmp_path, 1)


def test_of_a_crowd_those_with_the_most_memory_are_listed_and_the_note_says_so(rig: Rig) -> None:
    scenario = rig.devices(1).processes(0, [{"pid": 7, "kind": "g", "memory": 1 << 40}])
    with rig.machine(scenario.set(0, "process_crowd", 100_000)) as machine:
        reading = machine.read(0)[0]
    assert reading.processes is not None
    assert len(reading.processes) == MAX_PROCESSES
    largest = range(5_100_000 - MAX_PROCESSES + 1, 5_100_000)
    assert [process.pid for process in reading.processes] == [7, *largest]
    assert reading.notes == (
        f"processes are cut: {MAX_PROCESSES} of 100001, those with the most memory",
    )
    assert reading.values["power_watts",] > 0


def test_a_list_of_an_impossible_length_is_not_requested(rig: Rig) -> None:
    with rig.machine(rig.devices(1).set(0, "process_crowd", (1 << 32) - 1)) as machine:
        reading = machine.read(0)[0]
    assert reading.processes is None
    assert reading.absent["processes",] is Absence.ERROR
    assert reading.values["power_watts",] > 0


def test_numbers_are_reported_before_processes_are_requested(rig: Rig) -> None:
    early: list[tuple[float, int]] = []
    with rig.machine(rig.devices(1)) as machine:
        count_calls = partial(
            rig.library.standin_calls, b"nvmlDeviceGetComputeRunningProcesses_v3", 0
        )

        def numbers(readings: Sequence[Reading]) -> None:
            early.append((readings[0].values["power_watts",], count_calls()))

        before = count_calls()
        machine.read(0, numbers=numbers)
        after = count_calls()
    ((watts, when),) = early
    assert watts > 0
    assert before == when < after
