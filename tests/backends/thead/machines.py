"""Machines with PPUs of T-Head: a PCI bus, and a ppu-smi that prints composed documents."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from accelwatch.schema.device import Device
from accelwatch_thead import TheadBackend
from support.machines.command_machines import VendorMachines, prints
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage

DOCUMENTS = FIXTURES / "thead"
_FILES = {
    "-q": "ppu.query",
    "": "ppu.txt",
    "-L": "ppu.list",
    "icn -s": "icn.states",
    "icn -e": "icn.errors",
    "icn -gt r": "icn.traffic",
}
THEAD = VendorMachines(
    vendor="thead",
    program="usr/local/PPU_SDK/bin/ppu-smi",
    script=f'echo "$*" >> ROOT/asked\n{prints(_FILES)}',
    vendor_id="0x1ded",
    device_id="0x6001",
    code="0x030200",
)
write_program = THEAD.write_program
_HEAD = "PPU {at}: PPU-ZW810E (UUID: GPU-5ca1ab1e-0810-0208-0000-00000000000{at})"
STATES = f"""\
{_HEAD.format(at=0)}
    Link 0: 50 GB/s
    Link 1: <inactive>
    Link 3: 50 GB/s
{_HEAD.format(at=1)}
    Link 0: 50 GB/s
    Link 1: <inactive>
    Link 3: <unwell>
"""
ERRORS = f"""\
{_HEAD.format(at=0)}
    Link 0: 2 link up times
    Link 0: 1 link down times
    Link 0: 5 FEC correctable errors
    Link 0: 0 FEC uncorrectable errors
    Link 0: 0 TX packet errors
    Link 0: 7 RX packet errors
    Link 0: 13 total TX packets

    Link 3: 0 link down times
    Link 3: 6 FEC correctable errors
    Link 3: some TX packet errors
"""
TRAFFIC = f"""\
{_HEAD.format(at=0)}
    Link 0: Raw Tx: 1000 KiB
    Link 0: Raw Rx: 20 KiB
    Link 3: Raw Tx: 24 KiB
{_HEAD.format(at=1)}
    Link 0: Raw Tx: N/A
"""
LISTED = """\
PPU 0: PPU-ZW810E (UUID: GPU-5ca1ab1e-0810-0208-0000-000000000000)
PPU 1: PPU-ZW810E (UUID: GPU-5ca1ab1e-0810-0208-0000-000000000001)
    MIG g0.c0.i0, Device 5 (UUID: MIG-5ca1ab1e-04cc-574b-af7b-cb2e30712105)
"""
_ANSWERS = {
    "zw810e-x2": {"icn.states": STATES, "icn.errors": ERRORS, "icn.traffic": TRAFFIC},
    "zw810e-x12": {"ppu.list": LISTED},
}
BUSES = {
    "zw810e-x2": ("0000:a7:00.0", "0000:a8:00.0"),
    "zw810e-bad-day": ("0000:08:00.0", "0000:09:00.0", "0000:0a:00.0"),
    "zw810e-x12": tuple(f"0001:{0x10 + at:02x}:00.0" for at in range(12)),
}


def arguments_used(root: Path) -> list[str]:
    """With which arguments the command was run."""
    return (root / "asked").read_text().splitlines()


@contextlib.contextmanager
def staged(folder: Path, name: str) -> Iterator[Stage]:
    """The machine of this name; of one with a query the last PPU can fall off the bus."""
    for bus in BUSES[name]:
        THEAD.lay_out_function(folder, bus)
    (folder / "sys/module/alixpu").mkdir(parents=True)
    for suffix in ("query", "txt"):
        source = DOCUMENTS / f"{name}.{suffix}"
        if source.exists():
            shutil.copy(source, folder / f"ppu.{suffix}")
    for file, text in _ANSWERS.get(name, {}).items():
        (folder / file).write_text(text)
    write_program(folder)
    stage = Stage(TheadBackend, folder)

    def remove(device: Device) -> None:
        shutil.rmtree(folder / "sys/bus/pci/devices" / str(device.pci_bus_id))
        whole = (folder / "ppu.query").read_text()
        (folder / "ppu.query").write_text(whole[: whole.rfind("\nPPU 0000") + 1])
        stage.clock.advance(10)

    stage.remove = remove if (folder / "ppu.query").exists() else None
    yield stage


@contextlib.contextmanager
def _without_answer(folder: Path) -> Iterator[Stage]:
    """The command complains: the PPU is on the bus and cannot be read."""
    with staged(folder, "zw810e-x2") as machine:
        machine.remove = None
        shutil.rmtree(folder / "sys/bus/pci/devices/0000:a8:00.0")
        write_program(folder, "echo 'init HGML error: driver is not loaded' >&2; exit 1")
        yield machine


def _machine(name: str, **traits: bool) -> FixtureMachine:
    return THEAD.machine(name, lambda folder: staged(folder, name), **traits)


MACHINES = (
    _machine("zw810e-x2", healthy=True, removable=True),
    _machine("zw810e-x12", healthy=True, reports_fault=True),
    _machine("zw810e-bad-day", healthy=False, removable=True),
    THEAD.machine("without-answer", _without_answer, healthy=False),
)
