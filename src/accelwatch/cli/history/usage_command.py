"""`accelwatch usage`: who uses which devices, with load, memory, energy, money and idle time."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import msgspec

from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.hub_requests import HubFlags, reached
from accelwatch.cli.options import command, shared_option
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import option
from accelwatch.node.usage.queries import BY_DEFAULT, SINCE_DEFAULT, by_of, window_of

if TYPE_CHECKING:
    from accelwatch.fleet.hub_client.connection.session import Requests
    from accelwatch.node.usage.ledger import By
    from accelwatch.node.usage.report import EnergyPrice, UsageReport


@command
def usage_command(
    hub: HubFlags,
    by: Annotated[
        str, option("--by", metavar="user|job", help="One row per user, or per job.")
    ] = BY_DEFAULT,
    since: Annotated[
        str,
        option(
            "--since",
            metavar="1h|job",
            help="How far back, at most 1h; or `job`: since each job started.",
        ),
    ] = SINCE_DEFAULT,
    as_json: Annotated[bool, option("--json", help="As JSON.")] = False,
    as_csv: Annotated[bool, option("--csv", help="As CSV.")] = False,
    recording: Annotated[
        Path | None,
        option("--recording", metavar="FILE", help="Evaluate a recording instead."),
    ] = None,
    color: Annotated[str, shared_option("color")] = "auto",
) -> None:
    """Show time, load, memory, energy, cost and idle time by user or job.

    Asks the hub of this machine, else its agent; without either it evaluates the black box.
    """
    if as_json and as_csv:
        raise UsageError("--json and --csv: one of them")
    by_, window_s = by_of(by), window_of(since)
    if recording is not None and hub != HubFlags():
        raise UsageError("--recording is read here; leave out --hub and --agent")
    if recording is not None:
        report = _recorded(recording, by_, window_s)
    else:
        query = {"by": by_.value, "since": since}
        report = reached(hub, lambda session: _fetch_report(session, query)) or _of_box(
            by_, window_s
        )
    if as_json:
        write_stdout(msgspec.json.encode(report) + b"\n")
    elif as_csv:
        from accelwatch.node.usage.csv_rows import csv_of

        write_stdout(csv_of(report))
    else:
        write_stdout(_text(report, color, ages=window_s is None).encode())
    if as_json or as_csv:
        for note in report.notes:
            complain(note)
    raise click.exceptions.Exit(OK)


async def _fetch_report(session: "Requests", query: dict[str, str]) -> "UsageReport":
    from accelwatch.fleet.hub_client.usage import read_usage

    return await read_usage(session, query)


def _recorded(path: Path, by: "By", window_s: float | None) -> "UsageReport":
    from accelwatch.node.usage.recorded import ledger_of
    from accelwatch.node.usage.report import report

    ledger, notes = ledger_of(path, window_s)
    return report(ledger, by, window_s, price=_price(), source=str(path), notes=notes)


def _of_box(by: "By", window_s: float | None) -> "UsageReport":
    from accelwatch.archive.blackbox.locations import NOW, NothingKeptError, meant
    from accelwatch.cli.history.blackbox_command import boxes_here

    try:
        path = meant(NOW, boxes_here(None))
    except NothingKeptError:
        text = (
            "no hub, no agent and no black box is here; `accelwatch agent` counts from its start on"
        )
        raise UnmetError(f"{text}, --recording FILE counts what was recorded") from None
    return _recorded(path, by, window_s)


def _price() -> "EnergyPrice | None":
    """By the agent's configuration, where there is one that can be read."""
    from accelwatch.node.usage.price import configured_price

    price, complaint = configured_price(os.environ)
    if complaint:
        complain(complaint)
    return price


def _text(report: "UsageReport", color: str, *, ages: bool) -> str:
    from accelwatch.cli.table_lines import Style, aligned
    from accelwatch.node.usage.cells import NUMBERS, cells, header, remarks, summary
    from accelwatch.schema.display import colour, printable, utf8

    style = Style(colour=colour(color, sys.stdout), ascii_only=not utf8(sys.stdout))
    rows = [*report.rows, *([report.total] if report.total is not None else [])]
    shown = [cells(row, report, ages=ages, ascii_only=style.ascii_only) for row in rows]
    codes = ["1" if row is report.total else "" for row in rows]
    lines = aligned(header(report, ages=ages), shown, style, codes, right=NUMBERS)
    notes = [summary(report), *remarks(report, ascii_only=style.ascii_only)]
    lines += ["", *(printable(text, ascii_only=style.ascii_only) for text in notes)]
    return "".join(f"{line}\n" for line in lines)
