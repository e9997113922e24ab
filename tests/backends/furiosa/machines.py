"""Machines with NPUs of FuriosaAI: a PCI bus, and a command that prints composed output."""

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from accelwatch.schema.device import Device
from accelwatch_furiosa import FuriosaBackend
from accelwatch_furiosa.document import cards_of
from backends.furiosa.warboy_trees import MGMT, lay_out_card
from support.machines.pci_nodes import lay_out_link
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage

OUTPUT = FIXTURES / "furiosa"


def write_program(root: Path, name: str, text: str = "") -> None:
    """A command that prints the file of its first word; `text` is shell to run instead."""
    program = root / "usr/bin" / name
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{text or f'cat {root}/output/$1.*'}\n")
    program.chmod(0o755)


def lay_out_bus(root: Path, bus: str) -> None:
    """A function of the vendor."""
    folder = root / "sys/bus/pci/devices" / bus
    folder.mkdir(parents=True)
    for file, text in (("vendor", "0x1ed2"), ("device", "0x0001"), ("class", "0x120000")):
        (folder / file).write_text(f"{text}\n")
    (folder / "numa_node").write_text("1\n")
    lay_out_link(folder)


@contextlib.contextmanager
def stage(folder: Path, name: str, *, removable: bool = True) -> Iterator[Stage]:
    """The machine of a folder of output; its last NPU can fall off the bus."""
    shutil.copytree(OUTPUT / name, folder / "output")
    (info,) = (folder / "output").glob("info.*")
    for card in cards_of(info.read_bytes()):
        lay_out_bus(folder, str(card.pci_bus_id))
    write_program(folder, "furiosactl" if name == "warboy" else "furiosa-smi")
    staged = Stage(FuriosaBackend, folder)

    def remove(device: Device) -> None:
        bus = str(device.pci_bus_id)
        shutil.rmtree(folder / "sys/bus/pci/devices" / bus)
        info.write_text(re.sub(re.escape(bus), "", info.read_text()).replace(device.name, ""))
        staged.clock.advance(10)

    staged.remove = remove if removable else None
    yield staged


@contextlib.contextmanager
def _without_answer(folder: Path) -> Iterator[Stage]:
    """The command cannot open the device: the NPU is on the bus and cannot be read."""
    with stage(folder, "warboy", removable=False) as staged:
        write_program(folder, "furiosactl", "echo 'Error: permission denied' >&2; exit 1")
        yield staged


@contextlib.contextmanager
def _warboy_by_driver(folder: Path) -> Iterator[Stage]:
    """Two cards and no command; one is dead with a sensor, and the driver can give the last up."""
    buses = ("0000:44:00.0", "0000:45:00.0")
    for number, bus in enumerate(buses):
        lay_out_bus(folder, bus)
        lay_out_card(folder, number, bus, **({"alive": "0\n"} if number == 0 else {}))
    (folder / f"sys/bus/pci/devices/{buses[0]}/hwmon/hwmon0/power1_average").write_text("N/A\n")
    staged = Stage(FuriosaBackend, folder)

    def remove(device: Device) -> None:
        shutil.rmtree(folder / "sys/bus/pci/devices" / str(device.pci_bus_id))
        shutil.rmtree(folder / MGMT / f"{device.name}_mgmt")
        staged.clock.advance(10)

    staged.remove = remove
    yield staged


def _machine(name: str, *, healthy: bool) -> FixtureMachine:
    can = frozenset({"devices", "removable"})
    return FixtureMachine(
        f"furiosa-{name}", "furiosa", healthy, lambda folder: stage(folder, name), can
    )


MACHINES = (
    _machine("rngd-x2", healthy=True),
    _machine("warboy", healthy=True),
    _machine("rngd-bad-day", healthy=False),
    FixtureMachine(
        "furiosa-warboy-sysfs",
        "furiosa",
        False,
        _warboy_by_driver,
        frozenset({"devices", "removable"}),
    ),
    FixtureMachine(
        "furiosa-without-answer", "furiosa", False, _without_answer, frozenset({"devices"})
    ),
)
