"""Lays out packed trees of /sys files and reads them with the backend."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from accelwatch.backend import Context, Request
from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.schema.catalogue.lookup import opt_in_groups
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.system.kernel import sysfs
from accelwatch_amd import AmdBackend
from support.machines.packed_trees import (
    FakeTree,
    Packed,
    composed_machines,
    recorded_cards,
    uevent_of,
)

EVERYTHING = frozenset(opt_in_groups())


class Machine:
    """A root with a fake /sys, and a backend over it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tree = FakeTree(root)
        self.clock = ManualClock()
        # End of a path to the reason why reading it fails.
        self.failures: dict[str, Absence] = {}
        self.removals: dict[str, Path] = {}
        self.read_paths: list[str] = []
        self.options: dict[str, object] = {"amdsmi": "never"}
        self.wake_suspended = False
        self.one_shot = False

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


def lay_out_card(machine: Machine, files: Mapping[str, Packed]) -> str:
    """Files of one `card*/device` (and `kfd/`) as a machine; returns the PCI id."""
    card, uevent = uevent_of(files)
    bus_id = uevent["PCI_SLOT_NAME"]
    folder = machine.tree.pci(bus_id)
    (machine.root / folder / "drm" / card).mkdir(parents=True)
    for path, content in files.items():
        if path.startswith(f"{card}/device/"):
            machine.tree.write(f"{folder}/{path.removeprefix(f'{card}/device/')}", content)
        elif path.startswith("kfd/"):
            machine.tree.write(f"sys/class/kfd/{path}", content)
    return bus_id


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def card(machine: Machine) -> Callable[[str], Machine]:
    return recorded_cards(machine, "amd", lay_out_card)


@pytest.fixture
def composed(machine: Machine) -> Callable[[str], Machine]:
    return composed_machines(machine, "amd")
