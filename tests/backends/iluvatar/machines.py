"""Machines with GPUs of Iluvatar: a PCI bus, and an ixsmi that prints composed documents."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from accelwatch.schema.device import Device
from accelwatch_iluvatar import IluvatarBackend
from support.machines.command_machines import VendorMachines, prints
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage

DOCUMENTS = FIXTURES / "iluvatar"
ILUVATAR = VendorMachines(
    vendor="iluvatar",
    program="usr/local/corex/bin/ixsmi",
    script=prints({"-q -x": "ix.xml", "-q": "ix.query", "": "ix.txt"}),
    vendor_id="0x1e3e",
    device_id="0x0003",
    code="0x120000",
)
write_program = ILUVATAR.write_program
BUSES = {
    "bi-v150-x2": ("0000:13:00.0", "0000:1c:00.0"),
    "mr-v100": ("0000:15:00.0",),
    "bi-v100-bad-day": (
        "0000:14:00.0",
        "0000:21:00.0",
        "0000:25:00.0",
        "0000:2d:00.0",
        "0000:35:00.0",
    ),
}


@contextlib.contextmanager
def staged(folder: Path, name: str) -> Iterator[Stage]:
    """The machine of this name; of one with XML the last GPU can fall off the bus."""
    for bus in BUSES[name]:
        ILUVATAR.lay_out_function(folder, bus)
    (folder / "sys/module/iluvatar").mkdir(parents=True)
    for suffix in ("xml", "query", "txt"):
        source = DOCUMENTS / f"{name}.{suffix}"
        if source.exists():
            shutil.copy(source, folder / f"ix.{suffix}")
    write_program(folder)
    stage = Stage(IluvatarBackend, folder)

    def remove(device: Device) -> None:
        shutil.rmtree(folder / "sys/bus/pci/devices" / str(device.pci_bus_id))
        whole = (folder / "ix.xml").read_text()
        (folder / "ix.xml").write_text(whole[: whole.rfind("\t<gpu ")] + "</ixsmi_log>\n")
        stage.clock.advance(10)

    stage.remove = remove if (folder / "ix.xml").exists() else None
    yield stage


@contextlib.contextmanager
def _without_answer(folder: Path) -> Iterator[Stage]:
    """The command complains: the GPU is on the bus and cannot be read."""
    with staged(folder, "mr-v100") as machine:
        write_program(folder, "echo 'Failed to initialize IXML' >&2; exit 255")
        yield machine


def _machine(name: str, **traits: bool) -> FixtureMachine:
    return ILUVATAR.machine(name, lambda folder: staged(folder, name), **traits)


MACHINES = (
    _machine("bi-v150-x2", healthy=True, removable=True, reports_fault=True),
    _machine("mr-v100", healthy=True),
    _machine("bi-v100-bad-day", healthy=False),
    ILUVATAR.machine("without-answer", _without_answer, healthy=False),
)
