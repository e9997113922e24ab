"""The page of an incident as lines: where, since when, whose job, then its sections. Pure."""

from collections.abc import Iterable, Sequence

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.fleet.picture.incidents import MUTED, OVER, location_of, seconds_of, status_of
from accelwatch.fleet.wire import IncidentNow
from accelwatch.schema.display import duration, printable
from accelwatch.schema.provenance import Provenance, provenance_text
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped
from accelwatch.tui.drawing.severity_signs import severity_role, severity_sign
from accelwatch.tui.drawing.times import when
from accelwatch.tui.incidents import remedy_facts
from accelwatch.tui.incidents.fact_lines import fact_lines
from accelwatch.tui.incidents.facts import IncidentFacts
from accelwatch.tui.incidents.page_sections import (
    evidence_lines,
    explanation_lines,
    member_lines,
    timeline_lines,
)


def lines(facts: IncidentFacts, width: int, glyphs: Glyphs) -> list[Line]:
    """All of it."""
    return [
        clipped(line, width)
        for line in (
            *_head(facts, glyphs),
            *_facts(facts, _WHERE, width, glyphs),
            *remedy_facts.lines(facts.remedy, facts.now, width, glyphs),
            *_facts(facts, _FURTHER, width, glyphs),
            *_doubts(facts, width, glyphs),
            *evidence_lines(facts, width, glyphs),
            *timeline_lines(facts, width, glyphs),
            *member_lines(facts, width, glyphs),
            *explanation_lines(facts, width, glyphs),
        )
    ]


def _head(facts: IncidentFacts, glyphs: Glyphs) -> list[Line]:
    incident = facts.current.incident
    status = status_of(incident)
    role = "dim" if status == OVER else severity_role(incident.severity)
    sign = severity_sign(incident.severity, glyphs)
    result: list[Line] = [
        [
            (f" {sign} {incident.severity}  ", role),
            (printable(incident.title, ascii_only=glyphs.ascii_only), "title"),
            (f"  {incident.id}", "dim"),
            (f"  {_enter_hint(incident, glyphs)}", "faint"),
        ]
    ]
    if facts.is_stale:
        result.append([(" no longer updated: this is the last known state", "warn")])
    return result


def _enter_hint(incident: IncidentDocument, glyphs: Glyphs) -> str:
    """What Enter leads to."""
    node = incident.node or next(iter(incident.nodes), "")
    return f"Enter opens {printable(node, ascii_only=glyphs.ascii_only)}" if node else ""


# What is needed to understand what is done about it; the rest comes below that.
_WHERE = ("where", "since", "work", "muted")
_FURTHER = ("what to do", "advice", "runbook", "rule", "part of", "follows", "nodes")


def _facts(
    facts: IncidentFacts, names: Sequence[str], width: int, glyphs: Glyphs
) -> Iterable[Line]:
    incident = facts.current.incident
    rack = f"rack {incident.rack}" if incident.rack and not incident.group else ""
    device = (incident.model, f"serial {incident.serial}" if incident.serial else "")
    texts = {
        "where": ", ".join(filter(None, (location_of(incident), rack, *device))),
        "since": _since(incident, facts.now),
        "work": _work(incident),
        "what to do": incident.what_to_do,
        "advice": _advice(incident),
        "runbook": incident.runbook,
        "muted": _muted(incident, facts.now),
        "rule": _rules(incident),
        "part of": incident.group_incident,
        "follows": incident.follows,
        "nodes": _nodes(facts.current),
    }
    roles = {"what to do": "strong", "muted": "warn", "runbook": "accent"}
    for name in names:
        if texts[name]:
            yield from fact_lines(name, texts[name], roles.get(name, "text"), width, glyphs)


def _doubts(facts: IncidentFacts, width: int, glyphs: Glyphs) -> Iterable[Line]:
    """How far it can be trusted."""
    incident = facts.current.incident
    if incident.trusted and incident.provenance not in ("", Provenance.AUTHENTICATED):
        yield from fact_lines("trust", provenance_text(incident.provenance), "text", width, glyphs)
    if not incident.trusted:
        text = "any user of the node could have written this; it is shown, and nothing acts on it"
        yield from fact_lines("doubt", text, "warn", width, glyphs)


def _advice(incident: IncidentDocument) -> str:
    """What to do, and how sure the rule is, where it says so."""
    sure = f"confidence {incident.confidence}" if incident.confidence else ""
    return ", ".join(text for text in (incident.advice, sure) if text)


def _since(incident: IncidentDocument, now: float) -> str:
    started, opened = seconds_of(incident.since), seconds_of(incident.opened)
    closed = seconds_of(incident.closed)
    text = when(started, now)
    if closed:
        text += f", over {when(closed, now)} after {duration(max(closed - started, 0.0))}"
    else:
        text += f", {duration(max(now - started, 0.0))} ago"
    if opened - started >= 1.0:
        text += f"; fired {when(opened, now)}"
    times = "once" if incident.reopened == 1 else f"{incident.reopened} times"
    return f"{text}; has come back {times}" if incident.reopened else text


def _work(incident: IncidentDocument) -> str:
    jobs = [f"job {job}" for job in dict.fromkeys((incident.job, *incident.jobs)) if job]
    return ", ".join((*jobs, *(f"of {user}" for user in incident.users)))


def _muted(incident: IncidentDocument, now: float) -> str:
    mute = incident.muted_by
    if mute is None or status_of(incident) != MUTED:
        return ""
    until = when(seconds_of(mute.until), now)
    return f"until {until} by {mute.by} ({mute.kind} {mute.id}): {mute.reason}"


def _rules(incident: IncidentDocument) -> str:
    source = f" ({incident.source})" if incident.source else ""
    return ", ".join(incident.rules or (incident.rule,)) + source


def _nodes(current: IncidentNow) -> str:
    incident = current.incident
    if current.nodes_total <= 1:
        return ""
    named = ", ".join(incident.nodes[:12])
    more = current.nodes_total - min(len(incident.nodes), 12)
    return f"{named} and {more} more" if more > 0 else named
