"""Machines with Cambricon MLUs: a PCI bus, and a cnmon that prints composed texts."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from accelwatch.schema.device import Device
from accelwatch_cambricon import CambriconBackend
from support.machines.pci_nodes import lay_out_link
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage

TEXTS = FIXTURES / "cambricon"
_PRINTS = """
case "$*" in
  "info") file=info ;;
  "") file=table ;;
esac
if [ -n "$file" ] && [ -f {root}/$file ]; then exec cat {root}/$file; fi
echo "unknown option: $*" >&2; exit 2
"""
BUSES = {
    "mlu370x8-x2": ("0000:13:00.0", "0000:3d:00.0"),
    "mlu370s4-table-only": ("0000:1b:00.0", "0000:36:00.0"),
    "mlu590-bad-day": ("0000:4f:00.0", "0000:50:00.0", "0000:53:00.0", "0000:57:00.0"),
}


def write_program(root: Path, text: str = "") -> Path:
    """A command that prints what the machine has; `text` is shell to run instead."""
    program = root / "usr/bin/cnmon"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{text or _PRINTS.format(root=root)}\n")
    program.chmod(0o755)
    return program


@contextlib.contextmanager
def staged(folder: Path, name: str, count: int = 9) -> Iterator[Stage]:
    """The machine of this name with so many of its cards on the bus; its last card can fall off."""
    for bus in BUSES[name][:count]:
        function = folder / "sys/bus/pci/devices" / bus
        function.mkdir(parents=True)
        (function / "vendor").write_text("0xcabc\n")
        (function / "device").write_text("0x0370\n")
        (function / "class").write_text("0x120000\n")
        (function / "numa_node").write_text("1\n")
        lay_out_link(function)
    (folder / "dev").mkdir()
    (folder / "dev/cambricon_ctl").touch()
    for suffix, file in (("info", "info"), ("txt", "table")):
        if (TEXTS / f"{name}.{suffix}").exists():
            shutil.copy(TEXTS / f"{name}.{suffix}", folder / file)
    write_program(folder)
    machine = Stage(CambriconBackend, folder)

    def remove(device: Device) -> None:
        shutil.rmtree(folder / "sys/bus/pci/devices" / str(device.pci_bus_id))
        text = (folder / "info").read_text()
        (folder / "info").write_text(text[: text.index(f"Card {device.index}\n")])
        machine.clock.advance(10)

    machine.remove = remove if (folder / "info").exists() else None
    yield machine


@contextlib.contextmanager
def _without_answer(folder: Path) -> Iterator[Stage]:
    """The command complains: the card is on the bus and cannot be read."""
    with staged(folder, "mlu370x8-x2", count=1) as machine:
        write_program(folder, "echo 'cndev init failed: no driver' >&2; exit 1")
        machine.remove = None
        yield machine


def _machine(name: str, *, healthy: bool, removable: bool = True) -> FixtureMachine:
    can = frozenset({"devices", "removable"} if removable else {"devices"})
    return FixtureMachine(
        f"cambricon-{name}", "cambricon", healthy, lambda folder: staged(folder, name), can
    )


MACHINES = (
    _machine("mlu370x8-x2", healthy=True),
    _machine("mlu370s4-table-only", healthy=True, removable=False),
    _machine("mlu590-bad-day", healthy=False),
    FixtureMachine(
        "cambricon-without-answer", "cambricon", False, _without_answer, frozenset({"devices"})
    ),
)
