"""The page: what is wrong and where, what would be done, yes or no, and what it rests on."""

from collections.abc import Iterable, Sequence

import msgspec

from accelwatch.action.intent import IntentKind
from accelwatch.alerting.delivery.formatting.notice import where
from accelwatch.alerting.delivery.formatting.text import lasting, time_text
from accelwatch.alerting.incidents.model.incident import Incident, TimelineEntry
from accelwatch.alerting.incidents.model.muting import Mute
from accelwatch.fleet.documents.graphs import IncidentGraphs
from accelwatch.fleet.incident_page.decisions import Decision, Prevailing
from accelwatch.fleet.incident_page.graph import graph_of, legend
from accelwatch.fleet.incident_page.style import HEADERS, STYLE
from accelwatch.fleet.picture.graph_text import caption
from accelwatch.fleet.picture.remedies import result_text
from accelwatch.remediation.policy.plan.model import Plan, PlanStep
from accelwatch.schema import provenance
from accelwatch.web.pages.markup import Markup, document, element, joined
from accelwatch.web.pages.page import Page

_GLYPHS = {"critical": "▲", "warning": "◆", "info": "●", "over": "✓"}
# Of the timeline that are shown at once; the others are folded.
_MOST_ENTRIES = 12


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """Something to say above everything else."""

    text: str
    # `good`, `bad`, or neither.
    tone: str = ""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What a page shows."""

    incident: Incident
    now: float
    notices: tuple[Notice, ...] = ()
    mute: Mute | None = None
    graphs: IncidentGraphs
    # Why there is nothing to decide at all; empty where `decisions` say it.
    nothing: str = ""
    # With the forms of each.
    decisions: tuple[tuple[Decision, Sequence[Markup]], ...] = ()
    prevailing: Prevailing | None = None
    # The user.
    who: str = ""


def incident_page(shown: Shown, code: int = 200) -> Page:
    """The page of an incident."""
    incident = shown.incident
    body = document(
        f"{incident.severity.value}: {incident.title}",
        STYLE,
        _head(incident, shown.now),
        *(_notice(notice) for notice in shown.notices),
        _evidence(shown),
        *_deciding(shown),
        _what_to_do(incident),
        _timeline(incident),
        _foot(shown),
    )
    return Page(body=body, headers=dict(HEADERS), code=code)


def plain_page(title: str, text: str, code: int) -> Page:
    """A page that says one thing, to somebody who may see nothing else."""
    body = document(
        title,
        STYLE,
        element("header", element("h1", title)),
        element("section", element("p", text)),
    )
    return Page(body=body, headers=dict(HEADERS), code=code)


def _head(incident: Incident, now: float) -> Markup:
    state = incident.severity.value if incident.is_open else "over"
    level = (
        incident.severity.value.upper() if incident.is_open else f"OVER ({incident.severity.value})"
    )
    if incident.closed is None:
        since = f"since {time_text(incident.since)}, for {lasting(now - incident.since)}"
    else:
        duration = lasting(incident.closed - incident.since)
        since = f"from {time_text(incident.since)}, over after {duration}"
    return element(
        "header",
        element("div", f"{_GLYPHS[state]} {level}", class_="level"),
        element("h1", incident.title),
        element("p", where(incident)),
        element("p", since, class_="soft"),
        _whose(incident),
        class_=state,
    )


def _notice(notice: Notice) -> Markup:
    return element("section", element("p", notice.text), class_=f"told {notice.tone}".strip())


def _deciding(shown: Shown) -> Iterable[Markup]:
    if shown.nothing:
        yield element("section", element("h2", "What would be done"), element("p", shown.nothing))
    for decision, forms in shown.decisions:
        yield _decision(decision, forms, shown.prevailing)


def _decision(decision: Decision, forms: Sequence[Markup], prevailing: Prevailing | None) -> Markup:
    plan = decision.plan
    steps = None
    if plan.steps:
        steps = element("ol", *(_step(step, decision.waits) for step in plan.steps))
    return element(
        "section",
        element("h2", f"What would be done with {decision.node}"),
        element("p", element("strong", decision.summary)),
        _facts(
            *((("Left alone for", decision.vetoed_by),) if decision.vetoed_by else ()),
            *(_status(prevailing) if prevailing is not None else ()),
        ),
        steps,
        _facts(
            *(("Tested", result_text(result)) for result in plan.results),
            *_record(plan),
            *_as_of(plan),
            *_price(plan),
            *(("Budget", line) for line in decision.budget),
        ),
        *forms,
        class_="waits" if decision.waits else None,
    )


def _step(step: PlanStep, waits: bool) -> Markup:
    blockers = (
        element("div", f"held back: {blocker.text}", class_="held small")
        for blocker in step.in_the_way
        # That it waits for a yes is said above; that it is not well yet goes without saying.
        if not (waits and blocker.why.lifted_by_approval) and step.kind is not IntentKind.RELEASE
    )
    return element("li", step.text, *blockers)


def _status(prevailing: Prevailing) -> list[tuple[str, str]]:
    rows = [
        ("Everything is stopped", prevailing.stopped),
        ("Breaker", prevailing.breaker),
        ("Nothing new is started", prevailing.frozen),
        ("Rules need approval", prevailing.approval_needed),
    ]
    return [(name, text) for name, text in rows if text]


def _record(plan: Plan) -> list[tuple[str, str]]:
    return [("Record", plan.record)] if plan.record else []


def _as_of(plan: Plan) -> list[tuple[str, str]]:
    return [] if plan.as_of is None else [("As of", time_text(plan.as_of))]


def _price(plan: Plan) -> list[tuple[str, str]]:
    if plan.price is None:
        return []
    saved, lost = plan.price.saved, plan.price.lost
    return [("Expected", f"saves {saved:.1f} GPU-hours, costs {lost:.1f}")]


def _whose(incident: Incident) -> Markup | None:
    facts = incident.facts
    if not (facts.jobs or facts.users):
        return None
    rows = [("Jobs", ", ".join(facts.jobs)), ("Users", ", ".join(facts.users))]
    return _facts(*((name, text) for name, text in rows if text))


def _evidence(shown: Shown) -> Markup:
    incident = shown.incident
    lines = element("ul", *(element("li", evidence.text) for evidence in incident.evidence))
    untrusted = None
    if not incident.trusted:
        text = "Untrusted: any user of that node who may write to the kernel log can forge this."
        untrusted = element("p", text, class_="held")
    return element("section", element("h2", "Evidence"), lines, untrusted, *_graphs(shown.graphs))


def _graphs(graphs: IncidentGraphs) -> Iterable[Markup]:
    """Each graph with what it is of above and what it shows below, then why something is not drawn."""
    for graph in graphs.main:
        yield element(
            "figure",
            element("p", graph.title, class_="soft small"),
            graph_of(graphs, graph),
            element("figcaption", f"{caption(graphs, graph)}.", class_="soft small"),
        )
    if any(graph.peers for graph in graphs.main):
        yield legend()
    for note in graphs.notes:
        yield element("p", f"{note[:1].upper()}{note[1:]}.", class_="soft small")


def _what_to_do(incident: Incident) -> Markup | None:
    runbook = None
    if incident.runbook.startswith(("https://", "http://")):
        runbook = element(
            "p", element("a", "Runbook", href=incident.runbook, rel="noreferrer noopener")
        )
    if not incident.what_to_do and runbook is None:
        return None
    text = element("p", incident.what_to_do) if incident.what_to_do else None
    return element("section", element("h2", "What to do by hand"), text, runbook)


def _timeline(incident: Incident) -> Markup:
    lines = [_entry(entry) for entry in reversed(incident.timeline)]
    details = None
    if len(lines) > _MOST_ENTRIES:
        older = element("ul", *lines[_MOST_ENTRIES:], class_="lines")
        summary = element("summary", f"{len(lines) - _MOST_ENTRIES} earlier")
        details = element("details", summary, older)
    return element(
        "section",
        element("h2", "What has happened, the latest first"),
        element("ul", *lines[:_MOST_ENTRIES], class_="lines"),
        details,
    )


def _entry(entry: TimelineEntry) -> Markup:
    clock = time_text(entry.time).split(" ")[1]
    by = f" ({entry.actor})" if entry.actor and entry.actor not in entry.text else ""
    text = entry.text or entry.kind.value
    return element("li", element("span", clock, class_="time"), joined(text, by))


def _foot(shown: Shown) -> Markup:
    incident = shown.incident
    mute = shown.mute
    muted = None
    if mute is not None:
        text = f"Notifications are muted by {mute.kind} {mute.id} by {mute.by}: {mute.reason}"
        muted = element("p", text)
    facts = [
        ("Incident", incident.id),
        ("Rule", incident.rule),
        ("Evidence", provenance.provenance_text(incident.provenance)),
    ]
    if shown.who:
        facts.append(("You are", shown.who))
    return element(
        "footer",
        muted,
        _facts(*facts),
        element("p", f"As of {time_text(shown.now)}. Looking at this page changes nothing."),
    )


def _facts(*pairs: tuple[str, str]) -> Markup | None:
    if not pairs:
        return None
    cells = [cell for name, text in pairs for cell in (element("dt", name), element("dd", text))]
    return element("dl", *cells)
