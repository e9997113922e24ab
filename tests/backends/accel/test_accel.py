"""NPUs of the accel class: whose they are, what their clients tell, and what nobody tells."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accelwatch.backend import ReadableAsleep, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DeviceSuspended
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_accel import AccelBackend
from backends.accel.machines import BUSES, MACHINES, add_process, fdinfo, machine
from support.machines.packed_trees import FakeTree
from support.machines.polling import Poll, assert_all_believed
from support.machines.staged_machines import Stage


def twice(stage: Stage, busy_ns: int) -> Reading:
    """The second reading of the first NPU, a second after the first."""
    backend, poll = stage.backend(), Poll(stage.clock)
    poll(backend)
    (stage.root / "proc/4100/fdinfo/7").write_text(fdinfo(0, busy_ns))
    return poll(backend)[0].readings[0]


def identified(stage: Stage) -> Device:
    backend = stage.backend()
    backend.open()
    (found,) = backend.discover()
    (device,) = backend.identify(found)
    return device


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


@pytest.mark.parametrize("product", ["RyzenAI-npu4", "NPU Strix Halo", "RyzenAI-npu3-aie2ps"])
def test_the_product_in_the_words_of_each_release(tmp_path: Path, product: str) -> None:
    stage = machine(tmp_path, 1)
    (tmp_path / "sys/bus/pci/devices" / BUSES[0] / "vbnv").write_text(f"{product}\n")
    assert identified(stage).model == product


@pytest.mark.parametrize("product", ["", "7", "\x1b[31mNPU", "N" * 80])
def test_a_product_that_is_none(tmp_path: Path, product: str) -> None:
    stage = machine(tmp_path, 1)
    (tmp_path / "sys/bus/pci/devices" / BUSES[0] / "vbnv").write_text(product)
    assert identified(stage).model == "AMD NPU (Strix, Krackan)"


def test_the_cores_of_a_rockchip_are_one_device_that_no_driver_is_bound_to(tmp_path: Path) -> None:
    tree = FakeTree(tmp_path)
    tree.write("sys/devices/platform/rknn/uevent", "MODALIAS=platform:rknn\n")
    tree.link("sys/class/accel/accel0/device", "sys/devices/platform/rknn")
    device = identified(Stage(AccelBackend, tmp_path))
    assert (device.id, device.pci_bus_id, device.model) == ("accel:rknn", None, "Rockchip NPU")
    assert device.device_nodes == ("/dev/accel/accel0",)


@pytest.mark.parametrize(
    ("uevent", "model"),
    [
        ("DRIVER=ethosu\nOF_NAME=npu\nOF_COMPATIBLE_0=arm,ethos-u85\n", "Arm Ethos-U85"),
        ("DRIVER=ethosu\n", "Arm Ethos-U"),
    ],
)
def test_an_arm_ethos_of_no_pci_bus(tmp_path: Path, uevent: str, model: str) -> None:
    tree = FakeTree(tmp_path)
    tree.write("sys/devices/platform/4a900000.npu/uevent", uevent)
    tree.link("sys/devices/platform/4a900000.npu/driver", "sys/bus/platform/drivers/ethosu")
    tree.link("sys/class/accel/accel0/device", "sys/devices/platform/4a900000.npu")
    device = identified(Stage(AccelBackend, tmp_path))
    assert (device.id, device.model) == ("accel:4a900000.npu", model)


def test_a_device_without_a_driver_is_none(tmp_path: Path) -> None:
    tree = FakeTree(tmp_path)
    tree.write("sys/devices/platform/4a900000.npu/uevent", "")
    tree.link("sys/class/accel/accel0/device", "sys/devices/platform/4a900000.npu")
    assert not Stage(AccelBackend, tmp_path).backend().probe().present


def test_a_client_of_a_driver_without_fdinfo_leaves_no_sum(tmp_path: Path) -> None:
    """rocket, ethosu, and amdxdna before it wrote fdinfo: who works there is not told."""
    stage = machine(tmp_path, 1)
    (tmp_path / "proc/4100/fdinfo/7").write_text("pos:\t0\nflags:\t02100002\nmnt_id:\t26\n")
    backend, poll = stage.backend(), Poll(stage.clock)
    poll(backend)
    reading = poll(backend)[0].readings[0]
    assert reading.absent["utilization_ratio",] is Absence.UNSUPPORTED
    assert reading.absent["memory_used_bytes",] is Absence.UNSUPPORTED


def test_a_release_that_reports_memory_and_no_load(tmp_path: Path) -> None:
    """amdxdna of Linux 7: its own counts, and those that DRM keeps."""
    fdinfo_text = (
        "pos:\t0\ndrm-driver:\tamdxdna_accel_driver\ndrm-client-id:\t5\n"
        f"drm-pdev:\t{BUSES[0]}\namdxdna_accel_driver-heap-alloc:\t64 MiB\n"
        "amdxdna_accel_driver-internal-alloc:\t128 KiB\ndrm-total-memory:\t3 MiB\n"
        "drm-shared-memory:\t0\ndrm-active-memory:\t0\ndrm-resident-memory:\t2 MiB\n"
    )
    stage = machine(tmp_path, 1)
    (tmp_path / "proc/4100/fdinfo/7").write_text(fdinfo_text)
    backend, poll = stage.backend(), Poll(stage.clock)
    poll(backend)
    reading = poll(backend)[0].readings[0]
    assert reading.absent["utilization_ratio",] is Absence.UNSUPPORTED
    assert reading.values["memory_used_bytes",] == 2 << 20


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


def test_a_client_that_reports_no_memory_leaves_no_sum(tmp_path: Path) -> None:
    stage = machine(tmp_path, 1)
    clients = fdinfo(0, 5, client=6).partition("drm-total")[0]
    add_process(FakeTree(tmp_path), 4300, 0, clients)
    (polled,) = Poll(stage.clock)(stage.backend())
    assert polled.readings[0].absent["memory_used_bytes",] is Absence.UNSUPPORTED


def test_asleep_and_off_the_bus_are_distinguished(tmp_path: Path) -> None:
    with MACHINES[2].stage(tmp_path) as stage:
        backend = stage.backend()
        _, asleep, lost = backend.discover()
        with pytest.raises(DeviceSuspended):
            backend.read(asleep, Request())
        assert isinstance(backend, ReadableAsleep)
        assert backend.readable_asleep(asleep)
        (known,) = backend.identify(asleep)
        assert (known.model, known.firmware_version) == ("RyzenAI-npu4", "1.1.2.64")
        with pytest.raises(DeviceLost):
            backend.read(lost, Request())


def test_of_a_driver_that_is_not_known_a_sleeping_device_is_not_queried(tmp_path: Path) -> None:
    with MACHINES[2].stage(tmp_path) as stage:
        link = tmp_path / "sys/bus/pci/devices" / BUSES[1] / "driver"
        link.unlink()
        link.symlink_to("/sys/bus/pci/drivers/newnpu")
        backend = stage.backend()
        asleep = backend.discover()[1]
        assert isinstance(backend, ReadableAsleep)
        assert not backend.readable_asleep(asleep)
        assert backend.identify(asleep) == [asleep]


_FILES = ("vendor", "device", "numa_node", "vbnv", "fw_version", "config", "power/runtime_status")
_DAMAGE = st.binary(max_size=24) | st.sampled_from([b"N/A\n", b"-1\n", b"suspended\n", b"0x\n"])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(_FILES), _DAMAGE), st.data())
def test_of_damaged_files_nothing_is_invented(
    tmp_path_factory: pytest.TempPathFactory, damage: dict[str, bytes], data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("npu")
    stage = machine(root, 1)
    for name, content in damage.items():
        (root / "sys/bus/pci/devices" / BUSES[0] / name).write_bytes(content)
    lines = data.draw(st.permutations(fdinfo(0, 10**9).splitlines(keepends=True)))
    text = "".join(lines[: data.draw(st.integers(0, len(lines)))]).encode()
    (root / "proc/4100/fdinfo/7").write_bytes(text + data.draw(_DAMAGE))
    (polled,) = Poll(stage.clock)(stage.backend())
    for reading in polled.readings:
        assert_all_believed(polled.identity, polled.readings)
        assert reading.values.get(("memory_used_bytes",), 0) in (0, 2 << 20)
        assert ("utilization_ratio",) not in reading.values
