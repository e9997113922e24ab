"""Lays out packed trees of /sys files and reads them with the backend."""

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from accelwatch import sysfs
from accelwatch.backend import Context, Request
from accelwatch.clock import ManualClock
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import opt_in_groups
from accelwatch.schema.reading import Reading
from accelwatch_amd import AmdBackend
from samples import FIXTURES, sample

Packed = str | dict[str, str | int]
EVERYTHING = frozenset(opt_in_groups())


def unpacked(value: Packed) -> bytes:
    """Bytes of one packed file: text, text padded with NUL bytes, zeros, or base64."""
    if isinstance(value, str):
        return value.encode()
    if "b64" in value:
        return base64.b64decode(str(value["b64"]))
    text = str(value.get("text", "")).encode()
    return text.ljust(int(value.get("nul_padded_to", value.get("zeros", 0))), b"\0")


class Machine:
    """A root with a fake /sys, and a backend over it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = ManualClock()
        self.failures: dict[str, Absence] = {}
        """End of a path to the reason why reading it fails."""
        self.removals: dict[str, Path] = {}
        self.read_paths: list[str] = []
        self.options: dict[str, object] = {"amdsmi": "never"}
        self.wake_suspended = False
        self.one_shot = False

    def write(self, path: str, content: Packed | bytes) -> None:
        """Create or replace a file below the root."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else unpacked(content))

    def link(self, path: str, target: str) -> None:
        """A symbolic link below the root: to a path below it, or to an absolute one as it is."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        absolute = target.startswith("/")
        place.symlink_to(target if absolute else os.path.relpath(self.root / target, place.parent))

    def pci(self, bus_id: str, *bridges: str) -> str:
        """A PCI device's folder, below the given bridges, linked from /sys/bus/pci/devices."""
        folder = "/".join(("sys/devices/pci0000:00", *bridges, bus_id))
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        self.link(f"sys/bus/pci/devices/{bus_id}", folder)
        return folder

    def read_bytes(self, path: Path) -> bytes | Absence:
        """Reader that fails where it is told to."""
        name = str(path)
        self.read_paths.append(
            str(path.relative_to(self.root)) if self.root in path.parents else name
        )
        for end, victim in list(self.removals.items()):
            if name.endswith(end):
                (self.root / victim).unlink()
                del self.removals[end]
        for end, reason in self.failures.items():
            if name.endswith(end):
                return reason
        return sysfs.read_bytes(path)

    def then_remove(self, end: str, victim: Path) -> None:
        """Take a link away at the moment when a path with this end is read."""
        self.removals[end] = victim

    def backend(self) -> AmdBackend:
        """A fresh backend."""
        context = Context(
            root=self.root,
            clock=self.clock,
            options=self.options,
            wake_suspended=self.wake_suspended,
            one_shot=self.one_shot,
        )
        return AmdBackend(context, self.read_bytes)

    def devices(self, backend: AmdBackend | None = None) -> list[Device]:
        """All devices with their full identity, partitions behind their device."""
        backend = backend or self.backend()
        return [full for found in backend.discover() for full in backend.identify(found)]

    def first(self, groups: frozenset[str] = EVERYTHING) -> tuple[Device, Reading]:
        """Identity and one reading of the first device."""
        backend = self.backend()
        device = self.devices(backend)[0]
        return device, backend.read(device, Request(groups=groups))[0]


def lay_out_card(machine: Machine, files: dict[str, Packed]) -> str:
    """Files of one `card*/device` (and `kfd/`) as a machine; returns the PCI id."""
    name = next(path for path in files if path.endswith("/device/uevent"))
    card = name.split("/")[0]
    uevent = dict(
        line.split("=", 1) for line in unpacked(files[name]).decode().strip("\0\n").splitlines()
    )
    bus_id = uevent["PCI_SLOT_NAME"]
    folder = machine.pci(bus_id)
    (machine.root / folder / "drm" / card).mkdir(parents=True)
    for path, content in files.items():
        if path.startswith(f"{card}/device/"):
            machine.write(f"{folder}/{path.removeprefix(f'{card}/device/')}", content)
        elif path.startswith("kfd/"):
            machine.write(f"sys/class/kfd/{path}", content)
    return bus_id


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def card(machine: Machine) -> Callable[[str], Machine]:
    """Lays out one recorded card."""

    def lay_out(name: str) -> Machine:
        packed = json.loads(sample(f"amd/sysfs/{name}.json").read_text())
        lay_out_card(machine, packed["files"])
        return machine

    return lay_out


@pytest.fixture
def composed(machine: Machine) -> Callable[[str], Machine]:
    """Lays out one composed machine of fixtures/amd."""

    def lay_out(name: str) -> Machine:
        packed = json.loads((FIXTURES / "amd" / name / "tree.json").read_text())
        for path, content in packed["files"].items():
            machine.write(path, content)
        for path, target in packed["links"].items():
            machine.link(path, target)
        return machine

    return lay_out
