"""What is told without any library: GPUs on the bus, the driver's list, the loader's folders."""

import json
from pathlib import Path

import pytest

from accelwatch.backend import Context
from accelwatch.backend.errors import BackendUnavailable
from accelwatch_nvidia import NvidiaBackend, presence
from support.machines.packed_trees import uevent_of
from support.machines.samples import sample

from .conftest import Rig


def test_an_empty_machine_has_nothing(tmp_path: Path) -> None:
    probe = NvidiaBackend(Context(root=tmp_path)).probe()
    assert not probe.present
    assert not any(check.ok for check in probe.checks)


def test_a_gpu_without_a_driver_is_present_and_says_what_to_do(rig: Rig) -> None:
    rig.tree.write("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n")
    rig.tree.write("sys/bus/pci/devices/0000:01:00.0/device", "0x2684\n")
    rig.tree.write("sys/bus/pci/devices/0000:01:00.0/class", "0x030000\n")
    rig.tree.write("sys/bus/pci/devices/0000:01:00.1/vendor", "0x10de\n")
    rig.tree.write("sys/bus/pci/devices/0000:01:00.1/device", "0x22ba\n")
    rig.tree.write("sys/bus/pci/devices/0000:01:00.1/class", "0x040300\n")
    probe = presence.probe(rig.root, {})
    assert probe.present
    checks = {check.subject: check for check in probe.checks}
    assert checks["NVIDIA GPU on the PCI bus"].found == "1, kernel driver none"
    assert checks["nvidia kernel driver"].remedy == "load the kernel module: modprobe nvidia"


def test_a_library_named_by_the_loader_path_is_worth_a_try(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "libnvidia-ml.so.1").write_bytes(b"")
    probe = presence.probe(tmp_path, {"LD_LIBRARY_PATH": f"/none:{folder}"})
    assert probe.present


def test_a_library_of_an_image_alone_is_not_a_gpu(rig: Rig) -> None:
    rig.tree.write("usr/lib64/libnvidia-ml.so.1", "")
    probe = presence.probe(rig.root, {})
    assert not probe.present
    assert probe.checks[-1].ok


def hold(rig: Rig, bus: str, driver: str) -> None:
    folder = f"sys/bus/pci/devices/{bus}"
    rig.tree.write(f"{folder}/vendor", "0x10de\n")
    rig.tree.write(f"{folder}/device", "0x2684\n")
    rig.tree.write(f"{folder}/class", "0x030000\n")
    (rig.root / folder / "driver").symlink_to(f"/sys/bus/pci/drivers/{driver}")


def test_gpus_handed_to_virtual_machines_are_not_ours(rig: Rig) -> None:
    hold(rig, "0000:01:00.0", "vfio-pci")
    assert not presence.probe(rig.root, {}).present
    hold(rig, "0000:02:00.0", "nvidia")
    assert presence.probe(rig.root, {}).present
    assert [gpu.pci_bus_id for gpu in presence.present_gpus(rig.root)] == ["0000:02:00.0"]


def test_a_gpu_of_nouveau_is_named_so(rig: Rig) -> None:
    hold(rig, "0000:01:00.0", "nouveau")
    checks = {check.subject: check for check in presence.probe(rig.root, {}).checks}
    assert "nouveau" in checks["nvidia kernel driver"].remedy
    scenario = rig.devices(1).fault("nvmlInit_v2", "error:9")
    with pytest.raises(BackendUnavailable) as refused, rig.machine(scenario):
        pass
    assert refused.value.reason == "other_driver"
    assert "nouveau" in str(refused.value)


def test_a_device_node_that_may_not_be_opened(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.tree.write("dev/nvidiactl", "")
    monkeypatch.setattr("os.access", lambda *_: False)
    checks = {check.subject: check for check in presence.probe(rig.root, {}).checks}
    assert checks["/dev/nvidiactl"].found == "no read and write permission"
    assert not checks["/dev/nvidiactl"].ok


def test_the_drivers_list_in_pci_order(rig: Rig) -> None:
    rig.gpu_on_bus("0000:b8:00.0", "GPU-2", 1)
    rig.gpu_on_bus("0000:10:00.0", "GPU-1", 0)
    found = presence.driver_gpus(rig.root)
    assert [gpu.pci_bus_id for gpu in found] == ["0000:10:00.0", "0000:b8:00.0"]
    assert found[0].model == "NVIDIA H100 80GB HBM3"
    assert found[0].uuid == "GPU-1"
    assert found[0].minor == 0
    assert found[0].vbios_version == "96.00.99.00.01"


def test_a_gpu_not_initialised_yet_has_no_uuid(rig: Rig) -> None:
    rig.tree.write(
        "proc/driver/nvidia/gpus/0000:01:00.0/information",
        "Model: \t\t Unknown\nGPU UUID: \t GPU-????????-????-????-????-????????????\n"
        "Video BIOS: \t ??.??.??.??.??\nGPU Firmware: \t N/A\nBus Location: \t 0000:01:00.0\n",
    )
    (gpu,) = presence.driver_gpus(rig.root)
    assert (gpu.model, gpu.uuid) == (None, None)
    assert (gpu.vbios_version, gpu.firmware_version) == (None, None)


@pytest.mark.parametrize("content", ["", "garbage", "Bus Location: \t nonsense\n"])
def test_a_broken_information_file_is_not_fatal(rig: Rig, content: str) -> None:
    rig.tree.write("proc/driver/nvidia/gpus/0000:01:00.0/information", content)
    assert [gpu.pci_bus_id for gpu in presence.driver_gpus(rig.root)] in ([], ["0000:01:00.0"])


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  590.48.01  Release Build\n"
            "GCC version:  gcc version 12.3.0\n",
            "590.48.01",
        ),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  418.43  Sun Feb 10 2019\n", "418.43"),
        ("", None),
    ],
)
def test_driver_version_from_proc(rig: Rig, text: str, version: str | None) -> None:
    rig.tree.write("proc/driver/nvidia/version", text)
    assert presence.driver_version(rig.root) == version


@pytest.mark.oracle
def test_a_recorded_card_is_found_on_its_bus(rig: Rig) -> None:
    files = json.loads(sample("nvidia/sysfs/rtx4080.json").read_text())["files"]
    folder = "sys/bus/pci/devices/0000:09:00.0"
    rig.tree.write(f"{folder}/vendor", files["card1/device/vendor"])
    _, uevent = uevent_of(files)
    rig.tree.write(f"{folder}/class", f"0x{int(uevent['PCI_CLASS'], 16):06x}\n")
    rig.tree.write(f"{folder}/device", f"0x{uevent['PCI_ID'].partition(':')[2].lower()}\n")
    (rig.root / folder / "driver").symlink_to(f"/sys/bus/pci/drivers/{uevent['DRIVER']}")
    (gpu,) = presence.present_gpus(rig.root)
    assert gpu.pci_bus_id == "0000:09:00.0"
    assert gpu.kernel_driver == "nvidia"
