"""Machines with Intel Gaudi: a PCI bus, habanalabs' class, and an hl-smi that prints composed text."""

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from accelwatch.schema.device import Device
from accelwatch_gaudi import GaudiBackend
from backends.gaudi.hlml_scenario import Scenario, build_hlml
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage

FOLDER = FIXTURES / "gaudi"
_PRINT = 'case "$1" in -Q) cat {root}/query.csv ;; *) cat {root}/table.txt ;; esac'


def tree(name: str) -> list[dict[str, Any]]:
    """The cards of a composed machine."""
    cards: list[dict[str, Any]] = json.loads((FOLDER / name / "tree.json").read_text())
    return cards


def write_program(root: Path, text: str = "") -> Path:
    """An hl-smi that prints the machine's query and table; `text` is shell to run instead."""
    program = root / "usr/bin/hl-smi"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{text or _PRINT.format(root=root)}\n")
    program.chmod(0o755)
    return program


def lay_out(root: Path, number: int, card: Mapping[str, Any], name: str = "accel") -> None:
    """One card on the bus, bound by the driver unless it is `unbound`."""
    bus = card["bus"]
    pci = root / "sys/bus/pci/devices" / bus
    identity = {"vendor": "0x1da3", "device": card["device"], "class": "0x120000", "numa_node": "0"}
    _write(pci, {**identity, **card.get("pci", {})})
    _write(root / "sys/module/habanalabs", {"version": "1.20.0-bd87f71"})
    if card.get("unbound"):
        return
    kind = "accel" if name == "accel" else "habanalabs"
    folder = root / "sys/class" / kind / f"{name}{number}"
    folder.mkdir(parents=True)
    (folder / "device").symlink_to(Path("../../../bus/pci/devices") / bus)
    _write(pci if name == "accel" else folder, card["class"])


def _write(folder: Path, files: Mapping[str, str | None]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        if content is not None:
            (folder / name).write_text(f"{content}\n")


def drop(root: Path, bus: str) -> None:
    """The command lists a card no more."""
    query, table = root / "query.csv", root / "table.txt"
    if query.exists():
        lines = query.read_text().splitlines(keepends=True)
        query.write_text("".join(line for line in lines if bus not in line))
    kept: list[str] = []
    skipped = 0
    for line in table.read_text().splitlines(keepends=True):
        skipped = 2 if bus in line else max(0, skipped - 1)
        if not skipped:
            kept.append(line)
    table.write_text("".join(kept))


@contextlib.contextmanager
def stage(folder: Path, name: str, node: str = "accel") -> Iterator[Stage]:
    """A composed machine; its last card can fall off the bus."""
    for number, card in enumerate(tree(name)):
        lay_out(folder, number, card, node)
    for file in (FOLDER / name).iterdir():
        if file.suffix != ".json":
            shutil.copy(file, folder / file.name)
    write_program(folder)
    staged = Stage(GaudiBackend, folder)

    def remove(device: Device) -> None:
        bus = str(device.pci_bus_id)
        shutil.rmtree(folder / "sys/bus/pci/devices" / bus)
        for link in (folder / "sys/class").glob("*/*/device"):
            if link.readlink().name == bus:
                shutil.rmtree(link.parent)
        drop(folder, bus)
        staged.clock.advance(10)

    staged.remove = remove
    yield staged


@contextlib.contextmanager
def _bad_day(folder: Path) -> Iterator[Stage]:
    """One card waits for a reset, one is in it, one is disabled, one works hot, one is not bound."""
    with stage(folder, "gaudi3-bad-day") as staged:
        staged.remove = None
        yield staged


@contextlib.contextmanager
def _without_answer(folder: Path) -> Iterator[Stage]:
    """The command complains: the card is on the bus and it cannot be told which it is."""
    with stage(folder, "gaudi2-x2") as staged:
        shutil.rmtree(folder / "sys/bus/pci/devices/0000:9a:00.0")
        staged.remove = None
        write_program(folder, "echo 'hl-smi: HLML initialization failed' >&2; exit 1")
        yield staged


@contextlib.contextmanager
def _without_command(folder: Path) -> Iterator[Stage]:
    """The driver alone tells of its cards."""
    with stage(folder, "gaudi2-x2") as staged:
        (folder / "usr/bin/hl-smi").unlink()
        yield staged


@contextlib.contextmanager
def stage_library(folder: Path) -> Iterator[tuple[Stage, Scenario]]:
    """The first cards of the bad day, read through the library, and working."""
    for number, card in enumerate(tree("gaudi3-bad-day")[:2]):
        lay_out(folder, number, {**card, "class": {**card["class"], "status": "operational"}})
    library = folder / "usr/lib/habanalabs/libhlml.so"
    library.parent.mkdir(parents=True)
    library.symlink_to(build_hlml())
    scenario = Scenario(folder / "hlml.scenario")
    staged = Stage(GaudiBackend, folder)

    def remove(device: Device) -> None:
        shutil.rmtree(folder / "sys/bus/pci/devices" / str(device.pci_bus_id))
        shutil.rmtree(folder / f"sys/class/accel/accel{device.index}")
        scenario.set("count", 1)
        staged.clock.advance(10)

    staged.remove = remove
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACCELWATCH_HLML_SCENARIO", str(scenario.path))
        yield staged, scenario


@contextlib.contextmanager
def _library(folder: Path) -> Iterator[Stage]:
    with stage_library(folder) as (staged, _):
        yield staged


@contextlib.contextmanager
def _library_lost(folder: Path) -> Iterator[Stage]:
    """One card answers nothing more, and the driver shows it no longer."""
    with stage_library(folder) as (staged, scenario):
        scenario.set("1.call.hlml_device_get_power_usage", 15)
        scenario.set("1.call.hlml_device_get_name", 15)
        shutil.rmtree(folder / "sys/class/accel/accel1")
        staged.remove = None
        yield staged


_CAN = frozenset({"devices", "removable"})
MACHINES = (
    FixtureMachine(
        "gaudi-gaudi2-x2", "habana", True, lambda folder: stage(folder, "gaudi2-x2"), _CAN
    ),
    FixtureMachine(
        "gaudi-gaudi1-table",
        "habana",
        True,
        lambda folder: stage(folder, "gaudi1-table", "hl"),
        _CAN,
    ),
    FixtureMachine("gaudi-library", "habana", True, _library, _CAN, reports_fault=True),
    FixtureMachine("gaudi-library-lost", "habana", False, _library_lost, frozenset({"devices"})),
    FixtureMachine("gaudi-driver-only", "habana", True, _without_command, _CAN),
    FixtureMachine(
        "gaudi-gaudi3-bad-day",
        "habana",
        False,
        _bad_day,
        frozenset({"devices"}),
    ),
    FixtureMachine(
        "gaudi-without-answer", "habana", False, _without_answer, frozenset({"devices"})
    ),
)
