"""A journal in PostgreSQL, opened as a hub opens it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from accelwatch.alerting.incidents.journal.errors import JournalInUseError
from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.location import DatabaseLocation
from accelwatch.alerting.incidents.journal.opening import open_journal
from accelwatch.config.journal import PostgreSQL
from alerting.incidents.incident_rules import START
from support.processes.waiting import wait_until


def opens(settings: PostgreSQL, folder: Path | None = None) -> Journal:
    """The journal, to be written; `folder` is the hub's folder of state."""
    opened = open_journal(DatabaseLocation(settings=settings, folder=folder), START)
    assert opened.file is not None
    return opened.file


@contextlib.contextmanager
def eventually_open(settings: PostgreSQL, folder: Path | None = None) -> Iterator[Journal]:
    """The journal, as soon as the database has noticed that whoever had it is out of it."""

    def try_to_open() -> Journal | None:
        with contextlib.suppress(JournalInUseError):
            return opens(settings, folder)
        return None

    journal = wait_until(try_to_open)
    yield journal
    journal.close()
