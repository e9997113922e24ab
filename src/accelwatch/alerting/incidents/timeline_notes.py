"""Lines that people and the remediation engine write into the timelines of incidents."""

from typing import NamedTuple

from accelwatch.alerting.incidents.closed_incidents import ClosedIncidents
from accelwatch.alerting.incidents.incident_manager import IncidentManager
from accelwatch.alerting.incidents.model.incident import (
    Incident,
    TimelineEntry,
    TimelineKind,
    with_entry,
)


class Line(NamedTuple):
    """A line for an incident's history."""

    # Its id.
    incident: str
    actor: str
    text: str
    # Whether a person has to look.
    calls: bool = False


def with_line(
    line: Line,
    now: float,
    manager: IncidentManager,
    closed: ClosedIncidents,
    late: dict[str, Incident],
) -> Incident | None:
    """The incident of a line with that line; None for a group or one that is not known.

    `closed` are those that are kept after their end; `late` collects those of them that cannot come back
    any more, with the lines before.
    """
    noted = manager.note(line.incident, now, line.actor, line.text, calls=line.calls)
    if noted is not None:
        return noted
    # What is done about it may end long after it cannot come back any more.
    over = late.get(line.incident) or closed.get(line.incident)
    if over is None or over.entity.group:
        return None
    kind = TimelineKind.CALL if line.calls else TimelineKind.NOTE
    late[over.id] = with_entry(over, TimelineEntry(now, kind, line.text, line.actor))
    return late[over.id]
