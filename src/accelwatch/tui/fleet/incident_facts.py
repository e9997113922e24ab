"""Everything about an incident as lines: where, since when, whose job, evidence, history, rule. Pure."""

from collections.abc import Iterable, Sequence

import msgspec

from accelwatch.alerting.evaluation.documents import EvidenceNote, IncidentDocument, MomentNote
from accelwatch.alerting.evaluation.explanation import Explanation, PartRow
from accelwatch.exposition.display import duration, printable
from accelwatch.fleet.picture.incidents import MUTED, OVER, moment, place_of, standing
from accelwatch.fleet.wire import IncidentNow
from accelwatch.schema.provenance import Provenance, said
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit, paragraph, width_of
from accelwatch.tui.fleet import remedy_facts
from accelwatch.tui.fleet.moments import when
from accelwatch.tui.fleet.remedy_facts import RemedyFacts
from accelwatch.tui.fleet.severities import severity_role, severity_sign

_HEAD = 12
"""Cells of what stands before each fact."""
_TRUTH_ROLES = {"true": "bad", "false": "ok", "unknown": "warn"}
_MOMENT_ROLES = {"opened": "bad", "rose": "bad", "reopened": "bad", "closed": "ok", "blind": "warn"}


class IncidentFacts(msgspec.Struct, frozen=True, kw_only=True):
    """An incident and what is known around it."""

    told: IncidentNow
    now: float
    """Unix seconds."""
    gone: bool = False
    """Whether the hub tells of it no more."""
    members: Sequence[IncidentNow] = ()
    """Those of its members that the hub tells."""
    explanation: Explanation | None = None
    unexplained: str = ""
    """Why there is no explanation."""
    ungraphed: Sequence[str] = ()
    """Why there is no graph of a signal."""
    remedy: RemedyFacts = RemedyFacts()
    """What is done about it."""


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
    incident = facts.told.incident
    word = standing(incident)
    role = "dim" if word == OVER else severity_role(incident.severity)
    sign = severity_sign(incident.severity, glyphs)
    given: list[Line] = [
        [
            (f" {sign} {incident.severity}  ", role),
            (printable(incident.title, ascii_only=glyphs.ascii_only), "title"),
            (f"  {incident.id}", "dim"),
            (f"  {_way(incident, glyphs)}", "faint"),
        ]
    ]
    if facts.gone:
        given.append([(" no longer updated: this is the last known state", "warn")])
    return given


def _way(incident: IncidentDocument, glyphs: Glyphs) -> str:
    """What Enter leads to."""
    node = incident.node or next(iter(incident.nodes), "")
    return f"Enter opens {printable(node, ascii_only=glyphs.ascii_only)}" if node else ""


_WHERE = ("where", "since", "work", "muted")
"""What is needed to understand what is done about it; the rest comes below that."""
_FURTHER = ("what to do", "advice", "runbook", "rule", "part of", "follows", "nodes")


def _facts(
    facts: IncidentFacts, names: Sequence[str], width: int, glyphs: Glyphs
) -> Iterable[Line]:
    incident = facts.told.incident
    rack = f"rack {incident.rack}" if incident.rack and not incident.group else ""
    device = (incident.model, f"serial {incident.serial}" if incident.serial else "")
    told = {
        "where": ", ".join(filter(None, (place_of(incident), rack, *device))),
        "since": _since(incident, facts.now),
        "work": _work(incident),
        "what to do": incident.what_to_do,
        "advice": _advice(incident),
        "runbook": incident.runbook,
        "muted": _muted(incident, facts.now),
        "rule": _rules(incident),
        "part of": incident.part_of,
        "follows": incident.follows,
        "nodes": _nodes(facts.told),
    }
    roles = {"what to do": "strong", "muted": "warn", "runbook": "accent"}
    for name in names:
        if told[name]:
            yield from _fact(name, told[name], roles.get(name, "text"), width, glyphs)


def _doubts(facts: IncidentFacts, width: int, glyphs: Glyphs) -> Iterable[Line]:
    """How far it can be trusted."""
    incident = facts.told.incident
    if incident.trusted and incident.provenance not in ("", Provenance.AUTHENTICATED):
        yield from _fact("trust", said(incident.provenance), "text", width, glyphs)
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
    return ", ".join(part for part in (incident.advice, sure) if part)


def _since(incident: IncidentDocument, now: float) -> str:
    began, opened = moment(incident.since), moment(incident.opened)
    closed = moment(incident.closed)
    text = when(began, now)
    if closed:
        text += f", over {when(closed, now)} after {duration(max(closed - began, 0.0))}"
    else:
        text += f", {duration(max(now - began, 0.0))} ago"
    if opened - began >= 1.0:
        text += f"; fired {when(opened, now)}"
    times = "once" if incident.reopened == 1 else f"{incident.reopened} times"
    return f"{text}; has come back {times}" if incident.reopened else text


def _work(incident: IncidentDocument) -> str:
    jobs = [f"job {job}" for job in dict.fromkeys((incident.job, *incident.jobs)) if job]
    return ", ".join((*jobs, *(f"of {user}" for user in incident.users)))


def _muted(incident: IncidentDocument, now: float) -> str:
    mute = incident.muted_by
    if mute is None or standing(incident) != MUTED:
        return ""
    return (
        f"until {when(moment(mute.until), now)} by {mute.by} ({mute.kind} {mute.id}): {mute.reason}"
    )


def _rules(incident: IncidentDocument) -> str:
    source = f" ({incident.source})" if incident.source else ""
    return ", ".join(incident.rules or (incident.rule,)) + source


def _nodes(told: IncidentNow) -> str:
    incident = told.incident
    if told.nodes_total <= 1:
        return ""
    named = ", ".join(incident.nodes[:12])
    more = told.nodes_total - min(len(incident.nodes), 12)
    return f"{named} and {more} more" if more > 0 else named


def _title(title: str, width: int, glyphs: Glyphs) -> list[Line]:
    head: Line = [(f" {title} ", "head")]
    rule: Line = [(glyphs.rule * max(width - width_of(head) - 1, 0), "rule")]
    return [[], [*head, *rule]]


def _evidence(facts: IncidentFacts, width: int, glyphs: Glyphs) -> Iterable[Line]:
    incident = facts.told.incident
    if not incident.evidence:
        return
    yield from _title("Evidence", width, glyphs)
    for note in incident.evidence:
        yield from paragraph(f" {glyphs.dot} ", _said(note), "text", width, glyphs)
        more = _more(note, facts.now, glyphs)
        if more:
            yield from paragraph("   ", more, "dim", width, glyphs)
    for why in facts.ungraphed:
        yield from paragraph("   ", why, "faint", width, glyphs)


def _said(note: EvidenceNote) -> str:
    return note.text or note.signal


def _more(note: EvidenceNote, now: float, glyphs: Glyphs) -> str:
    """Value and what was expected as the rule had them, in base units; since when; from where.

    What a rule asks for by `==` is what it has met, and not what is to be.
    """
    parts = []
    if note.value is not None:
        parts.append(f"value {_plain(note.value)}")
    if note.expected is not None and note.expected != note.value:
        parts.append(f"expected {_plain(note.expected)}")
    if note.since:
        parts.append(f"since {when(moment(note.since), now)}")
    if note.source:
        parts.append(f"from {note.source}")
    if not note.trusted:
        parts.append("written by user space")
    return f" {glyphs.dot} ".join(parts)


def _timeline(facts: IncidentFacts, width: int, glyphs: Glyphs) -> Iterable[Line]:
    incident = facts.told.incident
    yield from _title("History", width, glyphs)
    began = MomentNote(time=incident.since, kind="began", text="what is wrong began", actor="")
    for note in (began, *incident.timeline):
        head: Line = [
            (f" {fit(when(moment(note.time), facts.now), 14)} ", "dim"),
            (f"{fit(note.kind, 9)} ", _MOMENT_ROLES.get(note.kind, "text")),
        ]
        by = f" ({note.actor})" if note.actor else ""
        indent = " " * width_of(head)
        rows = paragraph(indent, f"{note.text}{by}", "text", width, glyphs)
        yield [*head, *rows[0][1:]]
        yield from rows[1:]


def _members(facts: IncidentFacts, width: int, glyphs: Glyphs) -> Iterable[Line]:
    total = facts.told.members_total or len(facts.members)
    if not total:
        return
    title = f"{total} members" if facts.told.members_total else f"{total} of the same cause"
    yield from _title(title, width, glyphs)
    for told in facts.members:
        incident = told.incident
        word = standing(incident)
        yield [
            (f" {severity_sign(incident.severity, glyphs)} ", severity_role(incident.severity)),
            (fit(word, 6), "dim"),
            (fit(printable(place_of(incident), ascii_only=glyphs.ascii_only), 28), "strong"),
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
    held = "" if explanation.held_s is None else f" for {duration(explanation.held_s)}"
    yield [
        (f" {explanation.rule} on ", "dim"),
        (printable(place_of(facts.told.incident), ascii_only=glyphs.ascii_only), "text"),
        (f": {phase}{held}", "dim"),
    ]
    key = ""
    for part in explanation.parts:
        if part.key != key:
            key = part.key
            yield [(f" {key}", "key")]
        yield from _part(part, width, glyphs)


def _part(part: PartRow, width: int, glyphs: Glyphs) -> Iterable[Line]:
    told = (
        ""
        if part.value is None or isinstance(part.value, bool)
        else part.shown or _plain(part.value)
    )
    right = part.reason or told
    truth: Line = [(fit(part.truth or "", 8), _TRUTH_ROLES.get(part.truth, "dim"))]
    text = "  " * (part.depth + 1) + printable(part.text, ascii_only=glyphs.ascii_only)
    room = max(width - 10 - min(len(right), width // 3) - 2, 12)
    shown = fit(text, room, ellipsis=glyphs.ellipsis)
    more = printable(right, ascii_only=glyphs.ascii_only)
    yield [(" ", "text"), *truth, (shown, "text"), (f"  {more}", "dim")]


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
