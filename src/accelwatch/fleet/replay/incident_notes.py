"""The incidents of a recorded time as a hub would have sent them: nothing of what came later. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence

from accelwatch.alerting.evaluation.documents import EvidenceNote, IncidentDocument, TimelineNote
from accelwatch.alerting.incidents.model.incident import IncidentState, TimelineKind
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.rules.finding_evidence import SOURCE
from accelwatch.fleet.picture.timeline import ALERT, INFO, LEVELS, WATCH, Marker
from accelwatch.fleet.replay.reading.slot_registry import short_name
from accelwatch.fleet.wire import MOST_CLOSED, MOST_NAMES, MOST_OPEN, IncidentNow, RulesNow
from accelwatch.schema.timestamps import timestamp, timestamp_or_none

# How long ago one may be over to be shown.
LATELY_S = 7 * 86_400.0
_SEVERITIES = {ALERT: Severity.CRITICAL, WATCH: Severity.WARNING, INFO: Severity.INFO}


def rules_now(incidents: Iterable[IncidentNow]) -> RulesNow:
    """How judging stood; how many rules there were, nobody says."""
    open_counts = Counter(
        entry.incident.severity for entry in incidents if entry.incident.state == IncidentState.OPEN
    )
    return RulesNow(
        evaluated=True,
        rules=0,
        problems=(),
        open=dict(open_counts),
        muted=0,
        omitted=0,
        is_reset=False,
    )


def incidents_at(markers: Sequence[Marker], now: float) -> tuple[IncidentNow, ...]:
    """The incidents that were open at `now` (Unix seconds), and those that were over lately."""
    started = [marker for marker in markers if marker.opened <= now]
    going_on = [marker for marker in started if _is_open(marker, now)]
    over = [
        marker
        for marker in started
        if marker.closed is not None and now - LATELY_S <= marker.closed <= now
    ]
    over.sort(key=lambda marker: marker.closed or 0.0)
    going_on.sort(key=lambda marker: LEVELS.index(marker.level))
    shown = [*going_on[:MOST_OPEN], *over[-MOST_CLOSED:]]
    return tuple(_now(marker, now) for marker in shown)


def _is_open(marker: Marker, now: float) -> bool:
    return marker.closed is None or marker.closed > now


def _now(marker: Marker, now: float) -> IncidentNow:
    nodes = marker.nodes or ((marker.node,) if marker.node else ())
    return IncidentNow(
        incident=_document(marker, now, nodes[:MOST_NAMES]),
        nodes_total=len(nodes),
        members_total=0,
    )


def _document(marker: Marker, now: float, nodes: tuple[str, ...]) -> IncidentDocument:
    closed = None if _is_open(marker, now) else marker.closed
    group = marker.scope == "group"
    return IncidentDocument(
        id=f"{marker.opened:.0f}-{marker.rule}-{marker.node or marker.job}",
        state=(IncidentState.OPEN if closed is None else IncidentState.CLOSED).value,
        severity=_SEVERITIES[marker.level].value,
        confidence="",
        rule=marker.rule,
        rules=marker.rules or (marker.rule,),
        family="",
        title=marker.rule,
        scope=marker.scope,
        node="" if group else marker.node,
        device=marker.device,
        device_name=short_name(marker.device) if marker.device else "",
        model="",
        serial="",
        vendor=marker.device.partition(":")[0],
        job=marker.job if marker.scope == "job" else "",
        rack="",
        group=f"{len(nodes)} nodes" if group else "",
        group_incident="",
        members=(),
        nodes=nodes,
        jobs=(marker.job,) if marker.job else (),
        users=(),
        labels={},
        since=timestamp(
            min([marker.opened, *(reason.since for reason in marker.reasons if reason.since)])
        ),
        opened=timestamp(marker.opened),
        updated=timestamp(marker.opened if closed is None else closed),
        closed=timestamp_or_none(closed),
        reopened=0,
        trusted=True,
        advice=marker.advice,
        what_to_do="",
        runbook="",
        source="back-test",
        evidence=tuple(_evidence(marker)),
        timeline=tuple(_timeline(marker, closed)),
    )


def _evidence(marker: Marker) -> Iterable[EvidenceNote]:
    if marker.sentence:
        yield EvidenceNote(
            signal=SOURCE,
            text=marker.sentence,
            value=None,
            expected=None,
            since=None,
            source=SOURCE,
            trusted=True,
        )
    for reason in marker.reasons:
        text = (
            reason.signal
            if reason.value is None
            else f"{reason.signal} is {_formatted(reason.value)}"
        )
        more = "" if reason.expected is None else f", {_formatted(reason.expected)} expected"
        yield EvidenceNote(
            signal=reason.signal,
            text=text + more,
            value=reason.value,
            expected=reason.expected,
            since=timestamp_or_none(reason.since),
            source="",
            trusted=True,
        )


def _formatted(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"


def _timeline(marker: Marker, closed: float | None) -> Iterable[TimelineNote]:
    yield TimelineNote(
        time=timestamp(marker.opened), kind=TimelineKind.OPENED.value, text=marker.level, actor=""
    )
    if closed is not None:
        yield TimelineNote(
            time=timestamp(closed), kind=TimelineKind.CLOSED.value, text="", actor=""
        )
