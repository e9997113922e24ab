"""NPUs of Huawei Ascend: found on the PCI bus, read through `npu-smi info`, a table of them all."""

from collections.abc import Callable, Sequence

import msgspec

from accelwatch.backend import Context, Option, Request, Support, Visibility
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.tool_backend import Command, ToolBackend
from accelwatch.backend.kit.vendor_program import output_of
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DevicePermission, DeviceTimeout, ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.system.kernel.pcie_link import with_link
from accelwatch.system.processes.complete_output import CompletenessCheck, parsed
from accelwatch_ascend import mapping
from accelwatch_ascend.details import Details
from accelwatch_ascend.document import (
    IS_OF_CHIP,
    Chip,
    Detail,
    Key,
    Pairs,
    ToolOutput,
    number_of,
    numbered,
    parse_mapping,
    parse_pairs,
)
from accelwatch_ascend.table import IS_COMPLETE, parse_table, with_advice

# For commands that add to the table: a chip that hangs must not hold up the others for long.
_DETAIL_TIMEOUT_S = 2.0
# For who a chip is: a device is identified and read within a second, unless configured otherwise.
_BOARD_TIMEOUT_S = 0.6


class AscendBackend(ToolBackend[ToolOutput, Chip]):
    """Options: `npu_smi` (path of the command), `pace_s` (seconds between two runs), `usages`."""

    name = "ascend"
    vendor = mapping.VENDOR
    serial = False
    remote = "accelwatch_ascend.remote:REMOTE"
    visibility = Visibility(variable="ASCEND_RT_VISIBLE_DEVICES")
    support = Support(
        vendor="Huawei Ascend",
        source="`npu-smi info`; its `-t` chip by chip for ECC, links, error codes and who it is",
        tested_with="recorded tables of 310P3, 910B2, 910B2C, 910B4 and A3 (npu-smi 22 to 26); "
        "composed tables of 310, 910 and 950, healthy and faulty",
    )
    command = Command(
        names=(mapping.SOURCE,),
        option="npu_smi",
        remedy="install the Ascend driver package, which brings npu-smi; a container needs it mounted",
        vendor_id=0x19E5,
        prefix="ascend",
        driver="dev/davinci_manager",
        module="drv_davinci",
        folders=("usr/local/Ascend/driver/tools",),
        nodes="davinci[0-9]*",
    )
    options = (*command.options, Option("usages"))

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._details: Details | None = None
        self._logic: dict[Key, int] = {}
        # Chips for which the map of logic ids was read.
        self._mapped: frozenset[Key] = frozenset()
        self._boards: dict[Key, Pairs] = {}

    def make_query(self) -> Callable[[], ToolOutput]:
        """The table, and the chips one by one."""
        self._details = Details(self._run_detail, usages=self._usages_enabled())
        return self._query

    def listed(self, answer: ToolOutput) -> Sequence[Chip]:
        """The chips in an answer."""
        return answer.chips

    def with_address(self, entry: Chip, bus: str) -> Chip | None:
        """A further chip behind a function has no address of its own."""
        return super().with_address(entry, bus) if entry.behind is None else None

    def reported_version(self, answer: ToolOutput) -> str | None:
        """Of the driver."""
        return answer.driver_version

    def identify(self, device: Device) -> Sequence[Device]:
        """The chip by the id of its die; its virtual NPUs are not listed. Raises ReadError."""
        answer, chip = self.tool.entry_for(device)
        version = answer.document.driver_version
        board = self._board(chip)
        return [mapping.identified(device, chip, version, board, self._node(chip))]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest table says. Raises ReadError."""
        answer, chip = self.tool.entry_for(device)
        document = answer.document
        detail = document.details.get(chip.key, Detail())
        numbers = mapping.with_card_power(
            mapping.read(device.id, chip, detail), chip, document.chips
        )
        jobs = [job for job in document.jobs if job.key == chip.key]
        return self.readings(
            request,
            answer,
            with_link(self._context.root, numbers, device.pci_bus_id),
            _why_no_processes(document, chip) or (lambda: mapping.processes_of(device.id, jobs)),
        )

    def _query(self) -> ToolOutput:
        """The table, with logic ids and what was read from the chips one by one."""
        try:
            printed = self.run("info", is_complete=IS_COMPLETE)
        except (DeviceTimeout, DevicePermission):
            raise
        except ReadError as error:
            raise ReadError(with_advice(str(error)), code=error.code) from error
        table = parse_table(printed)
        document = numbered(table, self._logic_ids(frozenset(chip.key for chip in table.chips)))
        assert self._details is not None
        details = self._details.round(document.chips)
        return msgspec.structs.replace(document, details=details)

    def _logic_ids(self, chips: frozenset[Key]) -> dict[Key, int]:
        """Read again only when other chips are there; empty where the command has none."""
        if chips != self._mapped:
            self._mapped = chips
            try:
                output = self._run_detail("info", "-m", is_complete=parsed(parse_mapping))
                self._logic = parse_mapping(output)
            except ReadError:
                self._logic = {}
        return self._logic

    def _board(self, chip: Chip) -> Pairs:
        """Who the chip is: read once, so that its id stays what it is."""
        if chip.key not in self._boards:
            try:
                arguments = ("info", "-t", "board", *chip.address)
                pairs = parse_pairs(
                    output_of(
                        self._program,
                        *arguments,
                        timeout_s=_BOARD_TIMEOUT_S,
                        is_complete=IS_OF_CHIP,
                    )
                )
            except ReadError:
                pairs = {}
            self._boards[chip.key] = pairs
        return self._boards[chip.key]

    def _node(self, chip: Chip) -> str | None:
        """The chip's node: by the number that A3 reports; where a card has one chip, by the card's."""
        number = number_of(chip.text("phy-id"))
        if number is None and "device" not in chip.fields:
            number = chip.npu
        return None if number is None else self.node(f"davinci{number}")

    def _run_detail(self, *arguments: str, is_complete: CompletenessCheck = IS_OF_CHIP) -> bytes:
        return output_of(
            self._program, *arguments, timeout_s=_DETAIL_TIMEOUT_S, is_complete=is_complete
        )

    def _usages_enabled(self) -> bool:
        usages = self._context.options.get("usages", False)
        if not isinstance(usages, bool):
            raise BackendUnavailable(
                f"usages: {usages!r} is neither true nor false",
                reason="option",
                remedy="fix collect.options.ascend.usages in the configuration",
            )
        return usages


def _why_no_processes(document: ToolOutput, chip: Chip) -> Absence | None:
    if document.npus_reporting_jobs is None:
        return Absence.UNSUPPORTED
    return None if chip.npu in document.npus_reporting_jobs else Absence.ERROR
