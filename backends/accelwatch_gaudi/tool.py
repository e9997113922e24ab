"""Runs of hl-smi: its query in the richest form that this version knows, and its table."""

from functools import partial
from pathlib import Path

from accelwatch.backend.kit.polled import TIMEOUT_S
from accelwatch.backend.kit.vendor_program import output_of
from accelwatch.base.errors import DeviceTimeout, ReadError
from accelwatch.system.processes.complete_output import CompletenessCheck, closed, parsed
from accelwatch_gaudi.document import Card, ToolOutput, together
from accelwatch_gaudi.logs import Logs
from accelwatch_gaudi.query import QUERIES, parse_query
from accelwatch_gaudi.table import parse_table


class HlSmi:
    """One command; one thread at a time runs it."""

    def __init__(self, program: Path, logs: Logs) -> None:
        self._program = program
        self._logs = logs
        # Of QUERIES; None: no query is known, and the table is all there is.
        self._level: int | None = 0

    def read_document(self) -> ToolOutput:
        """What the query says, with what only the table has. Raises ReadError."""
        query = self._query()
        try:
            table = self.table()
        except ReadError:
            if query is None:
                raise
            return query
        return table if query is None else together(query, table)

    def table(self) -> ToolOutput:
        """What the table says. Raises ReadError."""
        return parse_table(self._run(is_complete=closed(parse_table, _cards)))

    def _query(self) -> ToolOutput | None:
        """The answer to the richest query that is known; None where none is. Raises ReadError."""
        if self._level is None:
            return None
        for level in range(self._level, len(QUERIES)):
            try:
                document = self._query_level(level)
            except DeviceTimeout:
                raise
            except ReadError:
                continue
            self._level = level
            return document
        # Where the table can be read, it is the query that this version does not know.
        self.table()
        self._level = None
        return None

    def _query_level(self, level: int) -> ToolOutput:
        names = QUERIES[level]
        parse = partial(parse_query, requested=names)
        arguments = ("-Q", ",".join(names), "-f", "csv,nounits")
        return parse(self._run(*arguments, is_complete=parsed(parse, _cards)))

    def _run(self, *arguments: str, is_complete: CompletenessCheck) -> bytes:
        return output_of(
            self._program,
            *arguments,
            timeout_s=TIMEOUT_S,
            environ=self._logs.environ(),
            is_complete=is_complete,
        )


def _cards(document: ToolOutput) -> tuple[Card, ...]:
    return document.cards
