"""The kernel's word on a link stands beside what a vendor's tool says."""

from pathlib import Path

import pytest

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Reading
from accelwatch.system.kernel.pcie_link import generation_of, lanes_of, with_link
from support.machines.fixture_machines import MACHINES
from support.machines.pci_nodes import LINK, lay_out_link
from support.machines.polling import Poll

BUS = "0000:27:00.0"
READING = Reading(device_id="d", values={("power_watts",): 5.0}, sources={"*": "tool"})


@pytest.mark.parametrize("name", ["ascend-a3", "cambricon-mlu370x8-x2", "furiosa-rngd-x2"])
def test_a_device_of_a_tool_has_its_link(name: str, tmp_path: Path) -> None:
    (machine,) = (one for one in MACHINES if one.name == name)
    with machine.stage(tmp_path) as stage:
        backend = stage.backend()
        backend.open()
        polled = Poll(stage.clock)(backend)
        backend.close()
    assert polled
    for one in polled:
        (reading,) = one.readings
        assert {series: reading.values.get(series) for series in LINK} == LINK
        assert reading.sources["pcie_link_generation"] == "sysfs"


def test_what_is_not_on_the_bus_has_none(tmp_path: Path) -> None:
    assert with_link(tmp_path, READING, None) is READING


def test_a_link_is_added_or_says_why_it_is_not_known(tmp_path: Path) -> None:
    unknown = with_link(tmp_path, READING, BUS)
    assert unknown.values == READING.values
    assert unknown.absent == dict.fromkeys(LINK, Absence.UNSUPPORTED)
    function = tmp_path / "sys/bus/pci/devices" / BUS
    function.mkdir(parents=True)
    lay_out_link(function)
    read = with_link(tmp_path, READING, BUS)
    assert read.values == {**READING.values, **LINK}
    assert read.sources == {
        "*": "tool",
        "pcie_link_generation": "sysfs",
        "pcie_link_width_lanes": "sysfs",
    }


@pytest.mark.parametrize(
    ("speed", "generation"),
    [
        ("2.5 GT/s PCIe", 1),
        ("5 GT/s", 2),
        ("8 GT/s", 3),
        ("8.0 GT/s PCIe", 3),
        ("16 GT/s", 4),
        ("32.0 GT/s PCIe", 5),
        ("64.0 GT/s PCIe", 6),
        ("Unknown", Absence.UNSUPPORTED),
        ("", Absence.ERROR),
        ("7.0 GT/s PCIe", Absence.ERROR),
        (Absence.PERMISSION, Absence.PERMISSION),
    ],
)
def test_a_speed_is_of_a_generation(speed: str | Absence, generation: int | Absence) -> None:
    assert generation_of(speed) == generation


@pytest.mark.parametrize(
    ("width", "lanes"),
    [
        (1, 1),
        (32, 32),
        (0, Absence.UNSUPPORTED),
        (255, Absence.UNSUPPORTED),
        (33, Absence.ERROR),
        (63, Absence.ERROR),
        (-1, Absence.ERROR),
        (Absence.LOST, Absence.LOST),
    ],
)
def test_lanes_that_the_kernel_does_not_know_are_none(
    width: int | Absence, lanes: int | Absence
) -> None:
    assert lanes_of(width) == lanes


@pytest.mark.parametrize(
    ("speed", "lanes", "reason"),
    [
        ("Unknown", "0", Absence.UNSUPPORTED),
        ("Unknown", "255", Absence.UNSUPPORTED),
        ("Unknown", "63", Absence.ERROR),
        ("so fast", "0", Absence.ERROR),
    ],
)
def test_a_device_that_has_left_the_bus_is_distinguished_from_one_without_a_link(
    speed: str, lanes: str, reason: Absence, tmp_path: Path
) -> None:
    folder = tmp_path / "sys/bus/pci/devices" / BUS
    folder.mkdir(parents=True)
    (folder / "current_link_speed").write_text(f"{speed}\n")
    (folder / "current_link_width").write_text(f"{lanes}\n")
    reading = with_link(tmp_path, READING, BUS)
    assert reading.absent["pcie_link_generation", "current"] is reason
