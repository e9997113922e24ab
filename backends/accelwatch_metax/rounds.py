"""One round of runs of mx-smi: its table, the list of GPUs, temperatures and loads, counts of ECC."""

from collections.abc import Callable

from accelwatch.backend.kit.vendor_program import optional_output
from accelwatch.base.errors import DeviceTimeout, ReadError
from accelwatch.system.processes.complete_output import closed, parsed
from accelwatch_metax.document import ToolOutput, document_of
from accelwatch_metax.sections import Listed, listed_of, sections_of
from accelwatch_metax.table import Table, parse_table

SECTIONS: tuple[tuple[str, ...], ...] = (("--show-temperature", "--show-usage"), ("--count-ecc",))
# For a release that accepts one option at a time.
FEWER: tuple[tuple[str, ...], ...] = (("--show-temperature",), ("--count-ecc",))


class Rounds:
    """Runs a command, and remembers which options it accepts. One thread at a time."""

    def __init__(self, run: Callable[..., bytes]) -> None:
        """`run` is given arguments and a check of completeness, and may raise ReadError."""
        self._run = run
        self._sections = SECTIONS

    def query(self) -> ToolOutput:
        """What all runs say. Raises ReadError when there is neither the table nor a list.

        After a run that hangs no other is started: what was printed by then is the answer.
        """
        error: ReadError | None = None
        table = Table(gpus={}, versions={}, jobs=None)
        try:
            table = parse_table(
                self._run(is_complete=closed(parse_table, lambda table: table.gpus))
            )
        except DeviceTimeout:
            raise
        except ReadError as failure:
            error = failure
        listed: dict[int, Listed] = {}
        sections: dict[int, dict[str, str]] = {}
        try:
            listed = listed_of(optional_output(self._run, "-L", is_complete=parsed(listed_of)))
            sections = self._all_sections()
        except DeviceTimeout as failure:
            error = error or failure
        if not table.gpus and not listed and error is not None:
            raise error
        return document_of(table, listed, sections)

    def _all_sections(self) -> dict[int, dict[str, str]]:
        """Of both runs together. Raises DeviceTimeout."""
        sections = [sections_of(self._section(options)) for options in self._sections]
        if not sections[0] and self._sections is SECTIONS:
            sections[0] = sections_of(self._section(FEWER[0]))
            if sections[0]:
                self._sections = FEWER
        merged: dict[int, dict[str, str]] = {}
        for gpus in sections:
            for number, fields in gpus.items():
                merged.setdefault(number, {}).update(fields)
        return merged

    def _section(self, options: tuple[str, ...]) -> bytes:
        return optional_output(self._run, *options, is_complete=closed(sections_of))
