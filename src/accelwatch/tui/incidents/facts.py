"""Everything about an incident as lines: where, since when, whose job, evidence, history, rule. Pure."""

from collections.abc import Iterable, Sequence

import msgspec

from accelwatch.alerting.evaluation.documents import EvidenceNote, IncidentDocument, TimelineNote
from accelwatch.alerting.evaluation.explanation import Explanation, ExplanationRow
from accelwatch.fleet.picture.incidents import MUTED, OVER, location_of, seconds_of, status_of
from accelwatch.fleet.wire import IncidentNow
from accelwatch.schema.display import duration, printable
from accelwatch.schema.provenance import Provenance, provenance_text
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit, paragraph, width_of
from accelwatch.tui.drawing.severity_signs import severity_role, severity_sign
from accelwatch.tui.drawing.times import when
from accelwatch.tui.incidents import remedy_facts
from accelwatch.tui.incidents.remedy_facts import RemedyFacts

# Cells of what stands before each fact.
_HEAD = 12
_TRUTH_ROLES = {"true": "bad", "false": "ok", "unknown": "warn"}
_TIMELINE_ROLES = {
    "opened": "bad",
    "rose": "bad",
    "reopened": "bad",
    "closed": "ok",
    "blind": "warn",
}


class IncidentFacts(msgspec.Struct, frozen=True, kw_only=True):
    """An incident and what is known around it."""

    current: IncidentNow
    # Unix seconds.
    now: float
    # Whether the hub tells of it no more.
    gone: bool = False
    # Those of its members that the hub tells.
    members: Sequence[IncidentNow] = ()
    explanation: Explanation | None = None
    # Why there is no explanation.
    unexplained: str = ""
    # The signals beside those of the peers, in words.
    compared: Sequence[str] = ()
    # Why there is no graph of a signal.
    ungraphed: Sequence[str] = ()
    # What is done about it.
    remedy: RemedyFacts = RemedyFacts()


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
            *_evidence(facts, width, glyphs),
            *_timeline(facts, width, glyphs),
            *_members(facts, width, glyphs),
            *_explained(facts, width, glyphs),
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
    if facts.gone:
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
            yield from _fact(name, texts[name], roles.get(name, "text"), width, glyphs)


def _doubts(facts: IncidentFacts, width: int, glyphs: Glyphs) -> Iterable[Line]:
    """How far it can be trusted."""
    incident = facts.current.incident
    if incident.trusted and incident.provenance not in ("", Provenance.AUTHENTICATED):
        yield from _fact("trust", provenance_text(incident.provenance), "text", width, glyphs)
    if not incident.trusted:
        text = "any user of the node could have written this; it is shown, and nothing acts on it"
        yield from _fact("doubt", text, "warn", width, glyphs)


def _fact(name: str, text: str, role: str, width: int, glyphs: Glyphs) -> list[Line]:
    head = f" {fit(name, _HEAD)}"
    rows = paragraph(head, text, role, width, glyphs)
    return [[(head_text, "dim"), *rest] for (head_text, _), *rest in rows]


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


def _title(title: str, width: int, glyphs: Glyphs) -> list[Line]:
    head: Line = [(f" {title} ", "head")]
    rule: Line = [(glyphs.rule * max(width - width_of(head) - 1, 0), "rule")]
    return [[], [*head, *rule]]


def _evidence(facts: IncidentFacts, width: int, glyphs: Glyphs) -> Iterable[Line]:
    incident = facts.current.incident
    if not incident.evidence:
        return
    yield from _title("Evidence", width, glyphs)
    for note in incident.evidence:
        yield from paragraph(f" {glyphs.dot} ", _note_text(note), "text", width, glyphs)
        more = _more(note, facts.now, glyphs)
        if more:
            yield from paragraph("   ", more, "dim", width, glyphs)
    for comparison in facts.compared:
        yield from paragraph("   ", comparison, "dim", width, glyphs)
    for why in facts.ungraphed:
        yield from paragraph("   ", why, "faint", width, glyphs)


def _note_text(note: EvidenceNote) -> str:
    return note.text or note.signal


def _more(note: EvidenceNote, now: float, glyphs: Glyphs) -> str:
    """Value and what was expected as the rule had them, in base units; since when; from where.

    What a rule asks for by `==` is what it has met, and not what is to be.
    """
    details = []
    if note.value is not None:
        details.append(f"value {_plain(note.value)}")
    if note.expected is not None and note.expected != note.value:
        details.append(f"expected {_plain(note.expected)}")
    if note.since:
        details.append(f"since {when(seconds_of(note.since), now)}")
    if note.source:
        details.append(f"from {note.source}")
    if not note.trusted:
        details.append("written by user space")
    return f" {glyphs.dot} ".join(details)


def _timeline(facts: IncidentFacts, width: int, glyphs: Glyphs) -> Iterable[Line]:
    incident = facts.current.incident
    yield from _title("History", width, glyphs)
    first = TimelineNote(time=incident.since, kind="began", text="what is wrong began", actor="")
    for note in (first, *incident.timeline):
        head: Line = [
            (f" {fit(when(seconds_of(note.time), facts.now), 14)} ", "dim"),
            (f"{fit(note.kind, 9)} ", _TIMELINE_ROLES.get(note.kind, "text")),
        ]
        by = f" ({note.actor})" if note.actor else ""
        indent = " " * width_of(head)
        rows = paragraph(indent, f"{note.text}{by}", "text", width, glyphs)
        yield [*head, *rows[0][1:]]
        yield from rows[1:]


def _members(facts: IncidentFacts, width: int, glyphs: Glyphs) -> Iterable[Line]:
    total = facts.current.members_total or len(facts.members)
    if not total:
        return
    title = f"{total} members" if facts.current.members_total else f"{total} of the same cause"
    yield from _title(title, width, glyphs)
    for member in facts.members:
        incident = member.incident
        status = status_of(incident)
        yield [
            (f" {severity_sign(incident.severity, glyphs)} ", severity_role(incident.severity)),
            (fit(status, 6), "dim"),
            (fit(printable(location_of(incident), ascii_only=glyphs.ascii_only), 28), "strong"),
            (f" {printable(incident.title, ascii_only=glyphs.ascii_only)}", "text"),
        ]
    left = total - len(facts.members)
    if left > 0:
        yield [(f"   and {left} more that the hub no longer lists", "dim")]


def _explained(facts: IncidentFacts, width: int, glyphs: Glyphs) -> Iterable[Line]:
    yield from _title("The rule now, part by part", width, glyphs)
    explanation = facts.explanation
    if explanation is None:
        why = facts.unexplained or "waiting for the hub"
        yield from paragraph(" ", why, "dim", width, glyphs)
        return
    phase = explanation.phase
    duration_text = "" if explanation.phase_s is None else f" for {duration(explanation.phase_s)}"
    yield [
        (f" {explanation.rule} on ", "dim"),
        (printable(location_of(facts.current.incident), ascii_only=glyphs.ascii_only), "text"),
        (f": {phase}{duration_text}", "dim"),
    ]
    key = ""
    for component in explanation.components:
        if component.key != key:
            key = component.key
            yield [(f" {key}", "key")]
        yield from _component(component, width, glyphs)


def _component(component: ExplanationRow, width: int, glyphs: Glyphs) -> Iterable[Line]:
    value_text = (
        ""
        if component.value is None or isinstance(component.value, bool)
        else component.shown or _plain(component.value)
    )
    right = component.reason or value_text
    truth: Line = [(fit(component.truth or "", 8), _TRUTH_ROLES.get(component.truth, "dim"))]
    text = "  " * (component.depth + 1) + printable(component.text, ascii_only=glyphs.ascii_only)
    room = max(width - 10 - min(len(right), width // 3) - 2, 12)
    shown = fit(text, room, ellipsis=glyphs.ellipsis)
    more = printable(right, ascii_only=glyphs.ascii_only)
    yield [(" ", "text"), *truth, (shown, "text"), (f"  {more}", "dim")]


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
