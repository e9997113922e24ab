"""NPUs of FuriosaAI: found on the PCI bus, read through furiosa-smi, or furiosactl for Warboy.

Where neither is installed, RNGD through the vendor's library, else both through their drivers' sysfs.
"""

from collections.abc import Callable, Sequence
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
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.bus_devices import accelerators, bare_devices
from accelwatch.backend.kit.listed_process import with_processes, without_processes
from accelwatch.backend.kit.vendor_program import chosen_program
from accelwatch.backend.kit.vendor_tool import VendorTool
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.system.kernel.pcie_link import with_link
from accelwatch.system.processes.line_stream import LineStream
from accelwatch_furiosa import management, mapping, rngd
from accelwatch_furiosa.document import Card, ToolOutput
from accelwatch_furiosa.furiosactl import Used, used_of, with_load
from accelwatch_furiosa.perf_regs import PerfRegs
from accelwatch_furiosa.program import NEW, OLD, Program
from accelwatch_furiosa.python_library import Library, load

VENDOR_ID = 0x1ED2
_PREFIX = "npu"
_TOP = ("top", "--interval", "1000")
# Lines of `top` that are kept, and for how long one counts.
_TOP_LINES, _TOP_S = 256, 2.5
_REMEDY = "install the package furiosa-smi (for Warboy: furiosa-toolkit, which brings furiosactl)"


class FuriosaBackend:
    """Options: `furiosa_smi` (path of the command), `pace_s` (seconds between two runs)."""

    name = "furiosa"
    vendor = mapping.VENDOR
    serial = False
    options = (
        Option("furiosa_smi", is_path=True),
        Option("pace_s"),
    )
    # FuriosaAI SDK, device specification.
    visibility = Visibility(variable="FURIOSA_DEVICES", entry="npu:{index}")
    remote = "accelwatch_furiosa.remote:REMOTE"
    support = Support(
        vendor="FuriosaAI",
        source="`furiosa-smi` as JSON or tables, `furiosa_smi` or `furiosa_smi_py` (RNGD); "
        "`furiosactl` (Warboy); sysfs of both drivers",
        tested_with="the vendor's recorded tables of RNGD and Warboy, its sysfs tree of two Warboy "
        "cards and the identity of two RNGD cards; composed documents, healthy and faulty",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        # What the cards are read through.
        self._source = ""
        self._counters = PerfRegs(context.root)
        self._top: LineStream | None = None
        self._tool: VendorTool[ToolOutput, Card] | None = None

    def probe(self) -> Probe:
        """Look for the vendor on the PCI bus and for the driver's nodes."""
        root = self._context.root
        there = bool(accelerators(self._context, VENDOR_ID))
        folders = (root / management.RNGD, root / management.WARBOY)
        driver = any(folder.is_dir() for folder in folders)
        checks = (
            Check(subject="PCI 1ed2, class 12", ok=there),
            Check(
                subject=" or ".join(map(str, folders)),
                ok=driver,
                remedy="load the driver: furiosa_rngd",
            ),
            Check(subject=NEW, ok=self._find() is not None, remedy=_REMEDY),
        )
        return Probe(present=there or driver, checks=checks)

    def open(self) -> Opened:
        """Find a source, and start to poll it. Raises BackendUnavailable."""
        nodes = management.WARBOY_NODES if self._has_warboy() else management.RNGD_NODES
        try:
            return self._start(nodes)
        except BackendUnavailable as refusal:
            root, on_bus = self._context.root, accelerators(self._context, VENDOR_ID)
            there = bare_devices(root, on_bus, vendor=self.name, prefix=_PREFIX, nodes=nodes)
            raise refusal.with_devices(there) from None

    def _start(self, nodes: str) -> Opened:
        reader = self._document_reader()
        self._tool = VendorTool(
            self._context,
            lambda: self._with_counters(reader()),
            lambda document: document.cards,
            name=self.name,
            command=self._source,
            prefix=_PREFIX,
            vendor_id=VENDOR_ID,
            nodes=nodes,
        )
        self._tool.first()
        self._top = self._followed(reader)
        return Opened(source=self._source)

    def discover(self) -> Sequence[Device]:
        """What is on the PCI bus, then what only the command lists. Raises BackendUnavailable."""
        return self._opened.discover()

    def identify(self, device: Device) -> Sequence[Device]:
        """The card by its uuid; it has no partitions. Raises ReadError."""
        _, card = self._opened.entry_for(device)
        root = self._context.root
        named = mapping.identified(device, card)
        folder = management.folder_at(root, card.pci_bus_id) or rngd.folder(root, card.number)
        if folder is not None:
            nodes = management.nodes(root, folder) or named.device_nodes
            named = msgspec.structs.replace(named, device_nodes=nodes)
        version = None if folder is None else rngd.version(folder)
        return [msgspec.structs.replace(named, driver_version=version)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest document says. Raises ReadError."""
        answer, card = self._opened.entry_for(device)
        used = [usage for usage in self._used() if usage.number == card.number]
        card = with_load(card, used)
        numbers = msgspec.structs.replace(
            self._numbers(device, card), age_s=answer.age_s, pace_s=answer.pace_s
        )
        if not request.processes:
            return [without_processes(numbers, Absence.NOT_COLLECTED)]
        jobs = answer.document.jobs
        if isinstance(jobs, Absence):
            return [without_processes(numbers, jobs)]
        request.numbers([numbers])
        mine = [job for job in jobs if job.number == card.number]
        if not mine and card.occupied:
            # A user other than root sees its own processes only.
            return [without_processes(numbers, Absence.PERMISSION)]
        shares = {usage.pid: usage.share for usage in used}
        listed = mapping.processes_of(device.id, mine, shares)
        return [with_processes(self._context.root, numbers, listed)]

    def close(self) -> None:
        """Stop polling."""
        top, self._top = self._top, None
        if top is not None:
            top.close()
        if self._tool is not None:
            self._tool.close()

    @property
    def _opened(self) -> VendorTool[ToolOutput, Card]:
        assert self._tool is not None
        return self._tool

    def _document_reader(self) -> Callable[[], ToolOutput]:
        """The source that lists the cards. Raises BackendUnavailable without any."""
        root, path = self._context.root, self._find()
        if path is not None:
            self._source = path.name
            return Program(path)
        shown = bool(management.cards(root))
        library = None if self._has_warboy() else _library(or_none=shown)
        if library is not None:
            self._source = library.name
            return library
        if not shown:
            raise BackendUnavailable(
                "neither furiosa-smi nor furiosactl was found in the folders of commands",
                reason="command_not_found",
                remedy=_REMEDY,
            )
        self._source = management.SOURCE
        return lambda: ToolOutput(cards=tuple(management.cards(root)))

    def _has_warboy(self) -> bool:
        return bool(management.folders(self._context.root, management.WARBOY))

    def _followed(self, reader: object) -> LineStream | None:
        """`top`, where the driver shows no counters."""
        if not isinstance(reader, Program) or not reader.is_old:
            return None
        if self._context.one_shot or self._has_warboy():
            return None
        return LineStream([str(reader.path), *_TOP], self._context.clock, keep=_TOP_LINES)

    def _with_counters(self, document: ToolOutput) -> ToolOutput:
        """The document with what the driver of Warboy counts."""
        counters, root = self._counters(), self._context.root
        addresses = {
            card.number: card.pci_bus_id
            for card in management.cards(root)
            if card.number in counters
        }
        cards = (
            card.with_cores(counters[card.number])
            if card.number in counters and addresses.get(card.number) == card.pci_bus_id
            else card
            for card in document.cards
        )
        return msgspec.structs.replace(document, cards=tuple(cards))

    def _used(self) -> list[Used]:
        """Who uses which cores, where `top` is followed."""
        lines = None if self._top is None else self._top.recent(_TOP_S)
        return [] if lines is None else used_of(lines)

    def _numbers(self, device: Device, card: Card) -> Reading:
        """What the command said, and the driver says now."""
        root = self._context.root
        out = mapping.collected(device.id, card)
        sources = {"*": self._source}
        folder = management.folder_at(root, card.pci_bus_id) or rngd.folder(root, card.number)
        if folder is not None and management.is_rngd(folder):
            sources |= rngd.collect_all(out, root, folder, card.pci_bus_id)
        if folder is not None:
            sources |= management.collect_all(out, root, folder)
        return with_link(root, out.reading(sources=sources), device.pci_bus_id)

    def _find(self) -> Path | None:
        named = self._context.options.get("furiosa_smi")
        return chosen_program(self._context.root, named, (NEW, OLD))


def _library(*, or_none: bool) -> Library | None:
    """The vendor's library; None without one. Raises BackendUnavailable, unless `or_none`."""
    try:
        return load()
    except BackendUnavailable:
        if or_none:
            return None
        raise
