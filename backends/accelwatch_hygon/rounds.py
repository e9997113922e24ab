"""One round of runs of hy-smi: fields as JSON, the table, processes, the health check."""

from collections.abc import Callable

import msgspec

from accelwatch.backend.kit.vendor_program import optional_output
from accelwatch.base.errors import DeviceTimeout, ReadError
from accelwatch.system.processes.complete_output import closed, never, parsed
from accelwatch_hygon.document import (
    Card,
    Checked,
    Job,
    ToolOutput,
    cards_of,
    driver_version_of,
    health_of,
    jobs_of,
    with_health,
)
from accelwatch_hygon.report import Report, fields_of, has_heading, rows_of

_IDENTITY = ("--showbus", "--showproductname", "--showuniqueid", "--showmeminfo", "vram")
_LEAST = (*_IDENTITY, "--showuse", "--showtemp", "--json")
_USUAL = ("--showpower", "--showserial", *_LEAST)
_MOST = (
    *("--showvbios", "--showclocks", "--showmaxpower", "--showtoponuma", "--showdriverversion"),
    *_USUAL,
)
# A release refuses the whole command for one option that it does not know.
QUERIES: tuple[tuple[str, ...], ...] = (_MOST, _USUAL, _LEAST)
HEALTH, PROCESSES = ("--healthcheck",), ("--showpids",)


class Rounds:
    """Runs a command, and remembers which options it knows. One thread at a time."""

    def __init__(
        self,
        run: Callable[..., bytes],
        on_bus: Callable[[], list[str]],
        is_foreign: Callable[[str], bool],
    ) -> None:
        """`run` is given arguments and a check of completeness, and may raise ReadError.

        `on_bus` are the PCI ids of the vendor's cards, in the order of the bus; `is_foreign` says of a
        PCI id whether a function of another vendor is there.
        """
        self._run = run
        self._on_bus = on_bus
        self._is_foreign = is_foreign
        self._queries = QUERIES

    def query(self) -> ToolOutput:
        """What all runs say. Raises ReadError when there are neither fields nor a table.

        After a run that hangs no other is started: what was printed by then is the answer.
        """
        error: ReadError | None = None
        fields: Report = {}
        try:
            fields = self._fields()
        except DeviceTimeout:
            raise
        except ReadError as failure:
            error = failure
        rows: Report = {}
        checked: tuple[Checked, ...] = ()
        jobs: tuple[Job, ...] | None = None
        table = b""
        try:
            table = optional_output(self._run, is_complete=closed(rows_of))
            rows = rows_of(table)
            checked = health_of(optional_output(self._run, *HEALTH, is_complete=parsed(health_of)))
            jobs = self._jobs()
        except DeviceTimeout as failure:
            error = error or failure
        if not fields and not rows:
            if has_heading(table):
                return ToolOutput(cards=(), jobs=jobs)
            if error is not None:
                raise error
        cards = with_health(self._with_addresses(cards_of(fields, rows)), checked)
        return ToolOutput(cards=cards, driver_version=driver_version_of(fields), jobs=jobs)

    def _fields(self) -> Report:
        """From the first query that the command knows, which is used from then on."""
        error: ReadError | None = None
        for at, query in enumerate(self._queries):
            try:
                report = fields_of(self._run(*query, is_complete=parsed(fields_of)))
            except DeviceTimeout:
                raise
            except ReadError as failure:
                error = error or failure
                continue
            if report:
                self._queries = self._queries[at:]
                return report
        if error is not None:
            raise error
        return {}

    def _jobs(self) -> tuple[Job, ...] | None:
        try:
            return jobs_of(self._run(*PROCESSES, is_complete=never))
        except DeviceTimeout:
            raise
        except ReadError:
            return None

    def _with_addresses(self, cards: tuple[Card, ...]) -> tuple[Card, ...]:
        """Without those of another vendor; where no PCI id is printed, in the order of the bus."""
        mine = tuple(
            card
            for card in cards
            if card.pci_bus_id is None or not self._is_foreign(card.pci_bus_id)
        )
        on_bus = self._on_bus()
        none_has_an_address = all(card.pci_bus_id is None for card in mine)
        if not none_has_an_address or [card.number for card in mine] != list(range(len(on_bus))):
            return mine
        return tuple(
            msgspec.structs.replace(card, pci_bus_id=bus, addressed_by_order=len(on_bus) > 1)
            for card, bus in zip(mine, on_bus, strict=True)
        )
