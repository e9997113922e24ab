"""NPUs of the accel class: whose they are, what their clients tell, and what nobody tells."""

from pathlib import Path

import pytest

from accelwatch.backend import Request
from accelwatch.errors import BackendUnavailable, DeviceLost, DeviceSuspended
from accelwatch.schema.absence import Absence
from accelwatch.schema.reading import Reading
from accelwatch_accel import AccelBackend
from backends.accel.machines import BUSES, MACHINES, add_process, fdinfo, machine
from packed_trees import FakeTree
from polling import Poll
from staged_machines import Stage


def twice(stage: Stage, busy_ns: int) -> Reading:
    """The second reading of the first NPU, a second after the first."""
    backend, poll = stage.backend(), Poll(stage.clock)
    poll(backend)
    (stage.root / "proc/4100/fdinfo/7").write_text(fdinfo(0, busy_ns))
    return poll(backend)[0].readings[0]


def test_who_it_is(tmp_path: Path) -> None:
    backend = machine(tmp_path, 1).backend()
    assert backend.open().versions == {"amdxdna": "6.17.0"}
    (found,) = backend.discover()
    (device,) = backend.identify(found)
    assert (found.model, found.firmware_version) == ("AMD NPU (Strix, Krackan)", None)
    assert (device.model, device.firmware_version) == ("RyzenAI-npu4", "1.1.2.64")
    assert (device.id, device.pci_bus_id) == (f"accel:{BUSES[0]}", BUSES[0])
    assert device.device_nodes == ("/dev/accel/accel0",)


@pytest.mark.parametrize("driver", ["habanalabs", "intel_vpu", "qaic"])
def test_what_another_backend_reads_is_not_ours(tmp_path: Path, driver: str) -> None:
    stage = machine(tmp_path, 1)
    link = tmp_path / "sys/bus/pci/devices" / BUSES[0] / "driver"
    link.unlink()
    link.symlink_to(f"/sys/bus/pci/drivers/{driver}")
    assert not stage.backend().probe().present
    with pytest.raises(BackendUnavailable):
        stage.backend().open()


def test_a_device_of_no_pci_bus(tmp_path: Path) -> None:
    tree = FakeTree(tmp_path)
    tree.link("sys/devices/platform/fdab0000.npu/driver", "sys/bus/platform/drivers/rocket")
    tree.link("sys/class/accel/accel0/device", "sys/devices/platform/fdab0000.npu")
    (device,) = Stage(AccelBackend, tmp_path).backend().discover()
    assert (device.id, device.pci_bus_id, device.model) == ("accel:fdab0000.npu", None, None)


def test_load_and_memory_are_those_of_the_clients(tmp_path: Path) -> None:
    reading = twice(machine(tmp_path, 1), 1_250_000_000)
    assert reading.values["utilization_ratio",] == 0.25
    assert reading.values["engine_utilization_ratio", "npu"] == 0.25
    assert reading.values["memory_used_bytes",] == 2 << 20
    (process,) = reading.processes or ()
    assert (process.pid, process.command, process.utilization_ratio) == (4100, "infer", 0.25)
    assert process.gpu_memory_bytes == 2 << 20


def test_without_clients_it_is_idle(tmp_path: Path) -> None:
    stage = machine(tmp_path, 2)
    backend, poll = stage.backend(), Poll(stage.clock)
    poll(backend)
    values = poll(backend)[1].readings[0].values
    assert (values["utilization_ratio",], values["memory_used_bytes",]) == (0.0, 0)


def test_in_a_container_no_sum_is_invented(tmp_path: Path) -> None:
    stage = machine(tmp_path, 1)
    (tmp_path / "proc/self/ns/pid").unlink()
    (tmp_path / "proc/self/ns/pid").symlink_to("pid:[4026532999]")
    reading = twice(stage, 2 * 10**9)
    assert ("utilization_ratio",) not in reading.values
    assert reading.absent["memory_used_bytes",] is Absence.PERMISSION


@pytest.mark.parametrize("cut", range(0, len(fdinfo(0, 10**9)), 7))
def test_a_cut_fdinfo_invents_nothing(tmp_path: Path, cut: int) -> None:
    stage = machine(tmp_path, 1)
    (tmp_path / "proc/4100/fdinfo/7").write_text(fdinfo(0, 10**9)[:cut])
    (polled,) = Poll(stage.clock)(stage.backend())
    values = polled.readings[0].values
    assert values.get(("memory_used_bytes",), 2 << 20) == 2 << 20
    assert ("utilization_ratio",) not in values


def test_a_client_that_tells_no_memory_leaves_no_sum(tmp_path: Path) -> None:
    stage = machine(tmp_path, 1)
    told = fdinfo(0, 5, client=6).partition("drm-total")[0]
    add_process(FakeTree(tmp_path), 4300, 0, told)
    (polled,) = Poll(stage.clock)(stage.backend())
    assert polled.readings[0].absent["memory_used_bytes",] is Absence.UNSUPPORTED


def test_asleep_and_off_the_bus_are_told_apart(tmp_path: Path) -> None:
    with MACHINES[2].stage(tmp_path) as stage:
        backend = stage.backend()
        _, asleep, lost = backend.discover()
        with pytest.raises(DeviceSuspended):
            backend.read(asleep, Request())
        with pytest.raises(DeviceLost):
            backend.read(lost, Request())
