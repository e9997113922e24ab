"""A journal in PostgreSQL, opened as a hub opens it."""

from pathlib import Path

from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.location import DatabaseLocation
from accelwatch.alerting.incidents.journal.opening import open_journal
from accelwatch.config.journal import PostgreSQL
from alerting.incidents.incident_rules import START


def opens(settings: PostgreSQL, folder: Path | None = None) -> Journal:
    """The journal, to be written; `folder` is the hub's folder of state."""
    opened = open_journal(DatabaseLocation(settings=settings, folder=folder), START)
    assert opened.file is not None
    return opened.file
