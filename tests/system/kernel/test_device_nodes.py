"""Which functions of a bus were given to a container that sees all of it."""

import os
from pathlib import Path

import pytest

from accelwatch.system.kernel.device_nodes import is_virtual_function, why_withheld
from support.machines.pci_nodes import bind, give, make_virtual_function, name_node

ONE, TWO = "0000:51:00.0", "0000:d8:00.0"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    bind(tmp_path, ONE, "npu")
    bind(tmp_path, TWO, "npu")
    return tmp_path


def why(root: Path, bus: str = ONE, pattern: str = "") -> str:
    return why_withheld(root, bus, (ONE, TWO), pattern)


def test_a_node_that_is_not_here_is_somebody_elses(root: Path) -> None:
    name_node(root, ONE, "npu_class", "npu0")
    assert why(root) == "/dev/npu0 is not here"
    give(root, "npu0")
    assert not why(root)


def test_one_node_of_several_is_enough(root: Path) -> None:
    name_node(root, ONE, "accel", "accel/accel0")
    name_node(root, ONE, "npu_class", "npu0")
    give(root, "accel/accel0")
    assert not why(root)


def test_a_node_that_may_not_be_opened_is_somebody_elses(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_node(root, ONE, "npu_class", "npu0")
    give(root, "npu0")
    paths: list[object] = []

    def refused(path: object, mode: int) -> bool:
        paths.append((path, mode))
        return False  # root, as whom the tests may run, could open every node

    monkeypatch.setattr(os, "access", refused)
    refusal = "/dev/npu0 may not be opened: its permissions or a device cgroup are against it"
    assert why(root) == refusal
    assert paths == [(root / "dev/npu0", os.R_OK)]


def test_a_driver_that_names_no_nodes_is_held_to_their_number(root: Path) -> None:
    give(root, "npu0")
    assert why(root, pattern="npu[0-9]*") == "only 1 of 2 device nodes are here"
    give(root, "npu1")
    assert not why(root, pattern="npu[0-9]*")


def test_a_node_that_may_not_be_opened_does_not_count(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(root, "npu0")
    give(root, "npu1")
    monkeypatch.setattr(os, "access", lambda path, mode: path != root / "dev/npu1")
    refusal = "only 1 of 2 device nodes are here and may be opened"
    assert why(root, pattern="npu[0-9]*") == refusal


def test_without_a_pattern_nothing_is_known_of_nodes(root: Path) -> None:
    assert not why(root)


def test_parts_of_a_function_and_other_drivers_want_no_node(root: Path) -> None:
    give(root, "npu0")
    make_virtual_function(root, TWO, ONE)
    assert is_virtual_function(root, TWO)
    assert not is_virtual_function(root, ONE)
    assert not why(root, pattern="npu[0-9]*")
    (root / f"sys/bus/pci/devices/{TWO}/physfn").unlink()
    (root / f"sys/bus/pci/devices/{TWO}/driver").unlink()
    assert not why(root, pattern="npu[0-9]*")


def test_what_no_driver_holds_was_given_to_nobody(root: Path) -> None:
    (root / f"sys/bus/pci/devices/{ONE}/driver").unlink()
    name_node(root, ONE, "npu_class", "npu0")
    assert not why(root, pattern="npu[0-9]*")


def test_what_a_virtual_machine_has(root: Path) -> None:
    (root / f"sys/bus/pci/devices/{ONE}/driver").unlink()
    bind(root, ONE, "vfio-pci")
    assert why(root) == "vfio-pci holds it for a virtual machine"


@pytest.mark.parametrize("name", ["", "../../etc/passwd"])
def test_names_of_nodes_that_are_none(root: Path, name: str) -> None:
    folder = root / f"sys/bus/pci/devices/{ONE}/npu_class/npu0"
    folder.mkdir(parents=True)
    (folder / "uevent").write_text(f"DEVNAME={name}\n")
    assert not why(root)
