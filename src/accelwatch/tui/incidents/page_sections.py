"""The sections of an incident's page: evidence, history, members, the rule now. Pure."""

from collections.abc import Iterable

from accelwatch.alerting.evaluation.documents import EvidenceNote, TimelineNote
from accelwatch.alerting.evaluation.explanation import ExplanationRow
from accelwatch.fleet.picture.incidents import location_of, seconds_of, status_of
from accelwatch.schema.display import duration, printable
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, fit, paragraph, width_of
from accelwatch.tui.drawing.severity_signs import severity_role, severity_sign
from accelwatch.tui.drawing.times import when
from accelwatch.tui.incidents.facts import IncidentFacts

_TRUTH_ROLES = {"true": "bad", "false": "ok", "unknown": "warn"}
_TIMELINE_ROLES = {
    "opened": "bad",
    "rose": "bad",
    "reopened": "bad",
    "closed": "ok",
    "blind": "warn",
}


def _title(title: str, width: int, glyphs: Glyphs) -> list[Line]:
    head: Line = [(f" {title} ", "head")]
    rule: Line = [(glyphs.rule * max(width - width_of(head) - 1, 0), "rule")]
    return [[], [*head, *rule]]


def evidence_lines(facts: IncidentFacts, width: int, glyphs: Glyphs) -> Iterable[Line]:
    """What the rule has seen, and how the peers compare."""
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

    A value that a rule tests by `==` is what it found, and not what is to be.
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


def timeline_lines(facts: IncidentFacts, width: int, glyphs: Glyphs) -> Iterable[Line]:
    """What happened to the incident, oldest first."""
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


def member_lines(facts: IncidentFacts, width: int, glyphs: Glyphs) -> Iterable[Line]:
    """The incidents of the same cause."""
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


def explanation_lines(facts: IncidentFacts, width: int, glyphs: Glyphs) -> Iterable[Line]:
    """The rule condition by condition, with the values of now."""
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
        yield _component_line(component, width, glyphs)


def _component_line(component: ExplanationRow, width: int, glyphs: Glyphs) -> Line:
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
    return [(" ", "text"), *truth, (shown, "text"), (f"  {more}", "dim")]


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
