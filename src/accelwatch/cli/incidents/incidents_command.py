"""`accelwatch incidents`: what the rules of a hub, or of one node's agent, have found."""

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import quote

import click
import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument, IncidentsPage
from accelwatch.alerting.evaluation.silences.documents import Closed, NoteWritten
from accelwatch.base.errors import UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.hub_requests import HubFlags, changed, fetch_page, who
from accelwatch.cli.options import command
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import argument, option
from accelwatch.fleet.hub_client.documents import decoded

_USAGE = (
    "write: accelwatch incidents [ID], accelwatch incidents close ID,"
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
            help="With close and note: who you are, where the hub has no logins.",
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
            help="One incident with its history, its end, or a line for its history.",
        ),
    ] = None,
) -> None:
    """Show incidents of a hub or agent: all that are open, or one by its id.

    `accelwatch incidents close ID --reason TEXT` closes one by hand; `accelwatch incidents note ID TEXT`
    adds a line to its history.
    """
    arguments = tokens or []
    _refuse_empty(arguments)
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
    """Print a line an incident, or all of one. Raises AccelwatchError."""
    if id_ is not None:
        document = fetch_page(hub, f"/v1/incidents/{quote(id_, safe='')}", {})
        text = document if flags.as_json else _incident_text(decoded(document, IncidentDocument))
        write_stdout(text)
        return OK
    query = {"state": flags.state, "severity": flags.severity, "node": flags.node}
    document = fetch_page(hub, "/v1/incidents", {k: v for k, v in query.items() if v is not None})
    if flags.as_json:
        write_stdout(document)
        return OK
    page = decoded(document, IncidentsPage)
    for problem in page.problems:
        complain(problem)
    if not page.evaluated:
        complain("there are no rules here (docs/rules.md)")
    elif not page.incidents:
        complain(f"nothing; {page.rules} rules are in force")
    write_stdout(_table(page.incidents))
    return OK


def muted_by(incident: IncidentDocument) -> str:
    """Why nobody is notified of it, in few words."""
    mute = incident.muted_by
    return "" if mute is None else f"{mute.kind} {mute.id}: {mute.reason}"


def _trust(incident: IncidentDocument) -> str:
    """How far its evidence is vouched for; an older hub does not say."""
    from accelwatch.schema.provenance import provenance_text

    if not incident.trusted:
        return "none: any user of that node who may write to the kernel log can forge this"
    provenance = incident.provenance
    return f"{provenance}: {provenance_text(provenance)}" if provenance else ""


def _aside(incident: IncidentDocument) -> str:
    asides = []
    if incident.group_incident:
        asides.append(f"part of {incident.group_incident}")
    elif incident.follows:
        asides.append(f"follows {incident.follows}")
    if incident.left_to_do:
        asides.append(f"needs a person: {incident.left_to_do}")
    if mute := muted_by(incident):
        asides.append(f"muted by {mute}")
    return f"  ({', '.join(asides)})" if asides else ""


def _table(incidents: Sequence[IncidentDocument]) -> bytes:
    from accelwatch.base.untrusted_text import printable
    from accelwatch.cli.table_lines import columns
    from accelwatch.fleet.picture.incidents import location_of

    if not incidents:
        return b""
    rows = [
        [
            incident.id,
            incident.severity if incident.state == "open" else "resolved",
            incident.since.partition(".")[0].removesuffix("Z") + "Z",
            printable(location_of(incident)),
            printable(_several(incident.jobs)),
            printable(_several(incident.users)),
            printable(incident.title + _aside(incident)),
        ]
        for incident in incidents
    ]
    header = ["ID", "SEVERITY", "SINCE", "WHERE", "JOB", "USER", "TITLE"]
    return "".join(f"{line}\n" for line in columns([header, *rows])).encode()


def _several(names: Sequence[str]) -> str:
    """The first, and how many more; a dash where there is none."""
    more = f" +{len(names) - 1}" if len(names) > 1 else ""
    return f"{names[0]}{more}" if names else "-"


def _incident_text(incident: IncidentDocument) -> bytes:
    from accelwatch.base.untrusted_text import printable
    from accelwatch.fleet.picture.incidents import location_of

    lines = [
        f"{incident.id}  {incident.severity}  {incident.state}  {incident.title}",
        f"where      {location_of(incident)}",
        f"since      {incident.since}",
    ]
    fields = {
        "closed": incident.closed,
        "device": " ".join(filter(None, (incident.model, incident.serial))),
        "jobs": ", ".join(incident.jobs),
        "users": ", ".join(incident.users),
        "what to do": incident.what_to_do,
        "advice": incident.advice,
        "runbook": incident.runbook,
        "rule": ", ".join(incident.rules),
        "source": incident.source,
        "trust": _trust(incident),
        "part of": incident.group_incident,
        "follows": incident.follows,
        "muted by": muted_by(incident),
    }
    lines += [f"{name:11}{value}" for name, value in fields.items() if value]
    lines += [f"evidence   {record.text}" for record in incident.evidence]
    for entry in incident.timeline:
        actor = f" (by {entry.actor})" if entry.actor else ""
        lines.append(f"{entry.time}  {entry.kind:9} {entry.text}{actor}")
    return "".join(f"{printable(line)}\n" for line in lines).encode()
