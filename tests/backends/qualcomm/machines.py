"""Machines with Cloud AI cards: a PCI bus, and a qaic-util that prints composed text."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from accelwatch.schema.device import Device
from accelwatch_qualcomm import QualcommBackend
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage

FOLDER = FIXTURES / "qualcomm"
BUSES = {
    "ai100-x2": ("0000:01:00.0", "0000:81:00.0"),
    "ai100-bad-day": ("0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0"),
}


def write_program(root: Path, text: str = "") -> Path:
    """A command that prints the machine's text; `text` is shell to run instead."""
    program = root / "opt/qti-aic/tools/qaic-util"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{text or f'cat {root}/told'}\n")
    program.chmod(0o755)
    return program


@contextlib.contextmanager
def stage(folder: Path, name: str) -> Iterator[Stage]:
    """The machine of this name; its last chip can fall off the bus."""
    for bus in BUSES[name]:
        slot = folder / "sys/bus/pci/devices" / bus
        slot.mkdir(parents=True)
        files = {"vendor": "0x17cb", "device": "0xa100", "class": "0x120000", "numa_node": "0"}
        link = {"current_link_speed": "16.0 GT/s PCIe", "current_link_width": "8"}
        for file, content in {**files, **link}.items():
            (slot / file).write_text(f"{content}\n")
    (folder / "sys/module/qaic").mkdir(parents=True)
    (folder / "sys/module/qaic/version").write_text("1.19.8\n")
    shutil.copy(FOLDER / f"{name}.txt", folder / "told")
    write_program(folder)
    staged = Stage(QualcommBackend, folder)

    def remove(device: Device) -> None:
        shutil.rmtree(folder / "sys/bus/pci/devices" / str(device.pci_bus_id))
        whole = (folder / "told").read_text()
        before, heading, _ = whole.partition(f"QID {device.index}\n")
        (folder / "told").write_text(before if heading else whole)
        staged.clock.advance(10)

    staged.remove = remove
    yield staged


@contextlib.contextmanager
def _without_answer(folder: Path) -> Iterator[Stage]:
    """The command complains: the one chip is on the bus and cannot be read."""
    with stage(folder, "ai100-x2") as staged:
        staged.remove = None
        shutil.rmtree(folder / "sys/bus/pci/devices" / BUSES["ai100-x2"][1])
        write_program(folder, "echo 'Failed to get Runtime Platform' >&2; exit 255")
        yield staged


_CAN = frozenset({"devices", "removable"})
MACHINES = (
    FixtureMachine(
        "qualcomm-ai100-x2", "qualcomm", True, lambda folder: stage(folder, "ai100-x2"), _CAN
    ),
    FixtureMachine(
        "qualcomm-ai100-bad-day",
        "qualcomm",
        False,
        lambda folder: stage(folder, "ai100-bad-day"),
        _CAN,
    ),
    FixtureMachine(
        "qualcomm-without-answer", "qualcomm", False, _without_answer, frozenset({"devices"})
    ),
)
