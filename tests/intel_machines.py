"""Machines with Intel cards as fake /sys and /proc trees, read with the Intel backend."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from accelwatch.backend import Context, Request
from accelwatch.clock import ManualClock
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import opt_in_groups
from accelwatch.schema.reading import Reading
from accelwatch_intel import IntelBackend
from samples import FIXTURES

EVERYTHING = frozenset(opt_in_groups())
B580 = "0000:03:00.0"
"""The card of arc-b580."""
PORT = ("0000:00:01.0", "0000:01:00.0", "0000:02:01.0")
"""Root port, and the two ports of the switch on an Arc card."""


class Machine:
    """A root with a fake /sys and /proc, and a backend over it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = ManualClock()
        self.options: dict[str, object] = {"sysman": "off"}
        self.wake_suspended = False
        self._backend: IntelBackend | None = None

    def write(self, path: str, content: str | bytes) -> None:
        """Create or replace a file below the root."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())

    def link(self, path: str, target: str) -> None:
        """A symbolic link; a target that begins with / is kept, another is below the root."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        raw = target.startswith("/")
        place.symlink_to(target if raw else os.path.relpath(self.root / target, place.parent))

    def pci(self, bus_id: str, *bridges: str) -> str:
        """Folder of a PCI function below the given bridges, linked from /sys/bus/pci/devices."""
        folder = "/".join(("sys/devices/pci0000:00", *bridges, bus_id))
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        self.link(f"sys/bus/pci/devices/{bus_id}", folder)
        return folder

    def device_file(self, bus_id: str, name: str) -> Path:
        """Path of an attribute of a PCI function."""
        return self.root / "sys/bus/pci/devices" / bus_id / name

    def backend(self) -> IntelBackend:
        """The backend, made once."""
        if self._backend is None:
            context = Context(
                root=self.root,
                clock=self.clock,
                options=self.options,
                wake_suspended=self.wake_suspended,
            )
            self._backend = IntelBackend(context)
        return self._backend

    def devices(self) -> list[Device]:
        """All devices with their full identity, tiles behind their card."""
        backend = self.backend()
        return [full for found in backend.discover() for full in backend.identify(found)]

    def read(
        self, index: int = 0, groups: frozenset[str] = EVERYTHING, processes: bool = True
    ) -> list[Reading]:
        """Readings of a whole device."""
        backend = self.backend()
        request = Request(groups=groups, processes=processes)
        return list(backend.read(backend.discover()[index], request))

    def process(self, pid: int, name: str, fdinfo: str, node: str = "renderD128") -> None:
        """A process with one open DRM file."""
        fields = ["S", "1", *["0"] * 17, "500", "0"]
        self.write(f"proc/{pid}/stat", f"{pid} ({name}) {' '.join(fields)}\n")
        self.write(f"proc/{pid}/comm", f"{name}\n")
        self.write(f"proc/{pid}/fdinfo/7", fdinfo)
        if not (self.root / f"proc/{pid}/fd/7").is_symlink():
            self.link(f"proc/{pid}/fd/7", f"/dev/dri/{node}")


Composed = Callable[[str], Machine]
"""Lays out one composed machine of fixtures/intel."""


def lay_out_card(machine: Machine, files: dict[str, str], *bridges: str) -> str:
    """Files of one recorded `card*` as a machine; returns the PCI id."""
    name = next(path for path in files if path.endswith("/device/uevent"))
    card = name.split("/")[0]
    uevent = dict(line.split("=", 1) for line in files[name].splitlines())
    bus_id = uevent["PCI_SLOT_NAME"]
    folder = machine.pci(bus_id, *bridges)
    vendor, device = uevent["PCI_ID"].lower().split(":")
    machine.write(f"{folder}/vendor", f"0x{vendor}\n")
    machine.write(f"{folder}/device", f"0x{device}\n")
    machine.write(f"{folder}/class", f"0x{int(uevent['PCI_CLASS'], 16):06x}\n")
    machine.link(f"{folder}/driver", f"sys/bus/pci/drivers/{uevent['DRIVER']}")
    for path, content in files.items():
        below = path.removeprefix(f"{card}/")
        if below.startswith("device/"):
            machine.write(f"{folder}/{below.removeprefix('device/')}", content)
        else:
            machine.write(f"{folder}/drm/{card}/{below}", content)
    return bus_id


def lay_out_composed(machine: Machine, name: str) -> None:
    """A composed machine of fixtures/intel."""
    packed = json.loads((FIXTURES / "intel" / name / "tree.json").read_text())
    for path, content in packed["files"].items():
        machine.write(path, content)
    for path, target in packed["links"].items():
        machine.link(path, target)


def opened(machine: Machine) -> Machine:
    assert machine.backend().open().source == "sysfs+sysman"
    return machine
