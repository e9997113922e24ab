"""Runs of hl-smi: its query in the richest form that this version knows, and its table."""

import os
import shutil
import tempfile
from pathlib import Path

from accelwatch.errors import DeviceTimeout, ReadError
from accelwatch.vendor_program import output_of
from accelwatch.vendor_tool import TIMEOUT_S
from accelwatch_gaudi.document import Document, together
from accelwatch_gaudi.query import QUERIES, parse_query
from accelwatch_gaudi.table import parse_table

_LOGS = "HABANA_LOGS"
_DEFAULT_LOGS = "var/log/habana_logs"
"""hl-smi writes a log at each run, and fails where it cannot."""


class HlSmi:
    """One command; it is asked by one thread at a time."""

    def __init__(self, program: Path, root: Path) -> None:
        self._program = program
        self._root = root
        self._level: int | None = 0
        """Of QUERIES; None: no query is known, and the table is all there is."""
        self._logs: Path | None = None

    def ask(self) -> Document:
        """What the query says, with what only the table has. Raises ReadError."""
        query = self._query()
        try:
            table = parse_table(self._run())
        except ReadError:
            if query is None:
                raise
            return query
        return table if query is None else together(query, table)

    def close(self) -> None:
        """Take the folder of logs away."""
        if self._logs is not None:
            shutil.rmtree(self._logs, ignore_errors=True)
            self._logs = None

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
        parse_table(self._run())
        self._level = None
        return None

    def _asked(self, level: int) -> Document:
        names = QUERIES[level]
        output = self._run("-Q", ",".join(names), "-f", "csv,nounits")
        return parse_query(output, names)

    def _run(self, *arguments: str) -> bytes:
        environ = {} if self._may_log() else {_LOGS: str(self._own_logs())}
        return output_of(self._program, *arguments, timeout_s=TIMEOUT_S, environ=environ)

    def _may_log(self) -> bool:
        return _LOGS in os.environ or os.access(self._root / _DEFAULT_LOGS, os.W_OK)

    def _own_logs(self) -> Path:
        if self._logs is None:
            self._logs = Path(tempfile.mkdtemp(prefix="accelwatch-habana-"))
        return self._logs
