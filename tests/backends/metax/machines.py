"""Machines with GPUs of MetaX: a PCI bus, and an mx-smi that prints composed output."""

import contextlib
import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from accelwatch.schema.device import Device
from accelwatch_metax import MetaxBackend
from accelwatch_metax.table import parse_table
from support.machines.command_machines import VendorMachines
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage

OUTPUT = FIXTURES / "metax"
_SCRIPT = """
answer() { [ -f "$1" ] || { echo "invalid option" >&2; exit 1; }; cat "$1"; }
case "$*" in
    -L) answer ROOT/output/list.txt ;;
    *--show-temperature*) answer ROOT/output/sections.txt ;;
    *--count-ecc*) answer ROOT/output/ecc.txt ;;
    *) answer ROOT/output/table.txt ;;
esac
"""
METAX = VendorMachines(
    vendor="metax",
    program="opt/mxdriver/bin/mx-smi",
    script=_SCRIPT,
    vendor_id="0x9999",
    device_id="0x4001",
    code="0x038000",
)
write_program = METAX.write_program


@contextlib.contextmanager
def stage(folder: Path, name: str, *, removable: bool = True) -> Iterator[Stage]:
    """The machine of a folder of output; its last GPU can fall off the bus."""
    shutil.copytree(OUTPUT / name, folder / "output")
    gpus = parse_table((OUTPUT / name / "table.txt").read_bytes()).gpus
    for number, fields in gpus.items():
        function = METAX.lay_out_function(folder, fields["bus-id"], link=True)
        (function / f"drm/renderD{128 + number}").mkdir(parents=True)
    write_program(folder)
    staged = Stage(MetaxBackend, folder)

    def remove(device: Device) -> None:
        bus = str(device.pci_bus_id)
        shutil.rmtree(folder / "sys/bus/pci/devices" / bus)
        for file in (folder / "output").glob("*.txt"):
            file.write_text(re.sub(rf"(?m)^.*{re.escape(bus)}.*$", "", file.read_text()))
        staged.clock.advance(10)

    staged.remove = remove if removable else None
    yield staged


@contextlib.contextmanager
def _without_answer(folder: Path) -> Iterator[Stage]:
    """The command cannot load its library: the GPU is on the bus and cannot be read."""
    with stage(folder, "c500-old", removable=False) as staged:
        write_program(folder, "echo 'mxsml init failed' >&2; exit 1")
        yield staged


def _machine(name: str, *, healthy: bool) -> FixtureMachine:
    return METAX.machine(name, partial(stage, name=name), healthy=healthy, removable=True)


MACHINES = (
    _machine("c500-x2", healthy=True),
    _machine("c500-old", healthy=True),
    _machine("c550-bad-day", healthy=False),
    METAX.machine("without-answer", _without_answer, healthy=False),
)
