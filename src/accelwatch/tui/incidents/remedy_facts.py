"""What is done about an incident as lines: how far it is, who holds what, plan and price. Pure."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from accelwatch.fleet.picture.incidents import seconds_of
from accelwatch.fleet.picture.remedies import next_step, result_text
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, paragraph
from accelwatch.tui.drawing.times import when
from accelwatch.tui.incidents.fact_lines import HEAD_CELLS, fact_lines
from accelwatch.tui.incidents.remedy_summary import next_step_text, stage_role
from accelwatch.tui.incidents.remedy_summary import when as clock

if TYPE_CHECKING:
    from accelwatch.fleet.documents.remedies import LeftAlone, RemedyDocument
    from accelwatch.remediation.policy.plan.model import Plan, PlanStep

_MOST_NODES = 12


class RemedyFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the remedies of an incident."""

    # Whether the hub is configured to do anything.
    acts: bool = False
    # Its id.
    incident: str = ""
    # By what is acted: `slurm`.
    by: str = ""
    # Of its nodes, its own node's first.
    remedies: "Sequence[RemedyDocument]" = ()
    # Who put a hold on its node.
    veto: "LeftAlone | None" = None
    plan: "Plan | None" = None
    # Why there is no plan.
    unplanned: str = ""


def lines(facts: RemedyFacts, now: float, width: int, glyphs: Glyphs) -> Iterable[Line]:
    """All of it; nothing where the hub does not act."""
    if not facts.acts:
        return
    veto = facts.veto
    if veto is not None:
        until = f"until {when(seconds_of(veto.until), now)}" if veto.until else "until removed"
        text = f"nothing is done to {veto.node} {until}, by {veto.by}: {veto.reason}"
        yield from fact_lines("held", text, "warn", width, glyphs)
    if len(facts.remedies) > 1:
        yield from _many(facts.remedies, now, width, glyphs)
    elif facts.remedies:
        yield from _single_remedy(facts.remedies[0], facts, now, width, glyphs)
    yield from _plan(facts, width, glyphs)


def _many(
    remedies: "Sequence[RemedyDocument]", now: float, width: int, glyphs: Glyphs
) -> Iterable[Line]:
    for remedy in remedies[:_MOST_NODES]:
        role = stage_role(next_step(remedy).stage)
        yield from fact_lines(
            remedy.node, next_step_text(remedy, now, 2 * width), role, width, glyphs
        )
    left = len(remedies) - _MOST_NODES
    if left > 0:
        yield [(f" {'':{HEAD_CELLS}}and {left} more nodes", "dim")]


def _single_remedy(
    remedy: "RemedyDocument", facts: RemedyFacts, now: float, width: int, glyphs: Glyphs
) -> Iterable[Line]:
    step = next_step(remedy)
    since = f"{step.stage} since {when(seconds_of(remedy.since), now)}"
    if facts.incident not in (remedy.incident, *remedy.incidents) and remedy.incident:
        since += f", for {remedy.incident}"
    manual = "; a person took it out, and only a person gives it back" if remedy.manual else ""
    yield from fact_lines("remedy", f"{since}{manual}", stage_role(step.stage), width, glyphs)
    waits = ", ".join(filter(None, (step.text, clock(step, now))))
    role = "warn" if step.blocked else "strong"
    yield from fact_lines("next", waits, role, width, glyphs)
    if remedy.quarantine is not None:
        yield from fact_lines(
            "holds it", _owner_annotation(remedy, facts.by, now), "text", width, glyphs
        )
    texts = {
        "yes from": remedy.approved_by,
        "spare": f"{remedy.spare} stands in" if remedy.spare else "",
    }
    for name, text in texts.items():
        if text:
            yield from fact_lines(name, text, "text", width, glyphs)


def _owner_annotation(remedy: "RemedyDocument", by: str, now: float) -> str:
    annotation = remedy.quarantine
    assert annotation is not None
    where = " in ".join(filter(None, (remedy.target, by)))
    who = f" by {annotation.set_by}" if annotation.set_by else ""
    at = f" at {when(seconds_of(annotation.set_at), now)}" if annotation.set_at else ""
    return f"our mark on {where}, set{who}{at}: {annotation.reason}"


def _plan(facts: RemedyFacts, width: int, glyphs: Glyphs) -> Iterable[Line]:
    plan = facts.plan
    if plan is None:
        if facts.unplanned:
            yield from fact_lines("plan", facts.unplanned, "dim", width, glyphs)
        return
    if not plan.steps:
        yield from fact_lines("plan", plan.text, "dim", width, glyphs)
        return
    for number, step in enumerate(plan.steps):
        name = "" if number else "plan"
        yield from fact_lines(name, f"{number + 1}. {step.text}", "strong", width, glyphs)
        yield from _denials(step, width, glyphs)
    for number, result in enumerate(plan.results):
        role = "text" if result.passed else "warn"
        yield from fact_lines("" if number else "tested", result_text(result), role, width, glyphs)
    for number, text in enumerate(plan.preview):
        yield from fact_lines("" if number else "scheduler", text, "text", width, glyphs)
    if price := price_of(plan):
        yield from fact_lines("price", price, "text", width, glyphs)
    if plan.record:
        yield from fact_lines("record", plan.record, "text", width, glyphs)
    if plan.as_of is not None:
        shown = f"{datetime.fromtimestamp(plan.as_of, UTC):%H:%M:%S} UTC"
        yield from fact_lines("as of", shown, "dim", width, glyphs)


def _denials(step: "PlanStep", width: int, glyphs: Glyphs) -> Iterable[Line]:
    for denial in step.in_the_way:
        head = f" {'':{HEAD_CELLS}}   "
        yield from paragraph(head, f"why not now: {denial.text}", "warn", width, glyphs)


def price_of(plan: "Plan") -> str:
    """Expected gain and cost; empty where nobody reckoned it."""
    if plan.price is None:
        return ""
    saved, lost = plan.price.saved, plan.price.lost
    return f"costs {lost:.1f} GPU-hours, saves {saved:.1f} (expected)"
