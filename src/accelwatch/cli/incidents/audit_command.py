"""`accelwatch audit`: who did what and when, from the journal of a hub or agent on this machine."""

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from accelwatch.base.errors import UsageError
from accelwatch.base.exit_codes import FAILED, OK
from accelwatch.cli.options import Group, subcommand
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import argument, option

if TYPE_CHECKING:
    from accelwatch.alerting.incidents.journal.journal import Journal
    from accelwatch.alerting.incidents.journal.location import JournalLocation
    from accelwatch.alerting.incidents.journal.records import Entry

audit = Group("audit", help="Show and verify the journal of a hub or agent: who did what and when.")

_Folder = Annotated[
    Path,
    argument(
        metavar="DIR|FILE",
        help="The state_dir of the hub or agent; or a hub's configuration, for a journal in PostgreSQL.",
    ),
]
_Json = Annotated[bool, option("--json", help="As JSON.")]


@subcommand(audit, "list")
def _list(
    folder: _Folder,
    node: Annotated[
        str | None, option("--node", metavar="NAME", help="Only entries about this node.")
    ] = None,
    incident: Annotated[
        str | None, option("--incident", metavar="ID", help="Only entries about this incident.")
    ] = None,
    most: Annotated[
        int, option("--most", metavar="N", min=1, help="The latest N that match.")
    ] = 100,
    as_json: _Json = False,
) -> None:
    """Show the latest entries, oldest first."""
    from collections import deque

    from accelwatch.alerting.incidents.journal.listing import about
    from accelwatch.alerting.incidents.journal.opening import read_journal
    from accelwatch.cli.incidents.audit_lines import documents, line

    with contextlib.closing(read_journal(journal_of(folder))) as journal:
        fitting = (entry for entry in journal.entries() if about(entry.record, node, incident))
        entries: Iterable[Entry] = deque(fitting, maxlen=most)
    write_stdout(documents(entries) if as_json else "".join(map(line, entries)).encode())
    raise click.exceptions.Exit(OK)


@subcommand(audit, "verify")
def _verify(folder: _Folder, as_json: _Json = False) -> None:
    """Check that no entry was changed or removed, and that the tables are what the entries say."""
    import msgspec

    from accelwatch.alerting.incidents.journal.audit import audit_journal
    from accelwatch.alerting.incidents.journal.opening import read_journal

    with contextlib.closing(read_journal(journal_of(folder))) as journal:
        result = audit_journal(journal, time.time())
    if as_json:
        write_stdout(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
    elif result.is_well:
        write_stdout(f"{result.entries} entries are as they were written; {result.last}\n".encode())
    if result.bad is not None:
        complain(f"{result.journal}: entry {result.bad} is not what was written, nor what follows")
    for table in result.differing:
        complain(
            f"{result.journal}: the table {table} is not what the entries say; "
            f"stop the hub, then: accelwatch audit rebuild {folder}"
        )
    raise click.exceptions.Exit(OK if result.is_well else FAILED)


@subcommand(audit, "rebuild")
def _rebuild(folder: _Folder, as_json: _Json = False) -> None:
    """Rebuild the tables from the entries; only while no process has the journal open."""
    import msgspec

    location = journal_of(folder)
    with _writable(location) as file:
        count = file.verify()
        file.rebuild()
        name = file.name
    document = msgspec.json.encode({"journal": name, "entries": count})
    write_stdout(document + b"\n" if as_json else f"made again from {count} entries\n".encode())
    raise click.exceptions.Exit(OK)


@contextlib.contextmanager
def _writable(location: "JournalLocation") -> "Iterator[Journal]":
    """The journal, while no process has it. Raises JournalError, AccelwatchError."""
    from accelwatch.alerting.incidents.journal.opening import open_journal
    from accelwatch.alerting.incidents.journal.sqlite.file import open_file
    from accelwatch.alerting.incidents.journal.sqlite.folder import LOCK
    from accelwatch.base.errors import AccelwatchError
    from accelwatch.system.files.folder_lock import lock_file

    if not isinstance(location, Path):
        journal = open_journal(location, time.time()).file
        assert journal is not None  # or it raises
        with contextlib.closing(journal):
            yield journal
        return
    try:
        lock_fd = lock_file(location.parent / LOCK)
    except BlockingIOError as error:
        raise AccelwatchError(f"{location}: a process keeps it open; stop that first") from error
    except OSError as error:
        raise AccelwatchError(f"{location}: it cannot be locked: {error.strerror}") from error
    try:
        with contextlib.closing(open_file(location)) as file:
            yield file
    finally:
        os.close(lock_fd)


def journal_of(source: Path) -> "JournalLocation":
    """The journal in a folder, the file itself, or that of a hub's configuration.

    Raises UsageError when there is none, ConfigError.
    """
    from accelwatch.alerting.incidents.journal.sqlite.file import FILE

    if source.suffix in (".yaml", ".yml") and source.is_file():
        from accelwatch.fleet.hub.leadership.journal_lease import location_of
        from accelwatch.fleet.hub.model import load_settings

        settings = load_settings(source)
        state_dir = Path(settings.state_dir) if settings.state_dir else None
        location = location_of(settings.journal, state_dir)
        if location is None:
            raise UsageError(f"{source}: neither journal.postgresql nor state_dir is set there")
        if not isinstance(location, Path):
            return location
        source = location
    file = source / FILE if source.is_dir() else source
    if not file.is_file():
        raise UsageError(f"{source}: there is no journal; give the state_dir of the hub or agent")
    return file
