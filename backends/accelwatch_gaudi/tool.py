"""Runs of hl-smi: its query in the richest form that this version knows, and its table."""

from pathlib import Path

from accelwatch.errors import DeviceTimeout, ReadError
from accelwatch.vendor_program import output_of
from accelwatch.vendor_tool import TIMEOUT_S
from accelwatch_gaudi.document import Document, together
from accelwatch_gaudi.logs import Logs
from accelwatch_gaudi.query import QUERIES, parse_query
from accelwatch_gaudi.table import parse_table


class HlSmi:
    """One command; it is asked by one thread at a time."""

    def __init__(self, program: Path, logs: Logs) -> None:
        self._program = program
        self._logs = logs
        self._level: int | None = 0
        """Of QUERIES; None: no query is known, and the table is all there is."""

    def ask(self) -> Document:
        """What the query says, with what only the table has. Raises ReadError."""
        query = self._query()
        try:
            table = self.table()
        except ReadError:
            if query is None:
                raise
            return query
        return table if query is None else together(query, table)

    def table(self) -> Document:
        """What the table says. Raises ReadError."""
        return parse_table(self._run())

    def _query(self) -> Document | None:
        """The answer to the richest query that is known; None where none is. Raises ReadError."""
        if self._level is None:
            return None
        for level in range(self._level, len(QUERIES)):
            try:
                document = self._asked(level)
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

    def _asked(self, level: int) -> Document:
        names = QUERIES[level]
        output = self._run("-Q", ",".join(names), "-f", "csv,nounits")
        return parse_query(output, names)

    def _run(self, *arguments: str) -> bytes:
        environ = self._logs.environ()
        return output_of(self._program, *arguments, timeout_s=TIMEOUT_S, environ=environ)
