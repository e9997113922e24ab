"""MLUs of Cambricon: found on the PCI bus, read through cnmon, two runs for all of them."""

from collections.abc import Callable, Sequence

import msgspec

from accelwatch.backend import Request, Support, Visibility
from accelwatch.backend.kit.tool_backend import Command, ToolBackend
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DevicePermission, DeviceTimeout, ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.system.kernel.pcie_link import with_link
from accelwatch.system.processes.complete_output import closed, parsed
from accelwatch_cambricon import mapping
from accelwatch_cambricon.document import Card, ToolOutput, completed, parse_info
from accelwatch_cambricon.table import parse_table


class CambriconBackend(ToolBackend[ToolOutput, Card]):
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
    command = Command(
        names=(mapping.SOURCE,),
        option="cnmon",
        remedy="install the Cambricon driver package, which brings cnmon",
        vendor_id=0xCABC,
        prefix="mlu",
        driver="dev/cambricon_ctl",
        module="cambricon-drv",
        folders=("usr/local/neuware/bin",),
        nodes="cambricon_dev[0-9]*",
    )
    options = command.options

    def make_query(self) -> Callable[[], ToolOutput]:
        """`info` and the table."""
        return self._query

    def listed(self, answer: ToolOutput) -> Sequence[Card]:
        """The cards in an answer."""
        return answer.cards

    def reported_version(self, answer: ToolOutput) -> str | None:
        """Of the driver."""
        return answer.driver_version

    def identify(self, device: Device) -> Sequence[Device]:
        """The card by its uuid; its virtual functions are not listed. Raises ReadError."""
        answer, card = self.tool.entry_for(device)
        node = self.node(f"cambricon_dev{card.number}")
        return [mapping.identified(device, card, answer.document.driver_version, node)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest answer says. Raises ReadError."""
        answer, card = self.tool.entry_for(device)
        jobs = card.jobs
        return self.readings(
            request,
            answer,
            with_link(self._context.root, mapping.read(device.id, card), device.pci_bus_id),
            Absence.ERROR if jobs is None else lambda: mapping.processes_of(device.id, jobs),
        )

    def _query(self) -> ToolOutput:
        """What `info` prints, completed by the table; either alone where the other fails."""
        first: ReadError | None = None
        info: ToolOutput | None = None
        try:
            info = parse_info(self.run("info", is_complete=parsed(parse_info, _cards)))
        except (DeviceTimeout, DevicePermission):
            raise
        except ReadError as error:
            first = error
        try:
            table = parse_table(self.run(is_complete=closed(parse_table, _cards)))
        except ReadError:
            if info is None:
                assert first is not None
                raise first from None
            return self._with_addresses(info)
        return self._with_addresses(table if info is None else completed(info, table))

    def _with_addresses(self, document: ToolOutput) -> ToolOutput:
        """With addresses where no card reports one: cnmon counts cards in the order of the bus."""
        buses = self.on_bus()
        cards = sorted(document.cards, key=lambda card: card.number)
        if any(card.pci_bus_id for card in cards) or len(buses) != len(cards):
            return document
        addressed = tuple(
            msgspec.structs.replace(card, pci_bus_id=bus)
            for card, bus in zip(cards, buses, strict=True)
        )
        return msgspec.structs.replace(document, cards=addressed)


def _cards(document: ToolOutput) -> tuple[Card, ...]:
    return document.cards
