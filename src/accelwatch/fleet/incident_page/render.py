"""The page: what is wrong and where, what would be done, yes or no, and what it rests on."""

from collections.abc import Iterable, Sequence

import msgspec

from accelwatch.action.intent import IntentKind
from accelwatch.alerting.delivery.notice import where
from accelwatch.alerting.delivery.text import lasting, moment
from accelwatch.alerting.incidents.incident import Incident, Moment
from accelwatch.alerting.incidents.muting import Mute
from accelwatch.fleet.incident_page.decisions import Decision, Prevailing
from accelwatch.fleet.incident_page.graph import Trace, graph
from accelwatch.fleet.incident_page.style import HEADERS, STYLE
from accelwatch.remediation.policy.plan.plan import Plan, PlanStep
from accelwatch.schema import provenance
from accelwatch.web.pages.markup import Markup, document, element, joined
from accelwatch.web.pages.page import Page

_GLYPHS = {"critical": "▲", "warning": "◆", "info": "●", "over": "✓"}
_MOMENTS = 12
"""Of the timeline that are shown at once; the others are folded."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """Something to say above everything else."""

    text: str
    tone: str = ""
    """`good`, `bad`, or neither."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What a page shows."""

    incident: Incident
    now: float
    told: tuple[Told, ...] = ()
    mute: Mute | None = None
    traces: tuple[Trace, ...] = ()
    nothing: str = ""
    """Why there is nothing to decide at all; empty where `decisions` say it."""
    decisions: tuple[tuple[Decision, Sequence[Markup]], ...] = ()
    """With the forms of each."""
    prevailing: Prevailing | None = None
    who: str = ""
    """Who looks at it."""


def incident_page(shown: Shown, code: int = 200) -> Page:
    """The page of an incident."""
    one = shown.incident
    body = document(
        f"{one.severity.value}: {one.title}",
        STYLE,
        _head(one, shown.now),
        *(_told(said) for said in shown.told),
        _evidence(shown),
        *_deciding(shown),
        _what_to_do(one),
        _timeline(one),
        _foot(shown),
    )
    return Page(body=body, headers=dict(HEADERS), code=code)


def plain_page(title: str, words: str, code: int) -> Page:
    """A page that says one thing, to somebody who may see nothing else."""
    body = document(
        title,
        STYLE,
        element("header", element("h1", title)),
        element("section", element("p", words)),
    )
    return Page(body=body, headers=dict(HEADERS), code=code)


def _head(one: Incident, now: float) -> Markup:
    state = one.severity.value if one.is_open else "over"
    word = one.severity.value.upper() if one.is_open else f"OVER ({one.severity.value})"
    if one.closed is None:
        since = f"since {moment(one.since)}, for {lasting(now - one.since)}"
    else:
        since = f"from {moment(one.since)}, over after {lasting(one.closed - one.since)}"
    return element(
        "header",
        element("div", f"{_GLYPHS[state]} {word}", class_="level"),
        element("h1", one.title),
        element("p", where(one)),
        element("p", since, class_="soft"),
        _whose(one),
        class_=state,
    )


def _told(said: Told) -> Markup:
    return element("section", element("p", said.text), class_=f"told {said.tone}".strip())


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
        element("p", element("strong", decision.says)),
        _facts(
            *((("Left alone for", decision.held_by),) if decision.held_by else ()),
            *(_standing(prevailing) if prevailing is not None else ()),
        ),
        steps,
        _facts(*_as_of(plan), *_price(plan), *(("Budget", line) for line in decision.budget)),
        *forms,
        class_="waits" if decision.waits else None,
    )


def _step(step: PlanStep, waits: bool) -> Markup:
    held = (
        element("div", f"held back: {one.text}", class_="held small")
        for one in step.in_the_way
        # That it waits for a yes is said above; that it is not well yet goes without saying.
        if not (waits and one.why.lifted_by_approval) and step.kind is not IntentKind.RELEASE
    )
    return element("li", step.text, *held)


def _standing(prevailing: Prevailing) -> list[tuple[str, str]]:
    said = [
        ("Everything is stopped", prevailing.stopped),
        ("Breaker", prevailing.breaker),
        ("Nothing new is begun", prevailing.frozen),
    ]
    return [(name, words) for name, words in said if words]


def _as_of(plan: Plan) -> list[tuple[str, str]]:
    return [] if plan.as_of is None else [("As of", moment(plan.as_of))]


def _price(plan: Plan) -> list[tuple[str, str]]:
    if plan.price is None:
        return []
    saved, lost = plan.price.saved, plan.price.lost
    return [("Expected", f"saves {saved:.1f} GPU-hours, costs {lost:.1f}")]


def _whose(one: Incident) -> Markup | None:
    facts = one.facts
    if not (facts.jobs or facts.users):
        return None
    said = [("Jobs", ", ".join(facts.jobs)), ("Users", ", ".join(facts.users))]
    return _facts(*((name, words) for name, words in said if words))


def _evidence(shown: Shown) -> Markup:
    one = shown.incident
    lines = element("ul", *(element("li", said.text) for said in one.evidence))
    untrusted = None
    if not one.trusted:
        words = "Untrusted: any user of that node who may write to the kernel log can forge this."
        untrusted = element("p", words, class_="held")
    pictures: list[Markup] = []
    for trace in shown.traces:
        pictures += [element("p", trace.title, class_="soft small"), graph(trace, one.since)]
    if not pictures:
        words = "There is no picture: nothing is kept of a single device for it."
        pictures = [element("p", words, class_="soft small")]
    elif one.since < shown.traces[0].begin:
        words = f"It began {lasting(shown.now - one.since)} ago, before these pictures."
        pictures.append(element("p", words, class_="soft small"))
    return element("section", element("h2", "Evidence"), lines, untrusted, *pictures)


def _what_to_do(one: Incident) -> Markup | None:
    runbook = None
    if one.runbook.startswith(("https://", "http://")):
        runbook = element("p", element("a", "Runbook", href=one.runbook, rel="noreferrer noopener"))
    if not one.what_to_do and runbook is None:
        return None
    words = element("p", one.what_to_do) if one.what_to_do else None
    return element("section", element("h2", "What to do by hand"), words, runbook)


def _timeline(one: Incident) -> Markup:
    lines = [_moment(said) for said in reversed(one.timeline)]
    rest = None
    if len(lines) > _MOMENTS:
        older = element("ul", *lines[_MOMENTS:], class_="lines")
        said = element("summary", f"{len(lines) - _MOMENTS} earlier")
        rest = element("details", said, older)
    return element(
        "section",
        element("h2", "What has happened, the latest first"),
        element("ul", *lines[:_MOMENTS], class_="lines"),
        rest,
    )


def _moment(said: Moment) -> Markup:
    clock = moment(said.time).split(" ")[1]
    by = f" ({said.actor})" if said.actor and said.actor not in said.text else ""
    words = said.text or said.kind.value
    return element("li", element("span", clock, class_="time"), joined(words, by))


def _foot(shown: Shown) -> Markup:
    one = shown.incident
    mute = shown.mute
    muted = None
    if mute is not None:
        said = f"Notifications are muted by {mute.kind} {mute.id} by {mute.by}: {mute.reason}"
        muted = element("p", said)
    facts = [
        ("Incident", one.id),
        ("Rule", one.rule),
        ("Evidence", provenance.said(one.provenance)),
    ]
    if shown.who:
        facts.append(("You are", shown.who))
    return element(
        "footer",
        muted,
        _facts(*facts),
        element("p", f"As of {moment(shown.now)}. Looking at this page changes nothing."),
    )


def _facts(*pairs: tuple[str, str]) -> Markup | None:
    if not pairs:
        return None
    cells = [part for name, words in pairs for part in (element("dt", name), element("dd", words))]
    return element("dl", *cells)
