"""Machines with GPUs of Moore Threads: a PCI bus, and an mthreads-gmi that prints composed documents."""

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from accelwatch.schema.device import Device
from accelwatch_mthreads import MthreadsBackend
from support.machines.command_machines import VendorMachines, prints
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage

DOCUMENTS = FIXTURES / "mthreads"
MTHREADS = VendorMachines(
    vendor="mthreads",
    program="usr/bin/mthreads-gmi",
    script=prints({"-q --json": "gmi.json", "-q": "gmi.query", "": "gmi.txt"}),
    vendor_id="0x1ed5",
    device_id="0x0301",
    code="0x030000",
)
write_program = MTHREADS.write_program


def lay_out_bus(root: Path, buses: list[str]) -> None:
    """A GPU of the vendor, and its audio, at each address."""
    for bus in buses:
        MTHREADS.lay_out_function(root, bus, numa="1")
        MTHREADS.lay_out_function(root, f"{bus[:-1]}1", "0x040300", numa="1")
    (root / "sys/module/mtgpu").mkdir(parents=True)


def document(name: str) -> dict[str, object]:
    """A composed document of `-q --json`."""
    document_read: dict[str, object] = msgspec.json.decode(
        (DOCUMENTS / f"{name}.json").read_bytes()
    )
    return document_read


def _copy(folder: Path, name: str) -> None:
    for suffix in ("json", "query", "txt"):
        source = DOCUMENTS / f"{name}.{suffix}"
        if source.exists():
            shutil.copy(source, folder / f"gmi.{suffix}")


@contextlib.contextmanager
def stage(folder: Path, name: str, buses: tuple[str, ...]) -> Iterator[Stage]:
    """The machine of a document; of one with JSON the last GPU can fall off the bus."""
    lay_out_bus(folder, list(buses))
    _copy(folder, name)
    write_program(folder)
    staged = Stage(MthreadsBackend, folder)

    def remove(device: Device) -> None:
        shutil.rmtree(folder / "sys/bus/pci/devices" / str(device.pci_bus_id))
        document_read = document(name)
        gpus = document_read["GPU"]
        assert isinstance(gpus, list)
        (folder / "gmi.json").write_text(json.dumps({**document_read, "GPU": gpus[:-1]}))
        staged.clock.advance(10)

    staged.remove = remove if (folder / "gmi.json").exists() else None
    yield staged


BUSES = {
    "s5000-x2": ("0000:18:00.0", "0000:3a:00.0"),
    "s4000-bad-day": ("0000:08:00.0", "0000:09:00.0", "0000:0a:00.0"),
    "s80": ("0000:01:00.0",),
}


def staged(folder: Path, name: str) -> contextlib.AbstractContextManager[Stage]:
    """The machine of this name."""
    return stage(folder, name, BUSES[name])


@contextlib.contextmanager
def _table_only(folder: Path) -> Iterator[Stage]:
    """A command that knows no `-q`."""
    with staged(folder, "s80") as machine:
        (folder / "gmi.query").unlink()
        yield machine


@contextlib.contextmanager
def _without_answer(folder: Path) -> Iterator[Stage]:
    """The command complains: the GPU is on the bus and cannot be read."""
    with staged(folder, "s80") as machine:
        write_program(folder, "echo 'Failed to initialize: driver not loaded' >&2; exit 1")
        yield machine


def _machine(name: str, **traits: bool) -> FixtureMachine:
    return MTHREADS.machine(name, lambda folder: staged(folder, name), **traits)


MACHINES = (
    _machine("s5000-x2", healthy=True, removable=True),
    _machine("s80", healthy=True),
    MTHREADS.machine("table-only", _table_only, healthy=True),
    _machine("s4000-bad-day", healthy=False, removable=True),
    MTHREADS.machine("without-answer", _without_answer, healthy=False),
)
