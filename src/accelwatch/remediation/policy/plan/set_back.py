"""The hub's clock is set back: observations are forgotten, waits last as long as before. Pure.

This clock dates a poll and shows which of two is the newer. After a step back an observation would
be younger than it is, and hide all that is seen until the old time comes again. So it is known no more,
and everything has to be observed again before any action. What `data_guard.clock_jump` lets pass is no
step.
"""

import msgspec

from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import BOUNDARIES, OVERRIDES, RELAPSES, REMEDIES
from accelwatch.remediation.policy.state.case import Case
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.world import NodeStatus, undated

replace = msgspec.structs.replace


def notice(ctx: StepContext) -> None:
    """Before a step: whether its moment is long before that of the last one, and what follows."""
    last = ctx.world.now
    if last is None or last - ctx.now <= ctx.settings.data_guard.clock_jump_s:
        return
    back_s = last - ctx.now
    ctx.unsee(f"the hub's clock was set back by {back_s:.1f} s")
    for node, remedy in ctx.state.remedies.items():
        ctx.set_row(REMEDIES, node, _remedy(remedy, ctx.now, back_s))
    for node, override in ctx.state.overrides.items():
        at, until = min(override.at, ctx.now), override.until - back_s
        ctx.set_row(OVERRIDES, node, replace(override, at=at, until=until))
    for node, boundary in ctx.state.boundaries.items():
        ctx.set_row(BOUNDARIES, node, replace(boundary, at=min(boundary.at, ctx.now)))
    for node, relapses in ctx.state.relapses.items():
        ctx.set_row(
            RELAPSES, node, replace(relapses, released=_at_most_now(relapses.released, ctx.now))
        )


def is_ahead(ctx: StepContext, time: float) -> bool:
    """Whether a look was dated by a clock that was set back since: nobody knows how old it is."""
    return time - ctx.now > ctx.settings.data_guard.clock_jump_s


def dated(ctx: StepContext, status: NodeStatus) -> NodeStatus:
    """What is known of a node; how it is counts for nothing where nobody knows when it was so."""
    return undated(status) if is_ahead(ctx, status.time) else status


def evidence_at(ctx: StepContext, case: Case, existing: Case | None) -> float:
    """The moment of a case's newest evidence; one that is yet to come makes it no newer than it was."""
    if case.evidence_at <= ctx.now:
        return case.evidence_at
    return ctx.now if existing is None else existing.evidence_at


def _remedy(remedy: Remedy, now: float, back_s: float) -> Remedy:
    """With no moment that is yet to come but that of its clock, which has as long to run as before."""
    verification = remedy.repair.verification
    if verification is not None:
        verification = replace(verification, since=min(verification.since, now))
    return replace(
        remedy,
        clocks=replace(
            remedy.clocks,
            since=min(remedy.clocks.since, now),
            begun=min(remedy.clocks.begun, now),
            due=None if remedy.clocks.due is None else remedy.clocks.due - back_s,
        ),
        approval=replace(remedy.approval, expired=_at_most_now(remedy.approval.expired, now)),
        jobs=replace(
            remedy.jobs,
            signalled_at=_at_most_now(remedy.jobs.signalled_at, now),
            lost_at=_at_most_now(remedy.jobs.lost_at, now),
        ),
        cases=tuple(replace(case, evidence_at=min(case.evidence_at, now)) for case in remedy.cases),
        repair=replace(remedy.repair, verification=verification),
    )


def _at_most_now(time: float | None, now: float) -> float | None:
    return None if time is None else min(time, now)
