"""Accelerators of Tenstorrent: found on the PCI bus, read from tt-kmd's sysfs, or through tt-smi.

tt-smi is run only where the driver shows too little: no telemetry (old drivers), or an n300, whose
second chip is not on the bus. Without tt-smi, pyluwen reads the chips of which the driver shows nothing.
"""

from collections.abc import Sequence
from pathlib import Path

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
from accelwatch.backend_kit.polled import Answer
from accelwatch.backend_kit.vendor_program import chosen_program, output_of
from accelwatch.backend_kit.vendor_tool import Location, VendorTool, accelerators, bare_devices
from accelwatch.base.absence import Absence
from accelwatch.base.errors import BackendUnavailable, DeviceLost, DeviceSuspended, ReadError
from accelwatch.kernel import sysfs
from accelwatch.kernel.pcie_link import collect_link
from accelwatch.processes.complete_output import parsed
from accelwatch.schema.device import Device
from accelwatch.schema.health import NO_DRIVER
from accelwatch.schema.reading import Collected, Reading
from accelwatch_tenstorrent import driver, mapping, python_library, registers
from accelwatch_tenstorrent.heartbeat import Heartbeats
from accelwatch_tenstorrent.snapshot import Chip, Snapshot, parse

VENDOR_ID = 0x1E52
_PREFIX, _NODES = "tt", "tenstorrent/[0-9]*"
_PROGRAM = "tt-smi"
_SOURCES = ("auto", "sysfs", "tt-smi", python_library.NAME)
# For one run: it asks every chip in turn, and a tray has 32.
_TIMEOUT_S = 20.0
_GET_DRIVER = "load the driver: tenstorrent (tt-kmd)"
_GET_TOOL = "update the driver tt-kmd to 2.0 or later, or install tt-smi"
# Sources beside the driver, and the word for one that is not there.
_TOOLS = {_PROGRAM: "command_not_found", python_library.NAME: "library_missing"}


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
    # tt-umd, PCIDevice::enumerate_devices: numbers are places in the order of the bus since 0.9.3, and
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
        self._source = "auto"
        self._program: Path | None = None
        # Whether what the driver does not show is read by pyluwen.
        self._by_library = False
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
            Check(subject=str(folder), ok=folder.is_dir(), remedy=_GET_DRIVER),
            Check(
                subject=_PROGRAM,
                ok=self._find() is not None,
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
        source = self._context.options.get("source", "auto")
        if not isinstance(source, str) or source not in _SOURCES:
            raise BackendUnavailable(
                f"source: {source!r} is not one of {', '.join(_SOURCES)}",
                reason="option",
                remedy="fix collect.options.tenstorrent.source in the configuration",
            )
        if not (root / "sys/class/tenstorrent").is_dir():
            raise BackendUnavailable(
                f"{root / 'sys/class/tenstorrent'} is not there: the driver is not loaded",
                reason="driver_not_loaded",
                remedy=_GET_DRIVER,
            )
        self._source = source
        self._program = self._find() if source in ("auto", _PROGRAM) else None
        library = source in ("auto", python_library.NAME) and self._program is None
        self._by_library = library and python_library.is_installed()
        if source in _TOOLS and self._program is None and not self._by_library:
            raise BackendUnavailable(
                f"{source} was not found",
                reason=_TOOLS[source],
                remedy=f"install {source}, or set the source to auto",
            )
        version = sysfs.read_text(root / "sys/module/tenstorrent/version")
        self._driver_version = None if isinstance(version, Absence) else version[:64] or None
        self._tool = VendorTool(
            self._context,
            self._query,
            self._locations,
            name=self.name,
            command=self._tool_name,
            prefix=_PREFIX,
            vendor_id=VENDOR_ID,
            nodes=_NODES,
        )
        if self._needs_tool():
            self._tool.first()
        versions = {"driver": self._driver_version} if self._driver_version else {}
        return Opened(source=source if source in _TOOLS else driver.SOURCE, versions=versions)

    def discover(self) -> Sequence[Device]:
        """What is on the PCI bus, then the remote chips. Raises BackendUnavailable."""
        numbers = self._numbers()
        devices = self._opened.discover()
        return [_numbered(device, numbers.get(device.pci_bus_id or "")) for device in devices]

    def identify(self, device: Device) -> Sequence[Device]:
        """The chip by its own number, or its place; it has no partitions. Raises ReadError."""
        node = self._node_of(device)
        if node is not None and self._by_driver(node):
            card = driver.card_type(self._context.root, node)
            named = mapping.identified_by_driver(
                device, node, card, self._architecture(node.pci_bus_id)
            )
            return [msgspec.structs.replace(named, driver_version=self._driver_version)]
        answer, chip = self._chip_of(device)
        named = mapping.identified_by_tool(device, chip, node)
        version = self._driver_version or answer.document.driver_version
        return [msgspec.structs.replace(named, driver_version=version)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the driver shows now, or the newest snapshot says. Raises ReadError."""
        node = self._node_of(device)
        if node is not None and self._by_driver(node):
            numbers = self._from_driver(device, node)
        else:
            numbers = self._from_tool(device)
        if not request.processes:
            absent = {**numbers.absent, ("processes",): Absence.NOT_COLLECTED}
            return [msgspec.structs.replace(numbers, absent=absent)]
        request.numbers([numbers])
        return [self._with_processes(numbers, node)]

    def close(self) -> None:
        """Ask no more."""
        if self._tool is not None:
            self._tool.close()

    @property
    def _opened(self) -> VendorTool[Snapshot, Location]:
        assert self._tool is not None
        return self._tool

    @property
    def _tool_name(self) -> str:
        return python_library.NAME if self._by_library else _PROGRAM

    def _find(self) -> Path | None:
        named = self._context.options.get("tt_smi")
        return chosen_program(self._context.root, named, (_PROGRAM,))

    def _by_driver(self, node: driver.Node) -> bool:
        """Whether a chip is read from the driver, be it all of its telemetry or all there is to have."""
        if self._source != "auto":
            return self._source == "sysfs"
        return node.complete or (self._program is None and node.hwmon is not None)

    def _needs_tool(self) -> bool:
        """Whether some chip cannot be read from the driver."""
        if self._source != "auto":
            return self._source in _TOOLS
        nodes = driver.nodes(self._context.root)
        if any(not self._by_driver(node) for node in nodes.values()):
            return True
        boards = {node.text("tt_card_type") for node in nodes.values()}
        return self._program is not None and "n300" in boards

    def _query(self) -> Snapshot:
        """The newest snapshot; an empty one where none is needed."""
        if not self._needs_tool():
            return Snapshot()
        if self._by_library:
            return python_library.snapshot(self._unshown())
        if self._program is None:
            raise ReadError(
                f"the driver shows no telemetry and tt-smi was not found: {_GET_TOOL}",
                code="command_not_found",
            )
        is_complete = parsed(parse, lambda snapshot: snapshot.chips)
        snapshot = parse(
            output_of(self._program, "-s", timeout_s=_TIMEOUT_S, is_complete=is_complete)
        )
        chips = tuple(
            msgspec.structs.replace(chip, architecture=self._architecture(chip.pci_bus_id))
            for chip in snapshot.chips
        )
        return msgspec.structs.replace(snapshot, chips=chips)

    def _unshown(self) -> list[python_library.ChipAddress]:
        """Chips that the driver has bound and does not tell enough of."""
        return [
            python_library.ChipAddress(
                node.number, node.pci_bus_id, self._architecture(node.pci_bus_id)
            )
            for node in driver.nodes(self._context.root).values()
            if not self._by_driver(node) and not self._context.leaves_asleep(node.pci_bus_id)
        ]

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
        """The driver's node at a device's place. Raises DeviceLost when nothing is at it."""
        bus = device.pci_bus_id
        if bus is None:
            return None
        if self._context.leaves_asleep(bus):
            raise DeviceSuspended(f"{device.name} sleeps and was left asleep")
        if not sysfs.pci_device_dir(self._context.root, bus).is_dir():
            raise DeviceLost(f"{device.name}: nothing is at {bus} any more", code="off_the_bus")
        node = driver.node_at(self._context.root, bus)
        if node is None and (self._by_library or not self._needs_tool()):
            raise ReadError(
                f"{device.name}: the driver has not bound {bus}; {_GET_DRIVER}", code=NO_DRIVER
            )
        return node

    def _chip_of(self, device: Device) -> tuple[Answer[Snapshot], Chip]:
        """The newest snapshot and the chip at the device's place. Raises ReadError when it has none."""
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

    def _architecture(self, pci_bus_id: str | None) -> str | None:
        if pci_bus_id is None:
            return None
        folder = sysfs.pci_device_dir(self._context.root, pci_bus_id)
        number = sysfs.read_int(folder / "device")
        return mapping.ARCHITECTURES.get(number) if isinstance(number, int) else None

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
        if self._by_library and chip.pci_bus_id is not None:
            collect_link(out, self._context.root, chip.pci_bus_id)
        beat = registers.heartbeat(chip)
        alive, unknown = None, Absence.UNSUPPORTED if beat is None else Absence.NOT_COLLECTED
        if beat is not None:
            read_at = self._context.clock.monotonic() - answer.age_s
            alive = self._heartbeats.alive(device.id, beat, read_at)
        mapping.record_health(out, mapping.signs_of(chip, alive), unknown)
        reading = out.reading(sources={"*": self._tool_name})
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
