"""Intel Gaudi: found on the PCI bus, read through libhlml or hl-smi, and from the driver's sysfs.

The driver reports status and resets at once; what hl-smi knows is as old as its last run. The loss of
either hides nothing of what the driver reports.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch.backend import Check, Context, Opened, Option, Probe, Request, Support, Visibility
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.bus_devices import accelerators, bare_devices
from accelwatch.backend.kit.listed_process import with_processes, without_processes
from accelwatch.backend.kit.polled import TIMEOUT_S, Polled, pace_of
from accelwatch.backend.kit.vendor_program import chosen_program
from accelwatch.backend.kit.vendor_tool import VendorTool
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DeviceSuspended, ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Collected, Reading
from accelwatch.system.kernel.pcie_link import collect_link
from accelwatch.system.kernel.sysfs import pci_device_dir
from accelwatch_gaudi import driver, hlml_card, mapping, processes
from accelwatch_gaudi.document import Card, ToolOutput, card_of
from accelwatch_gaudi.hlml_card import HlmlCard
from accelwatch_gaudi.hlml_source import HlmlSource, library_path, open_source
from accelwatch_gaudi.logs import Logs
from accelwatch_gaudi.tool import HlSmi

_PROGRAM = "hl-smi"
_GET_DRIVER = "load the driver: habanalabs"
_GET_TOOL = "install habanalabs-firmware-tools, which brings hl-smi"


class GaudiBackend:
    """Options: `source` (auto, hlml, hl-smi), `hlml_library`, `hl_smi` (paths), `pace_s`."""

    name = "gaudi"
    vendor = mapping.VENDOR
    serial = False
    options = (
        Option("source"),
        Option("hlml_library", is_path=True),
        Option("hl_smi", is_path=True),
        Option("pace_s"),
    )
    remote = "accelwatch_gaudi.remote:REMOTE"
    visibility = Visibility(variable="HABANA_VISIBLE_DEVICES")
    support = Support(
        vendor="Intel Gaudi",
        source="libhlml; `hl-smi` query and table; status, resets, clock and limit of habanalabs' sysfs",
        tested_with="recorded tables of Gaudi and Gaudi 2 from 1.4 to 1.18 and a query of eight cards; "
        "composed machines of Gaudi 2 and 3, healthy and faulty; stand-in library for libhlml",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self._logs = Logs(context.root)
        self._program: Path | None = None
        self._hl_smi: HlSmi | None = None
        self._hlml: HlmlSource | None = None
        self._tool: VendorTool[ToolOutput, Card] | None = None
        # Beside libhlml, which has no processes and is not to wait for them.
        self._table: Polled[ToolOutput] | None = None

    def probe(self) -> Probe:
        """Look for the vendor on the PCI bus and for the driver."""
        there = bool(accelerators(self._context, driver.VENDOR_ID))
        module = self._context.root / "sys/module/habanalabs"
        checks = (
            Check(subject="PCI 1da3, class 12", ok=there),
            Check(subject=str(module), ok=module.is_dir(), remedy=_GET_DRIVER),
            Check(
                subject="libhlml.so", ok=library_path(self._context) is not None, remedy=_GET_TOOL
            ),
            Check(subject=_PROGRAM, ok=self._find() is not None, remedy=_GET_TOOL),
        )
        return Probe(present=there or module.is_dir(), checks=checks)

    def open(self) -> Opened:
        """Load the library, find the command, start to poll. Raises BackendUnavailable."""
        try:
            return self._start()
        except BackendUnavailable as refusal:
            root, on_bus = self._context.root, accelerators(self._context, driver.VENDOR_ID)
            there = bare_devices(root, on_bus, vendor=self.name, prefix=mapping.PREFIX)
            raise refusal.with_devices(self._of_vendor(there)) from None

    def _start(self) -> Opened:
        root = self._context.root
        self._program = self._find()
        self._hlml = open_source(self._context, self._logs)
        if self._hlml is None and self._program is None and not driver.nodes(root):
            raise BackendUnavailable(
                "neither libhlml nor hl-smi was found, and the driver shows no accelerator",
                reason="command_not_found",
                remedy=f"{_GET_DRIVER}; {_GET_TOOL}",
            )
        if self._program is not None:
            self._hl_smi = HlSmi(self._program, self._logs)
        self._tool = VendorTool(
            self._context,
            self._query,
            lambda document: document.cards,
            name=self.name,
            command=_PROGRAM,
            prefix=mapping.PREFIX,
            vendor_id=driver.VENDOR_ID,
        )
        if self._hlml is not None and self._hl_smi is not None:
            pace_s = pace_of(self._context.options, self.name)
            self._table = Polled(self._hl_smi.table, self._context.clock, pace_s=pace_s)
        first = self._tool.first()
        version = self._driver_version(first)
        return Opened(
            source=self._source,
            versions={"driver": version} if version else {},
        )

    def discover(self) -> Sequence[Device]:
        """What is on the PCI bus, then what only the command lists. Raises BackendUnavailable."""
        return self._of_vendor(self._opened.discover())

    def _of_vendor(self, devices: Sequence[Device]) -> list[Device]:
        """Devices with the vendor's name, which is not the backend's."""
        return [
            msgspec.structs.replace(
                device,
                id=f"{self.vendor}:{device.pci_bus_id or device.index}",
                vendor=self.vendor,
            )
            for device in devices
        ]

    def identify(self, device: Device) -> Sequence[Device]:
        """The accelerator by its uuid; it has no partitions. Raises ReadError."""
        if self._hlml is not None:
            self._must_be_awake(device)
            card, document = self._library_card(self._hlml, device).identity(), None
        else:
            answer, card = self._opened.entry_for(device)
            document = answer.document
        self._must_be_there(device)
        version = self._driver_version(document)
        return [mapping.identified(device, card, self._node_of(device), version)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What library or command say, and the driver now. Raises ReadError."""
        node = self._node_of(device)
        try:
            reading = self._numbers(device, node, request)
        except DeviceSuspended:
            raise
        except ReadError as error:
            if node is None or node.text("status") is None:
                raise
            reading = self._of_driver(device, node, error)
        if not request.processes:
            return [without_processes(reading, Absence.NOT_COLLECTED)]
        request.numbers([reading])
        return [self._with_processes(reading, device)]

    def close(self) -> None:
        """Stop polling."""
        for polled in (self._tool, self._table):
            if polled is not None:
                polled.close()
        if self._hlml is not None:
            self._hlml.close()
        self._logs.close()

    @property
    def _source(self) -> str:
        if self._hlml is not None:
            return hlml_card.SOURCE
        return driver.SOURCE if self._program is None else mapping.SOURCE

    @property
    def _opened(self) -> VendorTool[ToolOutput, Card]:
        assert self._tool is not None
        return self._tool

    def _find(self) -> Path | None:
        named = self._context.options.get("hl_smi")
        return chosen_program(self._context.root, named, (_PROGRAM,), ("opt/habanalabs/bin",))

    def _query(self) -> ToolOutput:
        """What lists the accelerators."""
        if self._hlml is not None:
            return ToolOutput(cards=tuple(self._hlml.listed()))
        if self._hl_smi is not None:
            return self._hl_smi.read_document()
        nodes = sorted(driver.nodes(self._context.root).values())
        listed = [{"index": str(node.number), "bus_id": node.pci_bus_id} for node in nodes]
        return ToolOutput(cards=tuple(card_of(fields, at) for at, fields in enumerate(listed)))

    def _driver_version(self, document: ToolOutput | None) -> str | None:
        from_document = None if document is None else document.driver_version
        from_library = None if self._hlml is None else self._hlml.version
        return from_document or from_library or driver.driver_version(self._context.root)

    def _node_of(self, device: Device) -> driver.Node | None:
        return driver.nodes(self._context.root).get(device.pci_bus_id or "")

    def _library_card(self, library: HlmlSource, device: Device) -> HlmlCard:
        """The device's own. Raises DeviceLost, and DevicePermission for what was given to others."""
        if not library.lists(device):
            self._opened.must_be_ours(device)
        return library.card_at(device)

    def _must_be_there(self, device: Device) -> None:
        """Raises DeviceLost for what has left the bus while hl-smi's answer is older than that."""
        bus, root = device.pci_bus_id, self._context.root
        if bus is None or not (root / "sys/bus/pci/devices").is_dir():
            return
        if accelerators(self._context, driver.VENDOR_ID) and not pci_device_dir(root, bus).is_dir():
            raise DeviceLost(f"{device.name}: nothing is at {bus} any more", code="off_the_bus")

    def _must_be_awake(self, device: Device) -> None:
        if self._context.leaves_asleep(device.pci_bus_id):
            raise DeviceSuspended(f"{device.name} sleeps and was left asleep")

    def _numbers(self, device: Device, node: driver.Node | None, request: Request) -> Reading:
        """All but processes. Raises ReadError."""
        out = Collected(device.id)
        self._collect_link(out, device)
        if self._hlml is not None:
            self._must_be_awake(device)
            self._must_be_there(device)
            source = self._library_card(self._hlml, device)
            card = source.card(slow=request.slow)
            mapping.collect_card(out, card)
            hlml_card.collect_throttle(out, card)
            links = source.collect_ports(out)
            own = {} if node is None else driver.collect_all(out, node)
            return out.reading(links=links, sources={"*": hlml_card.SOURCE, **own})
        answer, card = self._opened.entry_for(device)
        self._must_be_there(device)
        mapping.collect_card(out, card)
        own = {} if node is None else driver.collect_all(out, node)
        if self._program is None:
            return out.reading(sources={"*": driver.SOURCE})
        reading = out.reading(sources={"*": mapping.SOURCE, **own})
        return msgspec.structs.replace(reading, age_s=answer.age_s, pace_s=answer.pace_s)

    def _with_processes(self, reading: Reading, device: Device) -> Reading:
        if self._program is None:
            return without_processes(reading, Absence.UNSUPPORTED)
        try:
            document = (
                self._opened.answer_for(device).document
                if self._table is None
                else self._table.answer(TIMEOUT_S).document
            )
        except ReadError as error:
            return without_processes(reading, error.absence)
        listed = processes.processes_in(document, device.index, reading)
        if isinstance(listed, Absence):
            return processes.without(reading, listed)
        return with_processes(self._context.root, reading, listed)

    def _of_driver(self, device: Device, node: driver.Node, error: ReadError) -> Reading:
        """What the driver reports while nothing else answers for a device, and why that is all."""
        out = Collected(device.id)
        self._collect_link(out, device)
        sources = {"*": self._source, **driver.collect_all(out, node)}
        for row in mapping.ROWS:
            out.record(row.series, error.absence)
        return out.reading(sources=sources, notes=(f"from the driver only: {error}",))

    def _collect_link(self, out: Collected, device: Device) -> None:
        if device.pci_bus_id is not None:
            collect_link(out, self._context.root, device.pci_bus_id)
