"""`accelwatch incidents`: what the rules of a hub, or of one node's agent, have found."""

import itertools
import time
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import click
import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument, IncidentsPage
from accelwatch.alerting.evaluation.silences.documents import Closed, NoteWritten
from accelwatch.base.durations import reading_interval
from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.hub_requests import HubFlags, changed, fetch, fetch_page, who
from accelwatch.cli.options import command
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import argument, option
from accelwatch.fleet.hub_client.documents import decoded

if TYPE_CHECKING:
    from accelwatch.fleet.documents.graphs import IncidentGraphs
    from accelwatch.fleet.hub_client.connection.session import Requests

_USAGE = (
    "write: accelwatch incidents [show ID], accelwatch incidents close ID,"
    " or accelwatch incidents note ID 'TEXT'"
)
# Where `note ID TEXT` has its text.
_TEXT_POSITION = 2


class IncidentFlags(msgspec.Struct, frozen=True, kw_only=True):
    """Which incidents are wanted, and how."""

    state: Annotated[str | None, option("--state", metavar="WORD", help="open, closed or all.")] = (
        None
    )
    severity: Annotated[
        str | None,
        option("--severity", metavar="WORD", help="info, warning or critical."),
    ] = None
    node: Annotated[
        str | None, option("--node", metavar="NAME", help="Only those of this node.")
    ] = None
    as_json: Annotated[bool, option("--json", help="As JSON.")] = False
    watch: Annotated[
        str | None,
        option("--watch", "-w", metavar="[INTERVAL]", help="Print again every INTERVAL."),
    ] = None
    count: Annotated[
        int | None, option("--count", "-n", metavar="N", min=1, help="With --watch: stop after N.")
    ] = None

    @property
    def interval_s(self) -> float | None:
        """Seconds between two answers; None for a single one. Raises UsageError."""
        return None if self.watch is None else reading_interval(self.watch)


class ClosingFlags(msgspec.Struct, frozen=True, kw_only=True):
    """Why an incident is closed by hand or written into, and by whom."""

    reason: Annotated[
        str | None, option("--reason", metavar="TEXT", help="With close: the reason.")
    ] = None
    by: Annotated[
        str | None,
        option(
            "--by",
            metavar="NAME",
            help="With close and note: your name, if the hub has no logins; default: $USER.",
        ),
    ] = None


@command
def incidents_command(
    flags: IncidentFlags,
    closing: ClosingFlags,
    hub: HubFlags,
    tokens: Annotated[
        list[str] | None,
        argument(
            metavar="[[show] ID | close ID | note ID TEXT]",
            help="Show one incident with its history, close it, or add a line to its history.",
        ),
    ] = None,
) -> None:
    """Show incidents of a hub or agent; close one, or add a note to it.

    `accelwatch incidents` lists the open incidents; --state, --severity and --node choose others.

    `accelwatch incidents show ID` shows one incident with its evidence and history; `show` may be left
    out.

    `accelwatch incidents close ID --reason TEXT` closes one by hand.

    `accelwatch incidents note ID TEXT` adds a line to the history of one.
    """
    arguments = tokens or []
    _refuse_empty(arguments)
    if flags.count is not None and flags.watch is None:
        raise UsageError("--count goes with --watch")
    if flags.watch is not None and arguments[:1] in (["close"], ["note"]):
        raise UsageError(f"--watch shows incidents again; {arguments[0]} is done once")
    if len(arguments) == 2 and arguments[0] == "close":
        raise click.exceptions.Exit(close_incident(arguments[1], closing, flags.as_json, hub))
    if len(arguments) == 3 and arguments[0] == "note" and closing.reason is None:
        raise click.exceptions.Exit(
            note_incident(arguments[1], arguments[2], closing.by, flags.as_json, hub)
        )
    if len(arguments) == 2 and arguments[0] == "show":
        arguments = arguments[1:]
    if len(arguments) > 1 or arguments in (["close"], ["show"], ["note"]):
        raise UsageError(_USAGE)
    if closing.reason is not None or closing.by is not None:
        raise UsageError("--reason and --by are for: accelwatch incidents close ID")
    raise click.exceptions.Exit(show_incidents(arguments[0] if arguments else None, flags, hub))


def _refuse_empty(arguments: list[str]) -> None:
    for position, text in enumerate(arguments):
        if not text.strip():
            name = "TEXT" if position == _TEXT_POSITION else "ID"
            raise UsageError(f"{name} is empty; {_USAGE}")


def close_incident(id_: str, closing: ClosingFlags, as_json: bool, hub: HubFlags) -> int:
    """Close an incident by hand. Raises AccelwatchError."""
    if not closing.reason:
        raise UsageError("--reason TEXT is required; it is kept in the audit log")
    document = {"reason": closing.reason, "by": who(closing.by)}
    path = f"/v1/incidents/{quote(id_, safe='')}/close"
    answer = changed(hub, "POST", path, document=document)
    closed = decoded(answer, Closed)
    if closed.problem:
        complain(f"closed, but not written down: {closed.problem}")
    write_stdout(answer if as_json else f"{closed.id} closed\n".encode())
    return OK


def note_incident(id_: str, text: str, by: str | None, as_json: bool, hub: HubFlags) -> int:
    """Write a line into an incident's history. Raises AccelwatchError."""
    path = f"/v1/incidents/{quote(id_, safe='')}/note"
    answer = changed(hub, "POST", path, document={"text": text, "by": who(by)})
    written = decoded(answer, NoteWritten)
    if written.problem:
        complain(f"noted, but not written down: {written.problem}")
    write_stdout(answer if as_json else f"{written.id}: {written.text}\n".encode())
    return OK


def show_incidents(id_: str | None, flags: IncidentFlags, hub: HubFlags) -> int:
    """Print a line an incident, or all of one; with --watch every interval. Raises AccelwatchError."""
    interval_s, due = flags.interval_s, time.monotonic()
    complained: list[str] = []
    for number in itertools.count(1):
        try:
            document, graphs = _fetch(id_, flags, hub)
        except AccelwatchError as error:
            # A restarting hub will answer again: it is polled until the last time.
            if number == 1 or interval_s is None or number == flags.count:
                raise
            if complained != [str(error)]:
                complain(str(error))
            complained = [str(error)]
            time.sleep(interval_s)
            continue
        if flags.as_json:
            write_stdout(document)
        else:
            complaints, text = _text(id_, document, graphs, with_time=interval_s is not None)
            # A complaint that lasts is not repeated every interval.
            if complaints != complained:
                for complaint in complaints:
                    complain(complaint)
                complained = complaints
            write_stdout(text)
        if interval_s is None or number == flags.count:
            break
        # An answer that outlasted the interval is followed by the next at once.
        now = time.monotonic()
        due = max(due + interval_s, now)
        time.sleep(due - now)
    return OK


def _fetch(
    id_: str | None, flags: IncidentFlags, hub: HubFlags
) -> "tuple[bytes, IncidentGraphs | None]":
    """The document, and of one incident for people its evidence beside the peers."""
    if id_ is None:
        query = {"state": flags.state, "severity": flags.severity, "node": flags.node}
        requested = {key: value for key, value in query.items() if value is not None}
        return fetch_page(hub, "/v1/incidents", requested), None
    path = f"/v1/incidents/{quote(id_, safe='')}"
    if flags.as_json:
        return fetch_page(hub, path, {}), None

    async def request(session: "Requests") -> "tuple[bytes, IncidentGraphs | None]":
        from accelwatch.fleet.hub_client.graphs import graphs_of

        return await session.document(path, {}), await graphs_of(session, id_)

    return fetch(hub, request)


def _text(
    id_: str | None, document: bytes, graphs: "IncidentGraphs | None", *, with_time: bool
) -> tuple[list[str], bytes]:
    """What is to be complained of, and what people read; with a heading that has the time."""
    from accelwatch.cli.incidents.incident_lines import incident_text, table
    from accelwatch.schema.timestamps import timestamp

    if id_ is not None:
        complaints, count, text = [], 1, incident_text(decoded(document, IncidentDocument), graphs)
    else:
        page = decoded(document, IncidentsPage)
        complaints, count, text = list(page.problems), len(page.incidents), table(page.incidents)
        if not page.evaluated:
            complaints.append("there are no rules here (docs/rules.md)")
        elif not page.incidents:
            complaints.append(f"nothing; {page.rules} rules are in force")
    if not with_time:
        return complaints, text
    heading = f"{timestamp(time.time())}  {count} incident{'' if count == 1 else 's'}\n"
    return complaints, heading.encode() + text
