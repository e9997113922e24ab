"""Machines with DCUs of Hygon: a PCI bus, files of the driver, and an hy-smi of composed output."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from accelwatch.schema.device import Device
from accelwatch_hygon import HygonBackend
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage

OUTPUT = FIXTURES / "hygon"
BUSES = {
    "k100ai-x2": ("0000:09:00.0", "0000:36:00.0"),
    "bw-bad-day": ("0000:2a:00.0", "0000:2b:00.0", "0000:2c:00.0"),
    "z100-table": ("0000:04:00.0", "0000:26:00.0"),
}
_SCRIPT = """#!/bin/sh
answer() { [ -f "$1" ] || { echo "unrecognized arguments" >&2; exit 2; }; cat "$1"; }
case "$*" in
    *--json*) answer ROOT/output/fields.json ;;
    *--showpids*) answer ROOT/output/pids.txt ;;
    *--healthcheck*) answer ROOT/output/health.txt ;;
    *) answer ROOT/output/table.txt ;;
esac
"""


def write_program(root: Path, text: str = _SCRIPT) -> None:
    """The vendor's command; `ROOT` in it is the root."""
    program = root / "opt/hyhal/bin/hy-smi"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(text.replace("ROOT", str(root)))
    program.chmod(0o755)


def lay_out_function(
    root: Path, bus: str, *, vendor: str = "0x1d94", code: str = "0x038000"
) -> Path:
    """A function on the PCI bus, with its link."""
    folder = root / "sys/bus/pci/devices" / bus
    folder.mkdir(parents=True)
    files = {
        "vendor": vendor,
        "device": "0x0001",
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
def stage(
    folder: Path, name: str, *, removable: bool = True, cards: int | None = None
) -> Iterator[Stage]:
    """The machine of a folder of output; its last card can fall off the bus."""
    shutil.copytree(OUTPUT / name, folder / "output")
    for at, bus in enumerate(BUSES[name][:cards]):
        function = lay_out_function(folder, bus)
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
        write_program(folder, "#!/bin/sh\necho 'Unable to open /dev/kfd' >&2; exit 1\n")
        yield staged


def _machine(name: str, *, healthy: bool, removable: bool = True) -> FixtureMachine:
    traits = {"devices", "removable"} if removable else {"devices"}
    return FixtureMachine(
        f"hygon-{name}",
        "hygon",
        healthy,
        lambda folder: stage(folder, name, removable=removable),
        frozenset(traits),
    )


MACHINES = (
    _machine("k100ai-x2", healthy=True),
    _machine("z100-table", healthy=True, removable=False),
    _machine("bw-bad-day", healthy=False, removable=False),
    FixtureMachine("hygon-without-answer", "hygon", False, _without_answer, frozenset({"devices"})),
)
