"""The text of an incident's notice, in the words of somebody who is woken by it."""

from collections.abc import Iterator
from datetime import UTC, datetime

from accelwatch.alerting.incidents.model.incident import Incident, TimelineKind
from accelwatch.alerting.sink import ApprovalRequest, Notice, NoticeKind
from accelwatch.base.untrusted_text import printable

MOST_EVIDENCE = 3
MOST_DONE = 3
# Lines of what was done: a message that it is over has the whole course.
MOST_AT_END = 8
_NOTES = frozenset({TimelineKind.NOTE, TimelineKind.CALL})
# Nodes named for an incident that concerns many; then their number follows.
MOST_NODES = 12


def notice_of(
    incident: Incident,
    kind: NoticeKind,
    *,
    sequence: int,
    hub: str = "",
    link: str = "",
    requests: tuple[ApprovalRequest, ...] = (),
    not_done: str = "",
) -> Notice:
    """The notice; `hub` distinguishes incidents of several hubs, `link` is where it is shown."""
    facts = incident.facts
    return Notice(
        key=f"{hub}/{incident.id}" if hub else incident.id,
        sequence=sequence,
        kind=kind,
        severity=incident.severity,
        title=printable(incident.title),
        where=where(incident),
        since=incident.since,
        time=incident.updated,
        closed=incident.closed,
        evidence=tuple(printable(line.text) for line in incident.evidence[:MOST_EVIDENCE]),
        jobs=tuple(printable(job) for job in facts.jobs),
        users=tuple(printable(user) for user in facts.users),
        nodes=tuple(printable(node) for node in incident.nodes),
        what_to_do=printable(incident.what_to_do),
        runbook=incident.runbook,
        rule=incident.rule,
        source=printable(incident.source),
        link=link,
        trusted=incident.trusted,
        labels={name: printable(value) for name, value in incident.labels().items() if value},
        asks=requests,
        returns=incident.reopened,
        done=tuple(_done(incident, MOST_AT_END if kind is NoticeKind.CLOSED else MOST_DONE)),
        not_done=printable(not_done),
    )


def _done(incident: Incident, most: int) -> Iterator[str]:
    """What the engine and people have noted last, oldest first."""
    notes = [entry for entry in incident.timeline if entry.kind in _NOTES]
    for note in notes[-most:]:
        clock = datetime.fromtimestamp(note.time, UTC).strftime("%H:%M:%S UTC")
        yield printable(f"{clock} {note.text}")


def where(incident: Incident) -> str:
    """`n12 nvidia3 (serial 1652..., rack r7)`; of a group who they are: its title says of what."""
    entity, facts = incident.entity, incident.facts
    if entity.group or not entity.node:
        named = ", ".join(incident.nodes[:MOST_NODES])
        if len(incident.nodes) > MOST_NODES:
            named += f" and {len(incident.nodes) - MOST_NODES} more"
        if entity.group and named:
            return printable(named)
        about = str(entity) or entity.scope.value
        return printable(f"{about}: {named}" if named else about)
    details = [f"serial {facts.serial}" if facts.serial else "", facts.model]
    rack = entity.rack or facts.labels.get("rack", "")
    details.append(f"rack {rack}" if rack else "")
    address = f"{entity.node} {facts.device_name or entity.device}".strip()
    detail = ", ".join(text for text in details if text)
    return printable(f"{address} ({detail})" if detail else address)
