"""`accelwatch audit`: who did what and when, from the journal of a hub or agent on this machine."""

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from accelwatch.base.errors import UsageError
from accelwatch.base.exit_codes import FAILED, OK
from accelwatch.cli.options import Group, subcommand
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import argument, option

if TYPE_CHECKING:
    from accelwatch.alerting.incidents.journal.records import Entry

audit = Group(
    "audit", help="Who did what and when: the journal in the state_dir of a hub or agent."
)

_Folder = Annotated[Path, argument(metavar="DIR", help="The state_dir of the hub or agent.")]
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

    from accelwatch.alerting.incidents.journal.sqlite.file import open_file
    from accelwatch.alerting.incidents.journal.sqlite.folder import LOCK
    from accelwatch.base.errors import AccelwatchError
    from accelwatch.system.files.folder_lock import lock_file

    path = journal_of(folder)
    try:
        lock_fd = lock_file(path.parent / LOCK)
    except BlockingIOError as error:
        raise AccelwatchError(f"{path}: a process keeps it open; stop that first") from error
    except OSError as error:
        raise AccelwatchError(f"{path}: it cannot be locked: {error.strerror}") from error
    try:
        file = open_file(path)
        try:
            count = file.verify()
            file.rebuild()
        finally:
            file.close()
    finally:
        os.close(lock_fd)
    document = msgspec.json.encode({"journal": str(path), "entries": count})
    write_stdout(document + b"\n" if as_json else f"made again from {count} entries\n".encode())
    raise click.exceptions.Exit(OK)


def journal_of(folder: Path) -> Path:
    """The journal in a folder, or the file itself. Raises UsageError when there is none."""
    from accelwatch.alerting.incidents.journal.sqlite.file import FILE

    path = folder / FILE if folder.is_dir() else folder
    if not path.is_file():
        raise UsageError(f"{folder}: there is no journal; give the state_dir of the hub or agent")
    return path
