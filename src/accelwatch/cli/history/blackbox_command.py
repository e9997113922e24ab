"""`accelwatch blackbox`: the last minutes of this machine, and what was frozen when something broke."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from accelwatch.base.exit_codes import FAILED, OK, PERMISSION
from accelwatch.cli.options import Group, subcommand
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import argument, option

if TYPE_CHECKING:
    from accelwatch.archive.blackbox.locations import Box

blackbox = Group(
    "blackbox",
    help="List, show and export the last 15 minutes before a device of this machine failed.",
)

_Which = Annotated[
    str,
    argument(
        metavar="WHICH", help="A number or name of `list`, a recording, or `now`: the last minutes."
    ),
]
_Folder = Annotated[
    Path | None,
    option("--state-dir", metavar="DIR", help="Search only there; default: where agents keep it."),
]
_Json = Annotated[bool, option("--json", help="As JSON.")]
_BEFORE, _AFTER = "2m", "1m"


def boxes_here(folder: Path | None) -> "list[Box]":
    """The black boxes of this machine, or that of one state folder."""
    from accelwatch.archive.blackbox.files import FOLDER
    from accelwatch.archive.blackbox.locations import boxes, folders

    if folder is not None:
        return boxes([folder / FOLDER, folder] if (folder / FOLDER).is_dir() else [folder])
    return boxes(folders(os.environ, _configured()))


def _configured() -> str | None:
    """The `state_dir` of the agent's configuration, if there is one that can be read."""
    from accelwatch.base.errors import AccelwatchError
    from accelwatch.config.layers import effective, find_file

    try:
        path = find_file(None, os.environ)
        return None if path is None else effective(path, os.environ).settings.state_dir
    except AccelwatchError as error:
        complain(str(error))
        return None


@subcommand(blackbox, "list")
def _list(folder: _Folder = None, as_json: _Json = False) -> None:
    """List saved captures, newest first, and how far the ring reaches back."""
    from accelwatch.archive.blackbox.locations import has_content, lack_of
    from accelwatch.cli.history.blackbox_report import document, rows

    boxes = boxes_here(folder)
    write_stdout(document(boxes) if as_json else "".join(rows(boxes)).encode())
    unread = [box for box in boxes if box.lack]
    if unread or not has_content(boxes):
        complain(lack_of(boxes))
    if has_content(boxes):
        raise click.exceptions.Exit(OK)
    raise click.exceptions.Exit(PERMISSION if unread else FAILED)


@subcommand(blackbox, "show")
def _show(
    which: _Which = "1",
    before: Annotated[
        str, option(metavar="DURATION", help="Start this long before the event.")
    ] = _BEFORE,
    after: Annotated[str, option(metavar="DURATION", help="End this long after it.")] = _AFTER,
    folder: _Folder = None,
    as_json: _Json = False,
) -> None:
    """Show a capture: all devices on one time axis, kernel lines, started and ended processes."""
    from accelwatch.archive.blackbox.excerpt import newest_time, read_excerpt
    from accelwatch.archive.blackbox.locations import NOW, meant
    from accelwatch.base.durations import seconds
    from accelwatch.cli.history import blackbox_report as report
    from accelwatch.schema.display import stdout_is_terminal

    path = meant(which, boxes_here(folder))
    before_s, after_s = seconds(before), seconds(after)
    at = newest_time(path) if which == NOW else None
    excerpt = read_excerpt(path, before_s=before_s, after_s=after_s, at=at)
    if as_json:
        write_stdout(report.excerpt_document(excerpt, path))
    elif stdout_is_terminal():
        write_stdout(report.picture(excerpt).encode())
    else:
        write_stdout("".join(report.excerpt_rows(excerpt)).encode())
    for note in excerpt.notes:
        complain(note)
    raise click.exceptions.Exit(OK)


@subcommand(blackbox, "export")
def _export(
    which: _Which = "1",
    output: Annotated[
        str | None,
        option(
            "--output",
            "-o",
            metavar="FILE",
            help="Default: the capture's name, in this folder; - is standard output.",
        ),
    ] = None,
    redact: Annotated[
        bool,
        option("--redact", help="Remove users, commands, jobs, mount points and the host's name."),
    ] = False,
    folder: _Folder = None,
) -> None:
    """Write one file to send away; `accelwatch dashboard --replay FILE` plays it."""
    from accelwatch.archive.blackbox.exporting import export, exported
    from accelwatch.archive.blackbox.locations import NOW, meant
    from accelwatch.schema.display import size

    path = meant(which, boxes_here(folder))
    name = "blackbox-now.ndjson.zst" if which == NOW else path.name
    if output == "-":
        for piece in exported(path, name, redact=redact, warn=complain):
            write_stdout(piece)
        raise click.exceptions.Exit(OK)
    target = Path(name if output is None else output)
    count = export(path, target, redact=redact, warn=complain)
    complain(f"{target}: {size(count)}; play it: accelwatch dashboard --replay {target}")
    raise click.exceptions.Exit(OK)
