"""Opening the journal where the configuration says it is kept."""

from pathlib import Path

from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.location import JournalLocation
from accelwatch.alerting.incidents.journal.opening_result import OpeningResult, not_opened
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.alerting.incidents.journal.sqlite.folder import open_in_folder


def open_journal(location: JournalLocation | None, now: float) -> OpeningResult:
    """The journal there. Without a location nothing outlives the process, which is a problem too.

    Raises JournalError for a database that cannot be written, or that another process writes.
    """
    if location is None:
        return not_opened("no state_dir is set, so incidents are forgotten when this process ends")
    if isinstance(location, Path):
        return open_in_folder(location, now)
    # asyncpg is loaded by those only who need it.
    from accelwatch.alerting.incidents.journal.postgresql.opening import open_in_postgresql

    return open_in_postgresql(location, now)


def read_journal(location: JournalLocation) -> Journal:
    """The journal there, only to read, while another may write it. Raises JournalError."""
    if not isinstance(location, Path):
        from accelwatch.alerting.incidents.journal.postgresql.database import PostgreSQLDatabase

        return Journal(PostgreSQLDatabase(location.settings, read_only=True))
    path = location / FILE if location.is_dir() else location
    return open_file(path, read_only=True)
