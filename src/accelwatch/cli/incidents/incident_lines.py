"""Incidents as people read them: a table, and all of one."""

from collections.abc import Sequence

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.base.untrusted_text import printable
from accelwatch.cli.table_lines import columns
from accelwatch.fleet.documents.graphs import IncidentGraphs
from accelwatch.fleet.picture.graph_text import captions
from accelwatch.fleet.picture.incidents import location_of
from accelwatch.schema.provenance import provenance_text


def muted_by(incident: IncidentDocument) -> str:
    """Why nobody is notified of it, in few words."""
    mute = incident.muted_by
    return "" if mute is None else f"{mute.kind} {mute.id}: {mute.reason}"


def _trust(incident: IncidentDocument) -> str:
    """How far its evidence is vouched for; an older hub does not say."""
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


def table(incidents: Sequence[IncidentDocument]) -> bytes:
    """A line an incident below a heading; nothing where there is none."""
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


def incident_text(incident: IncidentDocument, graphs: IncidentGraphs | None = None) -> bytes:
    """All of one incident, with its history; `graphs` are its evidence beside the peers."""
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
    lines += [f"compared   {text}" for text in (captions(graphs) if graphs is not None else ())]
    for entry in incident.timeline:
        actor = f" (by {entry.actor})" if entry.actor else ""
        lines.append(f"{entry.time}  {entry.kind:9} {entry.text}{actor}")
    return "".join(f"{printable(line)}\n" for line in lines).encode()
