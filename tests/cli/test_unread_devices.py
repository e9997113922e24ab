"""Devices that are there and cannot be read stay rows, whichever source of their backend failed."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from support.machines.nvidia_bus import lay_out_gpu
from support.machines.packed_trees import FakeTree
from support.processes.warm_command import accelwatch

NO_LIBRARY = (
    "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA"
    " Display Driver is properly installed and present in your system.\n"
)
LOG_LEVEL = "DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)\n"
IN_USE = LOG_LEVEL + "dcmi model initialized failed, because the device is used. ret is -8020\n"
PATIENT = ("--timeout", "50s")


class Site:
    """A machine of files, and the folder of its commands."""

    def __init__(self, folder: Path) -> None:
        self.root, self.commands = folder / "root", folder / "bin"
        self.tree = FakeTree(self.root)
        self.commands.mkdir()
        self.environ = {**os.environ, "PATH": f"{self.commands}:/usr/bin:/bin"}
        self.options: list[str] = []

    def command(self, name: str, printed: str, status: int) -> None:
        file = self.commands / name
        file.write_text(
            f"#!{sys.executable}\nprint({printed!r}, end='')\nraise SystemExit({status})\n"
        )
        file.chmod(0o755)

    def run(self, *words: str) -> tuple[int, str, str]:
        done = accelwatch(*words, "--root", str(self.root), *PATIENT, environ=self.environ)
        return done.returncode, done.stdout, done.stderr

    def snapshot(self, backend: str) -> tuple[int, dict[str, Any]]:
        code, printed, _ = self.run("--json", "--once", "--backend", backend)
        return code, json.loads(printed)


@pytest.fixture
def nvidia(tmp_path: Path) -> Site:
    """A GPU whose driver is loaded; its library is there and empty."""
    site = Site(tmp_path)
    lay_out_gpu(site.tree, "0000:17:00.0", "GPU-1", 0)
    libraries = tmp_path / "lib"
    libraries.mkdir()
    (libraries / "libnvidia-ml.so.1").touch()
    site.environ["LD_LIBRARY_PATH"] = str(libraries)
    return site


@pytest.fixture
def ascend(tmp_path: Path) -> Site:
    """Two NPUs on the bus."""
    site = Site(tmp_path)
    for bus in ("0000:c1:00.0", "0000:c2:00.0"):
        folder = f"sys/bus/pci/devices/{bus}"
        site.tree.write(f"{folder}/vendor", "0x19e5\n")
        site.tree.write(f"{folder}/device", "0xd802\n")
        site.tree.write(f"{folder}/class", "0x120000\n")
    site.tree.write("dev/davinci_manager", "")
    return site


def backend_of(document: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in document["backends"] if one["name"] == name]
    return dict(found)


@pytest.mark.parametrize("has_tool", [True, False], ids=["nvidia-smi fails", "no nvidia-smi"])
def test_a_gpu_whose_library_cannot_be_loaded_is_a_row(nvidia: Site, has_tool: bool) -> None:
    if has_tool:
        nvidia.command("nvidia-smi", NO_LIBRARY, 12)
    code, document = nvidia.snapshot("nvidia")
    (gpu,) = document["devices"]
    assert gpu["uuid"] == "GPU-1"
    assert gpu["state"] == "degraded"
    assert "is there and cannot be loaded: it is empty" in gpu["health_reasons"][0]
    backend = backend_of(document, "nvidia")
    assert backend["state"] == "unavailable"
    assert "is there and cannot be loaded: it is empty" in backend["message"]
    assert code == 1


@pytest.mark.parametrize("has_tool", [True, False], ids=["nvidia-smi fails", "no nvidia-smi"])
def test_a_check_counts_devices_that_cannot_be_read(nvidia: Site, has_tool: bool) -> None:
    if has_tool:
        nvidia.command("nvidia-smi", NO_LIBRARY, 12)
    words = ("check", "--backend", "nvidia", "--agent", "none")
    code, printed, _ = nvidia.run(*words)
    assert code == 3, printed
    assert printed.startswith("ACCELWATCH UNKNOWN")
    assert "it is empty" in printed.splitlines()[0]
    code, printed, _ = nvidia.run(*words, "--expect", "1")
    assert "1 expected" not in printed
    assert code == 2, printed
    assert "0 of 1 devices can be read; 1 on the bus cannot" in printed.splitlines()[0]
    assert "it is empty" in printed
    code, printed, _ = nvidia.run(*words, "--expect", "2")
    assert code == 2
    assert "1 devices, 2 expected" in printed


def test_npu_smi_that_fails_leaves_its_npus_rows_with_the_reason(ascend: Site) -> None:
    ascend.commands = ascend.root / "usr/local/Ascend/driver/tools"
    ascend.commands.mkdir(parents=True)
    ascend.command("npu-smi", IN_USE, 255)
    code, document = ascend.snapshot("ascend")
    assert len(document["devices"]) == 2
    for npu in document["devices"]:
        assert "the device is used. ret is -8020" in npu["health_reasons"][0]
    backend = backend_of(document, "ascend")
    assert (backend["state"], backend["reason"]) == ("unavailable", "command_failed")
    assert "another container or process has the devices" in backend["message"]
    assert code == 1


def test_npus_without_npu_smi_are_rows(ascend: Site) -> None:
    code, document = ascend.snapshot("ascend")
    assert [one["pci_bus_id"] for one in document["devices"]] == [
        "0000:c1:00.0",
        "0000:c2:00.0",
    ]
    assert {one["state"] for one in document["devices"]} == {"degraded"}
    backend = backend_of(document, "ascend")
    assert (backend["state"], backend["reason"]) == ("unavailable", "command_not_found")
    assert backend["devices"] == 2
    assert code == 1


def test_npus_that_a_guest_has_are_no_rows(ascend: Site) -> None:
    driver = ascend.root / "sys/bus/pci/drivers/vfio-pci"
    driver.mkdir(parents=True)
    (ascend.root / "sys/bus/pci/devices/0000:c2:00.0/driver").symlink_to(driver)
    _, document = ascend.snapshot("ascend")
    assert [one["pci_bus_id"] for one in document["devices"]] == ["0000:c1:00.0"]


@pytest.mark.parametrize(
    ("backend", "vendor", "device", "code", "reason"),
    [
        ("neuron", "0x1d0f", "0x7164", "0x088000", "driver_not_loaded"),
        ("tenstorrent", "0x1e52", "0x401e", "0x120000", "driver_not_loaded"),
        ("gaudi", "0x1da3", "0x1020", "0x120000", "command_not_found"),
        ("furiosa", "0x1ed2", "0x0001", "0x120000", "command_not_found"),
    ],
)
def test_a_check_counts_devices_whose_driver_is_not_loaded(
    tmp_path: Path, backend: str, vendor: str, device: str, code: str, reason: str
) -> None:
    site = Site(tmp_path)
    for bus in ("0000:c1:00.0", "0000:c2:00.0"):
        folder = f"sys/bus/pci/devices/{bus}"
        for name, text in (("vendor", vendor), ("device", device), ("class", code)):
            site.tree.write(f"{folder}/{name}", f"{text}\n")
    status, document = site.snapshot(backend)
    assert [one["state"] for one in document["devices"]] == ["degraded", "degraded"]
    found = backend_of(document, backend)
    assert (found["state"], found["reason"], found["devices"]) == ("unavailable", reason, 2)
    assert all(one["health_reasons"] == [found["message"]] for one in document["devices"])
    assert status == 1
    words = ("check", "--backend", backend, "--agent", "none", "--expect")
    status, printed, _ = site.run(*words, "2")
    assert "2 expected" not in printed
    assert "0 of 2 devices can be read; 2 on the bus cannot" in printed
    assert found["message"] in printed
    assert status == 2
    status, printed, _ = site.run(*words, "3")
    assert status == 2
    assert "2 devices, 3 expected" in printed
