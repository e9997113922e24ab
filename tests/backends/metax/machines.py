"""Machines with GPUs of MetaX: a PCI bus, and an mx-smi that prints composed output."""

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from accelwatch.schema.device import Device
from accelwatch_metax import MetaxBackend
from accelwatch_metax.table import parse_table
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage

OUTPUT = FIXTURES / "metax"
_SCRIPT = """#!/bin/sh
answer() { [ -f "$1" ] || { echo "invalid option" >&2; exit 1; }; cat "$1"; }
case "$*" in
    -L) answer ROOT/output/list.txt ;;
    *--show-temperature*) answer ROOT/output/sections.txt ;;
    *--count-ecc*) answer ROOT/output/ecc.txt ;;
    *) answer ROOT/output/table.txt ;;
esac
"""


def write_program(root: Path, text: str = _SCRIPT) -> Path:
    """The vendor's command; `ROOT` in it is the root."""
    program = root / "opt/mxdriver/bin/mx-smi"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(text.replace("ROOT", str(root)))
    program.chmod(0o755)
    return program


def lay_out_function(root: Path, bus: str, code: str = "0x038000") -> Path:
    """A function of the vendor on the PCI bus, with its link."""
    folder = root / "sys/bus/pci/devices" / bus
    folder.mkdir(parents=True)
    files = {
        "vendor": "0x9999",
        "device": "0x4001",
        "class": code,
        "numa_node": "0",
        "current_link_speed": "16.0 GT/s PCIe",
        "current_link_width": "16",
        "max_link_speed": "32.0 GT/s PCIe",
        "max_link_width": "16",
    }
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n")
    return folder


@contextlib.contextmanager
def stage(folder: Path, name: str, *, removable: bool = True) -> Iterator[Stage]:
    """The machine of a folder of output; its last GPU can fall off the bus."""
    shutil.copytree(OUTPUT / name, folder / "output")
    gpus = parse_table((OUTPUT / name / "table.txt").read_bytes()).gpus
    for number, fields in gpus.items():
        function = lay_out_function(folder, fields["bus-id"])
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
        write_program(folder, "#!/bin/sh\necho 'mxsml init failed' >&2; exit 1\n")
        yield staged


def _machine(name: str, *, healthy: bool) -> FixtureMachine:
    can = frozenset({"devices", "removable"})
    return FixtureMachine(
        f"metax-{name}", "metax", healthy, lambda folder: stage(folder, name), can
    )


MACHINES = (
    _machine("c500-x2", healthy=True),
    _machine("c500-old", healthy=True),
    _machine("c550-bad-day", healthy=False),
    FixtureMachine("metax-without-answer", "metax", False, _without_answer, frozenset({"devices"})),
)
