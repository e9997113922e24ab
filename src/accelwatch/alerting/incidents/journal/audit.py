"""Looking a journal over: is its chain whole, and are its tables what its entries say."""

import contextlib

import msgspec

from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.sqlite.file import in_memory
from accelwatch.alerting.incidents.journal.tables.state_tables import STATE_TABLES


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


def audit_journal(journal: Journal, now: float) -> Audit:
    """Look a journal over, and change nothing. `now` in Unix seconds. Raises JournalError."""
    with journal.reading():
        verdict = journal.follow()
        differing = () if verdict.bad is not None else _differing(journal, now)
    return Audit(
        journal=journal.name,
        entries=verdict.good,
        bad=verdict.bad,
        last=verdict.last,
        differing=differing,
    )


def _differing(journal: Journal, now: float) -> tuple[str, ...]:
    before = {table: journal.rows(table, now) for table in STATE_TABLES}
    with contextlib.closing(in_memory(journal.name)) as copy:
        copy.follow_entries_of(journal)
        return tuple(table for table, rows in before.items() if rows != copy.rows(table, now))
