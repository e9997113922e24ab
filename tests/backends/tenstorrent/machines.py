"""Machines with chips of Tenstorrent: a PCI bus, tt-kmd's class, and a tt-smi that prints a snapshot."""

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from accelwatch.schema.device import Device
from accelwatch_tenstorrent import TenstorrentBackend
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine, Stage

FOLDER = FIXTURES / "tenstorrent"


def tree(name: str) -> list[dict[str, Any]]:
    """The chips of a composed driver tree."""
    chips: list[dict[str, Any]] = msgspec.json.decode((FOLDER / f"{name}.json").read_bytes())
    return chips


def lay_out(root: Path, number: int, chip: Mapping[str, Any]) -> None:
    """One chip on the bus, bound by the driver."""
    pci = root / "sys/bus/pci/devices" / chip["bus"]
    identity = {"vendor": "0x1e52", "device": chip["device"], "class": "0x120000", "numa_node": "0"}
    _write(pci, {**identity, **chip.get("pci", {})})
    _write(pci / "hwmon/hwmon3", chip.get("hwmon", {}))
    folder = root / f"sys/class/tenstorrent/tenstorrent!{number}"
    _write(folder, chip.get("class", {}))
    (folder / "device").symlink_to(Path("../../../bus/pci/devices") / chip["bus"])
    _write(root / f"proc/driver/tenstorrent/{number}", {"pids": chip.get("pids", "")})
    _write(root / "sys/module/tenstorrent", {"version": "2.8.0"})


def _write(folder: Path, files: Mapping[str, str | None]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        if content is None:
            # Reading a folder fails as reading ENODATA does: `unsupported`.
            (folder / name).mkdir()
        else:
            (folder / name).write_text(f"{content}\n")


def write_program(root: Path, text: str = "") -> Path:
    """A tt-smi that prints the machine's snapshot; `text` is shell to run instead."""
    program = root / "usr/bin/tt-smi"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{text or f'cat {root}/snapshot'}\n")
    program.chmod(0o755)
    return program


def _remover(staged: Stage, after: Callable[[Device], None]) -> Callable[[Device], None]:
    def remove(device: Device) -> None:
        if device.pci_bus_id is not None:
            shutil.rmtree(staged.root / "sys/bus/pci/devices" / device.pci_bus_id)
            shutil.rmtree(staged.root / f"sys/class/tenstorrent/tenstorrent!{device.index}")
        after(device)
        staged.clock.advance(10)

    return remove


@contextlib.contextmanager
def stage(folder: Path, name: str) -> Iterator[Stage]:
    """The machine of a driver tree; its last chip can fall off the bus."""
    for number, chip in enumerate(tree(name)):
        lay_out(folder, number, chip)
    staged = Stage(TenstorrentBackend, folder)
    staged.remove = _remover(staged, lambda device: None)
    yield staged


@contextlib.contextmanager
def stage_tool(folder: Path, file: str, device: str) -> Iterator[Stage]:
    """The machine of a snapshot, under a driver that shows no telemetry."""
    text = (FOLDER / file).read_text()
    start = text.index("{")
    document = json.loads(text[start:])
    chips = [chip for chip in document["device_info"] if "telemetry" in chip]
    buses = [chip["board_info"]["bus_id"] for chip in chips]
    for number, bus in enumerate(bus for bus in buses if bus != "N/A"):
        lay_out(folder, number, {"bus": bus, "device": device})
    (folder / "snapshot").write_text(text)
    write_program(folder)
    staged = Stage(TenstorrentBackend, folder)

    def unlist(gone: Device) -> None:
        address = gone.pci_bus_id or "N/A"
        left = [chip for chip in chips if chip["board_info"]["bus_id"] != address]
        (folder / "snapshot").write_text(json.dumps({**document, "device_info": left}))

    staged.remove = _remover(staged, unlist)
    yield staged


@contextlib.contextmanager
def _without_answer(folder: Path) -> Iterator[Stage]:
    """The command complains: the chip is on the bus and cannot be read."""
    with stage_tool(folder, "n300.json", "0x401e") as staged:
        staged.remove = None
        write_program(folder, "echo 'No Tenstorrent devices detected' >&2; exit 1")
        yield staged


_CAN = frozenset({"devices", "removable"})
MACHINES = (
    FixtureMachine(
        "tenstorrent-n150-x2",
        "tenstorrent",
        True,
        lambda folder: stage(folder, "n150-x2"),
        _CAN | {"files"},
    ),
    FixtureMachine(
        "tenstorrent-p150-bad-day",
        "tenstorrent",
        False,
        lambda folder: stage(folder, "p150-bad-day"),
        _CAN | {"files"},
    ),
    FixtureMachine(
        "tenstorrent-n300",
        "tenstorrent",
        True,
        lambda folder: stage_tool(folder, "n300.json", "0x401e"),
        _CAN,
    ),
    FixtureMachine(
        "tenstorrent-smi-bad-day",
        "tenstorrent",
        False,
        lambda folder: stage_tool(folder, "p150-smi-bad-day.txt", "0xb140"),
        _CAN,
    ),
    FixtureMachine(
        "tenstorrent-without-answer", "tenstorrent", False, _without_answer, frozenset({"devices"})
    ),
)
