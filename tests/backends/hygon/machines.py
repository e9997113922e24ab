"""Machines with DCUs of Hygon: a PCI bus, files of the driver, and an hy-smi of composed output."""

import contextlib
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from accelwatch.schema.device import Device
from accelwatch_hygon import HygonBackend
from support.machines.command_machines import VendorMachines
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage

OUTPUT = FIXTURES / "hygon"
BUSES = {
    "k100ai-x2": ("0000:09:00.0", "0000:36:00.0"),
    "bw-bad-day": ("0000:2a:00.0", "0000:2b:00.0", "0000:2c:00.0"),
    "z100-table": ("0000:04:00.0", "0000:26:00.0"),
}
_SCRIPT = """
answer() { [ -f "$1" ] || { echo "unrecognized arguments" >&2; exit 2; }; cat "$1"; }
case "$*" in
    *--json*) answer ROOT/output/fields.json ;;
    *--showpids*) answer ROOT/output/pids.txt ;;
    *--healthcheck*) answer ROOT/output/health.txt ;;
    *) answer ROOT/output/table.txt ;;
esac
"""
HYGON = VendorMachines(
    vendor="hygon",
    program="opt/hyhal/bin/hy-smi",
    script=_SCRIPT,
    vendor_id="0x1d94",
    device_id="0x0001",
    code="0x038000",
)
write_program = HYGON.write_program


@contextlib.contextmanager
def stage(
    folder: Path, name: str, *, removable: bool = True, cards: int | None = None
) -> Iterator[Stage]:
    """The machine of a folder of output; its last card can fall off the bus."""
    shutil.copytree(OUTPUT / name, folder / "output")
    for at, bus in enumerate(BUSES[name][:cards]):
        function = HYGON.lay_out_function(folder, bus, link=True)
        (function / f"drm/card{at + 1}").mkdir(parents=True)
        (function / f"drm/renderD{128 + at}").mkdir()
    module = folder / "sys/module/hydcu"
    module.mkdir(parents=True)
    (module / "version").write_text("6.2.35\n")
    write_program(folder)
    staged = Stage(HygonBackend, folder)

    def remove(device: Device) -> None:
        bus = str(device.pci_bus_id)
        shutil.rmtree(folder / "sys/bus/pci/devices" / bus)
        fields = folder / "output/fields.json"
        fields.write_text(fields.read_text().replace(f'"card{device.index}"', '"gone"'))
        table = folder / "output/table.txt"
        lines = table.read_text().splitlines(keepends=True)
        table.write_text("".join(line for line in lines if line.split(" ")[0] != str(device.index)))
        staged.clock.advance(10)

    staged.remove = remove if removable else None
    yield staged


@contextlib.contextmanager
def _without_answer(folder: Path) -> Iterator[Stage]:
    """The command may not open the driver: the card is on the bus and cannot be read."""
    with stage(folder, "k100ai-x2", removable=False, cards=1) as staged:
        write_program(folder, "echo 'Unable to open /dev/kfd' >&2; exit 1")
        yield staged


def _machine(name: str, *, healthy: bool, removable: bool = False) -> FixtureMachine:
    staged = partial(stage, name=name, removable=removable)
    return HYGON.machine(name, staged, healthy=healthy, removable=removable)


MACHINES = (
    _machine("k100ai-x2", healthy=True, removable=True),
    _machine("z100-table", healthy=True),
    _machine("bw-bad-day", healthy=False),
    HYGON.machine("without-answer", _without_answer, healthy=False),
)
