"""Looking a journal over: is its chain whole, and are its tables what its entries say."""

import contextlib
import sqlite3
from pathlib import Path

import msgspec

from accelwatch.alerting.incidents.journal.file import STATE_TABLES, JournalFile, journal_errors
from accelwatch.alerting.incidents.journal.schema import version_of


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """What was found."""

    journal: str
    # Those that are what was written, from the oldest on.
    entries: int
    # The sequence of the first that is not; null when the chain is whole.
    bad: int | None
    # The hash of the last that is: kept elsewhere, it shows whether the whole file was exchanged.
    last: str
    # Tables that are not what the entries say; not looked for when the chain is broken.
    differing: tuple[str, ...]

    @property
    def is_well(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.bad is None and not self.differing


def audit_journal(path: Path, now: float) -> Audit:
    """Look a file over, and change nothing. `now` in Unix seconds. Raises JournalError."""
    with contextlib.closing(JournalFile(path, read_only=True)) as file:
        verdict = file.follow()
        differing = () if verdict.bad is not None else _differing(file, now)
    return Audit(
        journal=str(path),
        entries=verdict.good,
        bad=verdict.bad,
        last=verdict.last,
        differing=differing,
    )


def _differing(file: JournalFile, now: float) -> tuple[str, ...]:
    with (
        journal_errors(f"{file.path}: the journal cannot be checked"),
        contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as copy,
    ):
        file.copy_to(copy)
        before = {table: _rows(copy, table, now) for table in STATE_TABLES}
        JournalFile.over(file.path, copy).rebuild()
        return tuple(table for table, rows in before.items() if rows != _rows(copy, table, now))


def _rows(database: sqlite3.Connection, table: str, now: float) -> list[tuple[object, ...]]:
    """A table, without what is over and only waits to be forgotten."""
    if table != "state":
        return database.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()  # noqa: S608
    if version_of(database) < 2:  # a file of the first version, only read
        return []
    return database.execute(
        "SELECT * FROM state WHERE until IS NULL OR until > ? ORDER BY kind, key", (now,)
    ).fetchall()
