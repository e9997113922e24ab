"""Hosts with TPUs: a PCI bus with chips and other functions of the vendor, and a tpu-info."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from accelwatch.schema.device import Device
from accelwatch_tpu import TpuBackend
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage

DOCUMENTS = FIXTURES / "tpu"
# Where no libtpu listens.
NOBODY = {"port": 9}
# PCI device, subsystem, and how many chips.
HOSTS = {
    "v5e-x4": ("0x0063", "", 4),
    "v3-8": ("0x0027", "0x004f", 4),
    "v6e-idle": ("0x006f", "", 2),
    "v6e-bad-day": ("0x006f", "", 4),
}


def write_program(root: Path, text: str = "") -> Path:
    """A command that prints the host's tables; `text` is shell to run instead."""
    program = root / "usr/local/bin/tpu-info"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{text or f'exec cat {root}/tpu.txt'}\n")
    program.chmod(0o755)
    return program


def bus_of(at: int) -> str:
    """The address of a chip."""
    return f"0000:00:{at + 4:02x}.0"


def _lay_out_function(folder: Path, device: str, code: str, subsystem: str = "") -> None:
    folder.mkdir(parents=True)
    (folder / "vendor").write_text("0x1ae0\n")
    (folder / "device").write_text(f"{device}\n")
    (folder / "class").write_text(f"{code}\n")
    (folder / "numa_node").write_text("-1\n")
    if subsystem:
        (folder / "subsystem_device").write_text(f"{subsystem}\n")


def lay_out_function(root: Path, bus: str, device: str, group: int) -> None:
    """A core with its IOMMU group and its node."""
    folder = root / "sys/bus/pci/devices" / bus
    _lay_out_function(folder, device, "0x120000")
    (folder / "iommu_group").symlink_to(f"../../../kernel/iommu_groups/{group}")
    node = root / f"dev/vfio/{group}"
    node.parent.mkdir(parents=True, exist_ok=True)
    node.touch()


def lay_out_bus(root: Path, device: str, subsystem: str, count: int) -> None:
    """Chips with their nodes, and the virtual network card that every such host has."""
    buses = root / "sys/bus/pci/devices"
    _lay_out_function(buses / "0000:00:03.0", "0x0042", "0x020000")
    for at in range(count):
        folder = buses / bus_of(at)
        _lay_out_function(folder, device, "0x120000", subsystem)
        if subsystem:
            (folder / f"accel/accel{at}").mkdir(parents=True)
            node = root / f"dev/accel{at}"
        else:
            (folder / "iommu_group").symlink_to(f"../../../kernel/iommu_groups/{at}")
            node = root / f"dev/vfio/{at}"
        node.parent.mkdir(parents=True, exist_ok=True)
        node.touch()


@contextlib.contextmanager
def stage(folder: Path, name: str) -> Iterator[Stage]:
    """The host of this name; its last chip can fall off the bus."""
    lay_out_bus(folder, *HOSTS[name])
    shutil.copy(DOCUMENTS / f"{name}.txt", folder / "tpu.txt")
    write_program(folder)
    staged = Stage(TpuBackend, folder, options=NOBODY)

    def remove(device: Device) -> None:
        shutil.rmtree(folder / "sys/bus/pci/devices" / str(device.pci_bus_id))
        staged.clock.advance(10)

    staged.remove = remove
    yield staged


@contextlib.contextmanager
def _without_answer(folder: Path) -> Iterator[Stage]:
    """The command complains: the chip is on the bus and cannot be read."""
    lay_out_bus(folder, "0x0063", "", 1)
    write_program(folder, "echo 'No TPU chips found' >&2; exit 1")
    yield Stage(TpuBackend, folder, options=NOBODY)


def _machine(name: str, *, healthy: bool) -> FixtureMachine:
    can = frozenset({"devices", "removable"})
    return FixtureMachine(f"tpu-{name}", "tpu", healthy, lambda folder: stage(folder, name), can)


MACHINES = (
    # Without the idle host: its devices are not broken, and have no values either.
    _machine("v5e-x4", healthy=True),
    _machine("v3-8", healthy=True),
    _machine("v6e-bad-day", healthy=False),
    FixtureMachine("tpu-without-answer", "tpu", False, _without_answer, frozenset({"devices"})),
)
