"""MLUs of Cambricon: found on the PCI bus, read through cnmon, two runs for all of them."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch.backend import Check, Context, Opened, Probe, Request, Support, Visibility
from accelwatch.errors import BackendUnavailable, DevicePermission, DeviceTimeout, ReadError
from accelwatch.listed_process import with_processes
from accelwatch.pcie_link import with_link
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.vendor_program import chosen_program, output_of
from accelwatch.vendor_tool import TIMEOUT_S, VendorTool, accelerators
from accelwatch.whole_output import Judge, closed, parsed
from accelwatch_cambricon import mapping
from accelwatch_cambricon.document import Card, Document, completed, parse_info
from accelwatch_cambricon.table import parse_table

VENDOR_ID = 0xCABC
_PROGRAM = "cnmon"
_REMEDY = "install the Cambricon driver package, which brings cnmon"


class CambriconBackend:
    """Options: `cnmon` (path of the command), `pace_s` (seconds between two runs)."""

    name = "cambricon"
    vendor = mapping.VENDOR
    serial = False
    remote = "accelwatch_cambricon.remote:REMOTE"
    visibility = Visibility(variable="MLU_VISIBLE_DEVICES")
    support = Support(
        vendor="Cambricon",
        source="`cnmon info`, and the table of `cnmon`",
        tested_with="recorded rows of MLU370-X4 and X8 (cnmon 4.20 and 5.10); composed texts and "
        "tables, healthy and faulty",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self._program = Path()
        self._tool: VendorTool[Document, Card] | None = None

    def probe(self) -> Probe:
        """Look for the vendor on the PCI bus and for its driver."""
        there = bool(accelerators(self._context, VENDOR_ID))
        node = self._context.root / "dev/cambricon_ctl"
        checks = (
            Check(subject="PCI cabc, class 12", ok=there),
            Check(subject=str(node), ok=node.exists(), remedy="load the driver: cambricon-drv"),
            Check(subject=_PROGRAM, ok=self._find() is not None, remedy=_REMEDY),
        )
        return Probe(present=there or node.exists(), checks=checks)

    def open(self) -> Opened:
        """Find the command and begin to ask it. Raises BackendUnavailable."""
        program = self._find()
        if program is None:
            raise BackendUnavailable(
                "cnmon was not found in the folders of commands",
                reason="command_not_found",
                remedy=_REMEDY,
            )
        self._program = program
        self._tool = VendorTool(
            self._context,
            self._ask,
            lambda document: document.cards,
            name=self.name,
            command=_PROGRAM,
            prefix="mlu",
            vendor_id=VENDOR_ID,
            nodes="cambricon_dev[0-9]*",
        )
        first = self._tool.first()
        version = None if first is None else first.driver_version
        return Opened(source=mapping.SOURCE, versions={"driver": version} if version else {})

    def discover(self) -> Sequence[Device]:
        """What is on the PCI bus, then what only the command lists. Raises BackendUnavailable."""
        return self._opened.discover()

    def identify(self, device: Device) -> Sequence[Device]:
        """The card by its uuid; its virtual functions are not listed. Raises ReadError."""
        answer, card = self._opened.entry_for(device)
        node = f"/dev/cambricon_dev{card.number}"
        there = (self._context.root / node.lstrip("/")).exists()
        version = answer.document.driver_version
        return [mapping.identified(device, card, version, node if there else None)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest answer says. Raises ReadError."""
        answer, card = self._opened.entry_for(device)
        numbers = msgspec.structs.replace(
            mapping.read(device.id, card), age_s=answer.age_s, pace_s=answer.pace_s
        )
        numbers = with_link(self._context.root, numbers, device.pci_bus_id)
        if not request.processes or card.jobs is None:
            reason = Absence.ERROR if request.processes else Absence.NOT_COLLECTED
            absent = {**numbers.absent, ("processes",): reason}
            return [msgspec.structs.replace(numbers, absent=absent)]
        request.numbers([numbers])
        listed = mapping.processes_of(device.id, card.jobs)
        return [with_processes(self._context.root, numbers, listed)]

    def close(self) -> None:
        """Ask no more."""
        if self._tool is not None:
            self._tool.close()

    @property
    def _opened(self) -> VendorTool[Document, Card]:
        assert self._tool is not None
        return self._tool

    def _ask(self) -> Document:
        """What `info` tells, completed by the table; either alone where the other fails."""
        first: ReadError | None = None
        told: Document | None = None
        try:
            told = parse_info(self._run("info", is_whole=parsed(parse_info, _cards)))
        except (DeviceTimeout, DevicePermission):
            raise
        except ReadError as error:
            first = error
        try:
            table = parse_table(self._run(is_whole=closed(parse_table, _cards)))
        except ReadError:
            if told is None:
                assert first is not None
                raise first from None
            return self._placed(told)
        return self._placed(table if told is None else completed(told, table))

    def _placed(self, document: Document) -> Document:
        """With addresses where no card tells one: cnmon counts cards in the order of the bus."""
        buses = accelerators(self._context, VENDOR_ID)
        cards = sorted(document.cards, key=lambda card: card.number)
        if any(card.pci_bus_id for card in cards) or len(buses) != len(cards):
            return document
        placed = tuple(
            msgspec.structs.replace(card, pci_bus_id=bus)
            for card, bus in zip(cards, buses, strict=True)
        )
        return msgspec.structs.replace(document, cards=placed)

    def _run(self, *arguments: str, is_whole: Judge) -> bytes:
        return output_of(self._program, *arguments, timeout_s=TIMEOUT_S, is_whole=is_whole)

    def _find(self) -> Path | None:
        named = self._context.options.get("cnmon")
        folders = ("usr/local/neuware/bin",)
        return chosen_program(self._context.root, named, (_PROGRAM,), folders)


def _cards(document: Document) -> tuple[Card, ...]:
    return document.cards
