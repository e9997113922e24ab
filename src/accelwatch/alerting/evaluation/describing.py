"""How incidents become the documents of the API."""

from accelwatch.alerting.evaluation.documents import (
    EvidenceNote,
    IncidentDocument,
    MuteNote,
    TimelineNote,
)
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.muting import Mute
from accelwatch.schema.timestamps import timestamp, timestamp_or_none


def document_of(incident: Incident, mute: Mute | None = None) -> IncidentDocument:
    """An incident as the API returns it, and why it is muted."""
    entity, facts = incident.entity, incident.facts
    return IncidentDocument(
        id=incident.id,
        state=incident.state.value,
        severity=incident.severity.value,
        confidence=incident.confidence.value,
        rule=incident.rule,
        rules=incident.rules,
        family=incident.family,
        title=incident.title,
        scope=entity.scope.value,
        node=entity.node,
        device=entity.device,
        device_name=facts.device_name,
        model=facts.model,
        serial=facts.serial,
        vendor=facts.vendor,
        job=entity.job,
        rack=entity.rack or facts.labels.get("rack", ""),
        group=entity.group,
        group_incident=incident.group,
        members=incident.members,
        nodes=incident.nodes,
        jobs=facts.jobs,
        users=facts.users,
        labels=dict(facts.labels),
        since=timestamp(incident.since),
        opened=timestamp(incident.opened),
        updated=timestamp(incident.updated),
        closed=timestamp_or_none(incident.closed),
        reopened=incident.reopened,
        trusted=incident.trusted,
        advice=incident.advice.value,
        what_to_do=incident.what_to_do,
        runbook=incident.runbook,
        source=incident.source,
        evidence=tuple(
            EvidenceNote(
                signal=line.signal,
                text=line.text,
                value=line.value,
                expected=line.expected,
                since=timestamp_or_none(line.since),
                source=line.source,
                trusted=line.trusted,
            )
            for line in incident.evidence
        ),
        timeline=tuple(
            TimelineNote(
                time=timestamp(entry.time),
                kind=entry.kind.value,
                text=entry.text,
                actor=entry.actor,
            )
            for entry in incident.timeline
        ),
        follows=incident.follows,
        provenance=incident.provenance.value,
        left_to_do=incident.left_to_do,
        muted_by=None if mute is None else _noted(mute),
    )


def _noted(mute: Mute) -> MuteNote:
    return MuteNote(
        id=mute.id,
        kind=mute.kind,
        reason=mute.reason,
        by=mute.by,
        until=timestamp(mute.until),
    )
