"""The incidents of a recorded moment as a hub would have told them: nothing of what came later. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence

from accelwatch.alerting.evaluation.documents import EvidenceNote, IncidentDocument, MomentNote
from accelwatch.alerting.incidents.incident import IncidentState, MomentKind
from accelwatch.alerting.rules.document import Severity
from accelwatch.fleet.picture.timeline import ALERT, INFO, LEVELS, WATCH, Mark
from accelwatch.fleet.replay.places import short_name
from accelwatch.fleet.wire import MOST_CLOSED, MOST_NAMES, MOST_OPEN, IncidentNow, RulesNow
from accelwatch.schema.moments import moment_or_none, timestamp

LATELY_S = 7 * 86_400.0
"""How long ago one may be over to be shown."""
_SEVERITIES = {ALERT: Severity.CRITICAL, WATCH: Severity.WARNING, INFO: Severity.INFO}


def rules_now(told: Iterable[IncidentNow]) -> RulesNow:
    """How judging stood; how many rules there were, nobody says."""
    standing = Counter(
        one.incident.severity for one in told if one.incident.state == IncidentState.OPEN
    )
    return RulesNow(
        judged=True, rules=0, problems=(), open=dict(standing), muted=0, untold=0, anew=False
    )


def told_at(marks: Sequence[Mark], now: float) -> tuple[IncidentNow, ...]:
    """The incidents that were open at `now` (Unix seconds), and those that were over lately."""
    begun = [mark for mark in marks if mark.opened <= now]
    going_on = [mark for mark in begun if _is_open(mark, now)]
    over = [
        mark for mark in begun if mark.closed is not None and now - LATELY_S <= mark.closed <= now
    ]
    over.sort(key=lambda mark: mark.closed or 0.0)
    going_on.sort(key=lambda mark: LEVELS.index(mark.level))
    shown = [*going_on[:MOST_OPEN], *over[-MOST_CLOSED:]]
    return tuple(_now(mark, now) for mark in shown)


def _is_open(mark: Mark, now: float) -> bool:
    return mark.closed is None or mark.closed > now


def _now(mark: Mark, now: float) -> IncidentNow:
    nodes = mark.nodes or ((mark.node,) if mark.node else ())
    return IncidentNow(
        incident=_document(mark, now, nodes[:MOST_NAMES]),
        nodes_total=len(nodes),
        members_total=0,
    )


def _document(mark: Mark, now: float, nodes: tuple[str, ...]) -> IncidentDocument:
    closed = None if _is_open(mark, now) else mark.closed
    group = mark.scope == "group"
    return IncidentDocument(
        id=f"{mark.opened:.0f}-{mark.rule}-{mark.node or mark.job}",
        state=(IncidentState.OPEN if closed is None else IncidentState.CLOSED).value,
        severity=_SEVERITIES[mark.level].value,
        confidence="",
        rule=mark.rule,
        rules=mark.rules or (mark.rule,),
        family="",
        title=mark.rule,
        scope=mark.scope,
        node="" if group else mark.node,
        device=mark.device,
        device_name=short_name(mark.device) if mark.device else "",
        model="",
        serial="",
        vendor=mark.device.partition(":")[0],
        job=mark.job if mark.scope == "job" else "",
        rack="",
        group=f"{len(nodes)} nodes" if group else "",
        part_of="",
        members=(),
        nodes=nodes,
        jobs=(mark.job,) if mark.job else (),
        users=(),
        labels={},
        since=timestamp(min([mark.opened, *(one.since for one in mark.reasons if one.since)])),
        opened=timestamp(mark.opened),
        updated=timestamp(mark.opened if closed is None else closed),
        closed=moment_or_none(closed),
        reopened=0,
        trusted=True,
        advice=mark.advice,
        what_to_do="",
        runbook="",
        source="back-test",
        evidence=tuple(_evidence(mark)),
        timeline=tuple(_timeline(mark, closed)),
    )


def _evidence(mark: Mark) -> Iterable[EvidenceNote]:
    for one in mark.reasons:
        told = one.signal if one.value is None else f"{one.signal} is {_said(one.value)}"
        more = "" if one.expected is None else f", {_said(one.expected)} expected"
        yield EvidenceNote(
            signal=one.signal,
            text=told + more,
            value=one.value,
            expected=one.expected,
            since=moment_or_none(one.since),
            source="",
            trusted=True,
        )


def _said(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"


def _timeline(mark: Mark, closed: float | None) -> Iterable[MomentNote]:
    yield MomentNote(
        time=timestamp(mark.opened), kind=MomentKind.OPENED.value, text=mark.level, actor=""
    )
    if closed is not None:
        yield MomentNote(time=timestamp(closed), kind=MomentKind.CLOSED.value, text="", actor="")
