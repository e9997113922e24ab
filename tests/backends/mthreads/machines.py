"""Machines with GPUs of Moore Threads: a PCI bus, and an mthreads-gmi that prints composed documents."""

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from accelwatch.schema.device import Device
from accelwatch_mthreads import MthreadsBackend
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage

DOCUMENTS = FIXTURES / "mthreads"
_PRINTS = """
case "$*" in
  "-q --json") file=gmi.json ;;
  "-q") file=gmi.query ;;
  "") file=gmi.txt ;;
esac
if [ -n "$file" ] && [ -f {root}/$file ]; then exec cat {root}/$file; fi
echo "unknown option: $*" >&2; exit 2
"""


def write_program(root: Path, text: str = "") -> Path:
    """A command that prints what the machine has of documents; `text` is shell to run instead."""
    program = root / "usr/bin/mthreads-gmi"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{text or _PRINTS.format(root=root)}\n")
    program.chmod(0o755)
    return program


def lay_out_bus(root: Path, buses: list[str]) -> None:
    """A GPU of the vendor, and its audio, at each address."""
    for bus in buses:
        for place, code in ((bus, "0x030000"), (f"{bus[:-1]}1", "0x040300")):
            folder = root / "sys/bus/pci/devices" / place
            folder.mkdir(parents=True)
            (folder / "vendor").write_text("0x1ed5\n")
            (folder / "device").write_text("0x0301\n")
            (folder / "class").write_text(f"{code}\n")
            (folder / "numa_node").write_text("1\n")
    (root / "sys/module/mtgpu").mkdir(parents=True)


def document(name: str) -> dict[str, object]:
    """A composed document of `-q --json`."""
    told: dict[str, object] = msgspec.json.decode((DOCUMENTS / f"{name}.json").read_bytes())
    return told


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
        told = document(name)
        gpus = told["GPU"]
        assert isinstance(gpus, list)
        (folder / "gmi.json").write_text(json.dumps({**told, "GPU": gpus[:-1]}))
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


def _machine(name: str, *, healthy: bool, removable: bool = True) -> FixtureMachine:
    can = frozenset({"devices", "removable"} if removable else {"devices"})
    return FixtureMachine(
        f"mthreads-{name}", "mthreads", healthy, lambda folder: staged(folder, name), can
    )


MACHINES = (
    _machine("s5000-x2", healthy=True),
    _machine("s80", healthy=True, removable=False),
    FixtureMachine("mthreads-table-only", "mthreads", True, _table_only, frozenset({"devices"})),
    _machine("s4000-bad-day", healthy=False),
    FixtureMachine(
        "mthreads-without-answer", "mthreads", False, _without_answer, frozenset({"devices"})
    ),
)
