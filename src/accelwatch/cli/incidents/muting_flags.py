"""What `accelwatch silence` and `accelwatch maintenance` have in common: spans, answers, lists."""

from collections.abc import Iterable, Sequence
from typing import Annotated
from urllib.parse import quote

import msgspec

from accelwatch.alerting.evaluation.silences.documents import (
    MaintenanceDocument,
    MutingChanged,
    MutingPage,
    SilenceDocument,
)
from accelwatch.base.durations import seconds_with_unit
from accelwatch.base.errors import UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.hub_requests import HubFlags, changed, iso_time, who
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import option
from accelwatch.cli.table_lines import columns
from accelwatch.fleet.hub_client.documents import decoded

MutingEntry = SilenceDocument | MaintenanceDocument


class SpanFlags(msgspec.Struct, frozen=True, kw_only=True):
    """From when to when, why, and who says so."""

    lasts: Annotated[
        str | None, option("--for", metavar="DURATION", help="How long, such as 2h or 1d.")
    ] = None
    until: Annotated[
        str | None, option("--until", metavar="TIME", help="End, instead of --for.")
    ] = None
    starts: Annotated[
        str | None,
        option("--from", metavar="TIME", help="Start, such as 2030-01-31T18:00; default: now."),
    ] = None
    reason: Annotated[
        str | None,
        option("--reason", metavar="TEXT", help="Reason, kept in the audit log; required."),
    ] = None
    by: Annotated[
        str | None,
        option("--by", metavar="NAME", help="Your name, if the hub has no logins; default: $USER."),
    ] = None


AsJson = Annotated[bool, option("--json", help="As JSON.")]
By = Annotated[
    str | None,
    option("--by", metavar="NAME", help="Your name, if the hub has no logins; default: $USER."),
]


def spanned(span: SpanFlags) -> dict[str, str]:
    """The part of a request that says when, why and who. Raises UsageError."""
    if not span.reason:
        raise UsageError("--reason TEXT is required; it is kept in the audit log")
    if (span.lasts is None) == (span.until is None):
        raise UsageError("write either --for 2h, or --until with a time")
    request = {"reason": span.reason, "by": who(span.by)}
    if span.starts is not None:
        request["from"] = iso_time("--from", span.starts)
    if span.until is not None:
        request["until"] = iso_time("--until", span.until)
    if span.lasts is not None:
        seconds_with_unit(span.lasts)
        request["for"] = span.lasts
    return request


def print_created(answer: bytes, reply: MutingChanged, document: MutingEntry, as_json: bool) -> int:
    """Print what was set, and complain of what is wrong."""
    if reply.problem:
        complain(f"in force, but not saved: {reply.problem}")
    if reply.unknown:
        what = "label" if isinstance(document, SilenceDocument) else "node"
        complain(f"no such {what} now: {', '.join(reply.unknown)}")
    if as_json:
        write_stdout(answer)
        return OK
    write_stdout(_table([document]))
    if document.in_force:
        mutes = document.mutes
        complain(f"{mutes or 'no'} open incident{'' if mutes == 1 else 's'} muted by it now")
    return OK


def expire_and_print(hub: HubFlags, base: str, id_: str, by: str | None, as_json: bool) -> int:
    """End one by its id. Raises AccelwatchError."""
    query = {"by": who(by)} if who(by) else {}
    answer = changed(hub, "DELETE", f"{base}/{quote(id_, safe='')}", query=query)
    if problem := decoded(answer, MutingChanged).problem:
        complain(f"ended, but not written down: {problem}")
    write_stdout(answer if as_json else f"{id_} ended\n".encode())
    return OK


def print_active(
    answer: bytes, page: MutingPage, rows: Sequence[MutingEntry], as_json: bool
) -> int:
    """Print all that are not over, a line each."""
    if as_json:
        write_stdout(answer)
        return OK
    for problem in page.problems:
        complain(problem)
    if not page.evaluated:
        complain("there are no rules here (docs/rules.md)")
    elif not rows:
        complain("none")
    write_stdout(_table(rows))
    return OK


def _table(rows: Iterable[MutingEntry]) -> bytes:
    from accelwatch.base.untrusted_text import printable

    cells = [
        (
            row.id,
            "in force" if row.in_force else "announced",
            f"{_short(row.starts)} to {_short(row.ends)}",
            printable(_concerned(row)),
            printable(f"{_by(row)}: {row.reason}"),
        )
        for row in rows
    ]
    return "".join(f"{line}\n" for line in columns(cells)).encode()


def _concerned(row: MutingEntry) -> str:
    """Whom a silence or window is about, in few words."""
    if isinstance(row, SilenceDocument):
        return ", ".join(row.matchers)
    return ",".join(row.nodes) or "every node"


def _short(time_text: str) -> str:
    """A moment without its fraction; it is in UTC."""
    return f"{time_text.partition('.')[0].removesuffix('Z')}Z"


def _by(row: MutingEntry) -> str:
    return row.by if row.verified else f"{row.by or 'somebody'} (unverified)"
