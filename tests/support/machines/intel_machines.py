"""Machines with Intel cards as fake /sys and /proc trees, read with the Intel backend."""

from collections.abc import Callable, Mapping
from pathlib import Path

from accelwatch.backend import Context, Request
from accelwatch.base.clock import ManualClock
from accelwatch.schema.catalogue.lookup import opt_in_groups
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_intel import IntelBackend
from support.machines.packed_trees import FakeTree, Packed, uevent_of

EVERYTHING = frozenset(opt_in_groups())
# The card of arc-b580.
B580 = "0000:03:00.0"
# Root port, and the two ports of the switch on an Arc card.
PORT = ("0000:00:01.0", "0000:01:00.0", "0000:02:01.0")


class Machine:
    """A root with a fake /sys and /proc, and a backend over it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tree = FakeTree(root)
        self.clock = ManualClock()
        self.options: dict[str, object] = {"sysman": "off"}
        self.wake_suspended = False
        self._backend: IntelBackend | None = None

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
        self.tree.write(f"proc/{pid}/stat", f"{pid} ({name}) {' '.join(fields)}\n")
        self.tree.write(f"proc/{pid}/comm", f"{name}\n")
        self.tree.write(f"proc/{pid}/fdinfo/7", fdinfo)
        if not (self.root / f"proc/{pid}/fd/7").is_symlink():
            self.tree.link(f"proc/{pid}/fd/7", f"/dev/dri/{node}")


# Lays out one composed machine of fixtures/intel.
Composed = Callable[[str], Machine]


def lay_out_card(machine: Machine, files: Mapping[str, Packed], *bridges: str) -> str:
    """Files of one recorded `card*` as a machine; returns the PCI id."""
    card, uevent = uevent_of(files)
    bus_id = uevent["PCI_SLOT_NAME"]
    folder = machine.tree.pci(bus_id, *bridges)
    vendor, device = uevent["PCI_ID"].lower().split(":")
    machine.tree.write(f"{folder}/vendor", f"0x{vendor}\n")
    machine.tree.write(f"{folder}/device", f"0x{device}\n")
    machine.tree.write(f"{folder}/class", f"0x{int(uevent['PCI_CLASS'], 16):06x}\n")
    machine.tree.link(f"{folder}/driver", f"sys/bus/pci/drivers/{uevent['DRIVER']}")
    for path, content in files.items():
        below = path.removeprefix(f"{card}/")
        if below.startswith("device/"):
            machine.tree.write(f"{folder}/{below.removeprefix('device/')}", content)
        else:
            machine.tree.write(f"{folder}/drm/{card}/{below}", content)
    return bus_id


def opened(machine: Machine) -> Machine:
    assert machine.backend().open().source == "sysfs+sysman"
    return machine
