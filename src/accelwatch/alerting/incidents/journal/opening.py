"""Opening the journal where the configuration says it is kept."""

from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.location import JournalLocation
from accelwatch.alerting.incidents.journal.opened import Opened, not_opened
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.alerting.incidents.journal.sqlite.folder import open_in_folder


def open_journal(location: JournalLocation | None, now: float) -> Opened:
    """The journal there. Without a location nothing outlives the process, which is a problem too."""
    if location is None:
        return not_opened("no state_dir is set, so incidents are forgotten when this process ends")
    return open_in_folder(location, now)


def read_journal(location: JournalLocation) -> Journal:
    """The journal there, only to read, while another may write it. Raises JournalError."""
    path = location / FILE if location.is_dir() else location
    return open_file(path, read_only=True)
