"""Accelerators of Tenstorrent: found on the PCI bus, read from tt-kmd's sysfs, or through tt-smi.

tt-smi is run only where the driver shows too little: no telemetry (old drivers), or an n300, whose
second chip is not on the bus. Without tt-smi, pyluwen reads the chips of which the driver shows nothing.
"""

from collections.abc import Sequence

import msgspec

from accelwatch.backend import (
    Check,
    Context,
    Opened,
    Option,
    Probe,
    Request,
    Support,
    Visibility,
)
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.bus_devices import Location, accelerators, bare_devices
from accelwatch.backend.kit.polled import PolledDocument
from accelwatch.backend.kit.vendor_tool import VendorTool
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DeviceSuspended, ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.health import NO_DRIVER
from accelwatch.schema.reading import Collected, Reading
from accelwatch.system.kernel import sysfs
from accelwatch.system.kernel.pcie_link import collect_link
from accelwatch_tenstorrent import driver, mapping, registers
from accelwatch_tenstorrent.heartbeat import Heartbeats
from accelwatch_tenstorrent.snapshot import Chip, Snapshot
from accelwatch_tenstorrent.sources import LOAD_DRIVER, PROGRAM, Sources

VENDOR_ID = 0x1E52
_PREFIX, _NODES = "tt", "tenstorrent/[0-9]*"


class TenstorrentBackend:
    """Options: `source` (auto, sysfs, tt-smi, pyluwen), `tt_smi` (path of the command), `pace_s`."""

    name = "tenstorrent"
    vendor = mapping.VENDOR
    serial = False
    options = (
        Option("source"),
        Option("tt_smi", is_path=True),
        Option("pace_s"),
    )
    # tt-umd, PCIDevice::enumerate_devices: numbers follow the order of the bus since 0.9.3, and
    # those of the driver's nodes before.
    visibility = Visibility(variable="TT_VISIBLE_DEVICES", entry="{pci_bus_id}")
    remote = "accelwatch_tenstorrent.remote:REMOTE"
    support = Support(
        vendor="Tenstorrent",
        source="tt-kmd's sysfs and hwmon; `tt-smi -s` for drivers without telemetry and remote chips, "
        "`pyluwen` without tt-smi",
        tested_with="recorded snapshots of an n150, four n300 and a Blackhole Galaxy; composed driver "
        "trees, healthy and faulty",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self._sources = Sources(context)
        self._driver_version: str | None = None
        self._heartbeats = Heartbeats()
        self._tool: VendorTool[Snapshot, Location] | None = None

    def probe(self) -> Probe:
        """Look for the vendor on the PCI bus and for the driver's class and nodes."""
        root = self._context.root
        there = bool(accelerators(self._context, VENDOR_ID))
        folder, node = root / "sys/class/tenstorrent", root / "dev/tenstorrent"
        checks = (
            Check(subject="PCI 1e52, class 12", ok=there),
            Check(subject=str(folder), ok=folder.is_dir(), remedy=LOAD_DRIVER),
            Check(
                subject=PROGRAM,
                ok=self._sources.find() is not None,
                remedy="install tt-smi: needed for old drivers and the second chip of an n300",
            ),
        )
        return Probe(present=there or folder.is_dir() or node.is_dir(), checks=checks)

    def open(self) -> Opened:
        """See which source there is. Raises BackendUnavailable."""
        try:
            return self._start()
        except BackendUnavailable as refusal:
            root, on_bus = self._context.root, accelerators(self._context, VENDOR_ID)
            there = bare_devices(root, on_bus, vendor=self.name, prefix=_PREFIX, nodes=_NODES)
            raise refusal.with_devices(there) from None

    def _start(self) -> Opened:
        root = self._context.root
        self._sources.choose()
        version = sysfs.read_text(root / "sys/module/tenstorrent/version")
        self._driver_version = None if isinstance(version, Absence) else version[:64] or None
        self._tool = VendorTool(
            self._context,
            self._sources.query,
            self._locations,
            name=self.name,
            command=self._sources.tool_name,
            prefix=_PREFIX,
            vendor_id=VENDOR_ID,
            nodes=_NODES,
        )
        if self._sources.needs_tool():
            self._tool.first()
        versions = {"driver": self._driver_version} if self._driver_version else {}
        return Opened(source=self._sources.opened, versions=versions)

    def discover(self) -> Sequence[Device]:
        """What is on the PCI bus, then the remote chips. Raises BackendUnavailable."""
        numbers = self._numbers()
        devices = self._opened.discover()
        return [_numbered(device, numbers.get(device.pci_bus_id or "")) for device in devices]

    def identify(self, device: Device) -> Sequence[Device]:
        """The chip by its own number, or its PCI id; it has no partitions. Raises ReadError."""
        node = self._node_of(device)
        if node is not None and self._sources.by_driver(node):
            card = driver.card_type(self._context.root, node)
            named = mapping.identified_by_driver(
                device, node, card, self._sources.architecture(node.pci_bus_id)
            )
            return [msgspec.structs.replace(named, driver_version=self._driver_version)]
        answer, chip = self._chip_of(device)
        named = mapping.identified_by_tool(device, chip, node)
        version = self._driver_version or answer.document.driver_version
        return [msgspec.structs.replace(named, driver_version=version)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the driver shows now, or the newest snapshot says. Raises ReadError."""
        node = self._node_of(device)
        if node is not None and self._sources.by_driver(node):
            numbers = self._from_driver(device, node)
        else:
            numbers = self._from_tool(device)
        if not request.processes:
            absent = {**numbers.absent, ("processes",): Absence.NOT_COLLECTED}
            return [msgspec.structs.replace(numbers, absent=absent)]
        request.numbers([numbers])
        return [self._with_processes(numbers, node)]

    def close(self) -> None:
        """Stop polling."""
        if self._tool is not None:
            self._tool.close()

    @property
    def _opened(self) -> VendorTool[Snapshot, Location]:
        assert self._tool is not None
        return self._tool

    def _numbers(self, chips: Sequence[Chip] = ()) -> dict[str, int]:
        """Of every chip on the bus: of the driver's nodes; those that it has not bound come after."""
        nodes = driver.nodes(self._context.root)
        numbers = {bus: node.number for bus, node in nodes.items()}
        listed = [chip.pci_bus_id for chip in chips if chip.pci_bus_id is not None]
        for bus in (*accelerators(self._context, VENDOR_ID), *listed):
            numbers.setdefault(bus, max(numbers.values(), default=-1) + 1)
        return numbers

    def _locations(self, snapshot: Snapshot) -> list[Location]:
        """Chips on the bus, then the remote ones."""
        numbers = self._numbers(snapshot.chips)
        after = max(numbers.values(), default=-1) + 1
        remote = [chip for chip in snapshot.chips if chip.pci_bus_id is None]
        locations = [Location(bus, number) for bus, number in numbers.items()]
        return [*locations, *(Location(None, after + chip.at) for chip in remote)]

    def _node_of(self, device: Device) -> driver.Node | None:
        """The driver's node at a device's PCI id. Raises DeviceLost when nothing is at it."""
        bus = device.pci_bus_id
        if bus is None:
            return None
        if self._context.leaves_asleep(bus):
            raise DeviceSuspended(f"{device.name} sleeps and was left asleep")
        if not sysfs.pci_device_dir(self._context.root, bus).is_dir():
            raise DeviceLost(f"{device.name}: nothing is at {bus} any more", code="off_the_bus")
        node = driver.node_at(self._context.root, bus)
        if node is None and (self._sources.by_library or not self._sources.needs_tool()):
            raise ReadError(
                f"{device.name}: the driver has not bound {bus}; {LOAD_DRIVER}", code=NO_DRIVER
            )
        return node

    def _chip_of(self, device: Device) -> tuple[PolledDocument[Snapshot], Chip]:
        """The newest snapshot and the chip at the device's PCI id. Raises ReadError when it has none."""
        answer, bus = self._opened.answer_for(device), device.pci_bus_id
        chips = [chip for chip in answer.document.chips if chip.pci_bus_id == bus]
        if bus is None:
            locations = self._locations(answer.document)
            remote = [location.number for location in locations if location.pci_bus_id is None]
            chips = [chip for chip in chips if remote[chip.at] == device.index]
        if chips:
            self._opened.is_listed(device)
            return answer, chips[0]
        self._opened.must_be_ours(device)
        if (failure := answer.document.failures.get(bus or "")) is not None:
            raise failure
        where = "remote chip" if bus is None else f"chip at {bus}"
        raise self._opened.not_listed(device, answer.document, f"the {where}")

    def _from_driver(self, device: Device, node: driver.Node) -> Reading:
        beat = driver.heartbeat(node)
        if beat in (Absence.LOST, driver.ALL_BITS_SET):
            raise DeviceLost(
                f"{device.name}: nothing answers at {node.pci_bus_id}: its registers read all ones",
                code="no_answer",
            )
        if beat is Absence.STALE:
            raise ReadError(
                f"{device.name}: the driver waits for the chip's initialisation; "
                "it is being reset or did not come up",
                code="not_initialised",
            )
        out = mapping.of_driver(device.id, node, self._context.root)
        alive, unknown = None, beat if isinstance(beat, Absence) else Absence.NOT_COLLECTED
        if isinstance(beat, int):
            alive = self._heartbeats.alive(device.id, beat, self._context.clock.monotonic())
        trips = sysfs.read_int(node.folder / "tt_therm_trip_count")
        signs = mapping.Signs(alive, thermal_trips=trips if isinstance(trips, int) else None)
        mapping.record_health(out, signs, unknown)
        return out.reading(sources={"*": driver.SOURCE})

    def _from_tool(self, device: Device) -> Reading:
        answer, chip = self._chip_of(device)
        out: Collected = mapping.of_tool(device.id, chip)
        if self._sources.by_library and chip.pci_bus_id is not None:
            collect_link(out, self._context.root, chip.pci_bus_id)
        beat = registers.heartbeat(chip)
        alive, unknown = None, Absence.UNSUPPORTED if beat is None else Absence.NOT_COLLECTED
        if beat is not None:
            read_at = self._context.clock.monotonic() - answer.age_s
            alive = self._heartbeats.alive(device.id, beat, read_at)
        mapping.record_health(out, mapping.signs_of(chip, alive), unknown)
        reading = out.reading(sources={"*": self._sources.tool_name})
        return msgspec.structs.replace(reading, age_s=answer.age_s, pace_s=answer.pace_s)

    def _with_processes(self, reading: Reading, node: driver.Node | None) -> Reading:
        processes: object = Absence.UNSUPPORTED
        if node is not None:
            processes = driver.processes(self._context.root, node, reading.device_id)
        if isinstance(processes, list):
            return msgspec.structs.replace(reading, processes=tuple(processes))
        absent = {**reading.absent, ("processes",): processes}
        return msgspec.structs.replace(reading, absent=absent)


def _numbered(device: Device, number: int | None) -> Device:
    """The device by the driver's number; unchanged without one."""
    if number is None:
        return device
    return msgspec.structs.replace(device, index=number, name=f"tt{number}")
