"""The vendor's command: how furiosa-smi and furiosactl are run for all cards."""

from pathlib import Path
from typing import NamedTuple

import msgspec

from accelwatch.backend.kit.polled import TIMEOUT_S
from accelwatch.backend.kit.vendor_program import output_of
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceTimeout, ReadError
from accelwatch.system.processes.complete_output import CompletenessCheck, never
from accelwatch_furiosa.document import Card, ToolOutput, cards_of, is_complete, jobs_of
from accelwatch_furiosa.furiosactl import Listed, listed_of

# The second is of the Warboy generation.
NEW, OLD = "furiosa-smi", "furiosactl"


class _Form(NamedTuple):
    """Options that request one form of the output, by subcommand."""

    info: tuple[str, ...]
    status: tuple[str, ...]


# JSON of newer releases, of those before RNGD, the table with uuid and serial number, the short one.
_FORMS = (
    _Form(("--format", "json"), ("--format", "json")),
    _Form(("--output", "json"), ("--output", "json")),
    _Form(("--format", "full"), ()),
    _Form((), ()),
)


class Program:
    """Remembers which form of the command prints what."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_old = path.name == OLD
        self._form: _Form | None = None

    def __call__(self) -> ToolOutput:
        """All cards and processes now. Raises ReadError."""
        cards = self._old() if self.is_old else self._new()
        try:
            return ToolOutput(cards=cards, jobs=jobs_of(self._run("ps")))
        except ReadError as error:
            return ToolOutput(cards=cards, jobs=error.absence)

    def _old(self) -> tuple[Card, ...]:
        cards = cards_of(self._run("info", "--full", is_output_complete=is_complete))
        try:
            listed = listed_of(self._run("list", is_output_complete=is_complete))
        except ReadError:
            return cards
        return tuple(_with_cores(card, listed.get(card.number)) for card in cards)

    def _new(self) -> tuple[Card, ...]:
        info, form = self._info()
        try:
            return cards_of(info, self._run("status", *form.status, is_output_complete=is_complete))
        except DeviceTimeout:
            return cards_of(info, Absence.TIMEOUT)
        except ReadError:
            # A command that has no status, as far as its complaint says.
            return cards_of(info)

    def _info(self) -> tuple[bytes, _Form]:
        """What the command says of its cards, and the form that is known to work. Raises ReadError."""
        refused: ReadError | None = None
        for form in _FORMS if self._form is None else (self._form,):
            try:
                output = self._run("info", *form.info, is_output_complete=is_complete)
            except DeviceTimeout:
                raise
            except ReadError as error:
                refused = refused or error
                continue
            self._form = form
            return output, form
        assert refused is not None
        raise refused

    def _run(self, *arguments: str, is_output_complete: CompletenessCheck = never) -> bytes:
        return output_of(self.path, *arguments, timeout_s=TIMEOUT_S, is_complete=is_output_complete)


def _with_cores(card: Card, listed: Listed | None) -> Card:
    """The card with which of its cores are in use, in the keys of furiosa-smi's JSON."""
    if listed is None or not listed.cores:
        return card
    cores = [
        {
            "pe_core": core,
            **({} if state == "unavailable" else {"pe_occupancy": state != "available"}),
        }
        for core, state in sorted(listed.cores.items())
    ]
    unavailable = tuple(
        core for core, state in sorted(listed.cores.items()) if state == "unavailable"
    )
    status = {**card.status, "unavailable_cores": unavailable}
    return msgspec.structs.replace(card, status=status, nodes=listed.nodes).with_cores(cores)
