"""Machines with NPUs of Rebellions: a PCI bus, and an rbln-smi that prints a composed document."""

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from accelwatch.schema.device import Device
from accelwatch_rebellions import RebellionsBackend
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage

DOCUMENTS = FIXTURES / "rebellions"


def write_program(root: Path, text: str = "") -> Path:
    """A command that prints the machine's document; `text` is shell to run instead."""
    program = root / "usr/bin/rbln-smi"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{text or f'cat {root}/rbln.json'}\n")
    program.chmod(0o755)
    return program


def lay_out_bus(root: Path, buses: list[str]) -> None:
    """A function of the vendor at each address."""
    for bus in buses:
        folder = root / "sys/bus/pci/devices" / bus
        folder.mkdir(parents=True)
        (folder / "vendor").write_text("0x1eff\n")
        (folder / "device").write_text("0x1120\n")
        (folder / "class").write_text("0x120000\n")
        (folder / "numa_node").write_text("0\n")


def document(name: str) -> dict[str, object]:
    """A composed document."""
    document_read: dict[str, object] = msgspec.json.decode(
        (DOCUMENTS / f"{name}.json").read_bytes()
    )
    return document_read


@contextlib.contextmanager
def stage(folder: Path, name: str) -> Iterator[Stage]:
    """The machine of a document; its last NPU can fall off the bus."""
    listing = document(name)
    npus = listing["devices"]
    assert isinstance(npus, list)
    lay_out_bus(folder, [npu["pci"]["bus_id"] for npu in npus])
    (folder / "rbln.json").write_text(json.dumps(listing))
    write_program(folder)
    staged = Stage(RebellionsBackend, folder)

    def remove(device: Device) -> None:
        shutil.rmtree(folder / "sys/bus/pci/devices" / str(device.pci_bus_id))
        left = [npu for npu in npus if npu["pci"]["bus_id"] != device.pci_bus_id]
        (folder / "rbln.json").write_text(json.dumps({**listing, "devices": left}))
        staged.clock.advance(10)

    staged.remove = remove
    yield staged


def _machine(name: str, *, healthy: bool) -> FixtureMachine:
    can = frozenset({"devices", "removable"})
    return FixtureMachine(
        f"rebellions-{name}", "rebellions", healthy, lambda folder: stage(folder, name), can
    )


@contextlib.contextmanager
def _without_answer(folder: Path) -> Iterator[Stage]:
    """The command complains: the NPU is on the bus and cannot be read."""
    with stage(folder, "sdk1") as staged:
        staged.remove = None
        write_program(folder, "echo 'No devices found' >&2; exit 1")
        yield staged


MACHINES = (
    _machine("atom-x2", healthy=True),
    _machine("atom-plus-groups", healthy=True),
    _machine("atom-max-x2", healthy=True),
    _machine("sdk1", healthy=True),
    _machine("rebel-bad-day", healthy=False),
    FixtureMachine(
        "rebellions-without-answer", "rebellions", False, _without_answer, frozenset({"devices"})
    ),
)
