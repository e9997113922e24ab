"""Machines with GPUs of Iluvatar: a PCI bus, and an ixsmi that prints composed documents."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from accelwatch.schema.device import Device
from accelwatch_iluvatar import IluvatarBackend
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage

DOCUMENTS = FIXTURES / "iluvatar"
_PRINTS = """
case "$*" in
  "-q -x") file=ix.xml ;;
  "-q") file=ix.query ;;
  "") file=ix.txt ;;
esac
if [ -n "$file" ] && [ -f {root}/$file ]; then exec cat {root}/$file; fi
echo "unknown option: $*" >&2; exit 2
"""
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


def write_program(root: Path, text: str = "") -> Path:
    """A command that prints what the machine has of documents; `text` is shell to run instead."""
    program = root / "usr/local/corex/bin/ixsmi"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{text or _PRINTS.format(root=root)}\n")
    program.chmod(0o755)
    return program


def _lay_out_bus(root: Path, buses: tuple[str, ...]) -> None:
    for bus in buses:
        folder = root / "sys/bus/pci/devices" / bus
        folder.mkdir(parents=True)
        (folder / "vendor").write_text("0x1e3e\n")
        (folder / "device").write_text("0x0003\n")
        (folder / "class").write_text("0x120000\n")
        (folder / "numa_node").write_text("0\n")
    (root / "sys/module/iluvatar").mkdir(parents=True)


@contextlib.contextmanager
def staged(folder: Path, name: str) -> Iterator[Stage]:
    """The machine of this name; of one with XML the last GPU can fall off the bus."""
    _lay_out_bus(folder, BUSES[name])
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


def _machine(
    name: str, *, healthy: bool, removable: bool = False, tells_of_a_fault: bool = False
) -> FixtureMachine:
    can = frozenset({"devices", "removable"} if removable else {"devices"})
    return FixtureMachine(
        f"iluvatar-{name}",
        "iluvatar",
        healthy,
        lambda folder: staged(folder, name),
        can,
        tells_of_a_fault=tells_of_a_fault,
    )


MACHINES = (
    _machine("bi-v150-x2", healthy=True, removable=True, tells_of_a_fault=True),
    _machine("mr-v100", healthy=True),
    _machine("bi-v100-bad-day", healthy=False),
    FixtureMachine(
        "iluvatar-without-answer", "iluvatar", False, _without_answer, frozenset({"devices"})
    ),
)
