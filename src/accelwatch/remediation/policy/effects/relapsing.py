"""What rows of the table do about a node that fails again soon after it was given back."""

import msgspec

from accelwatch.remediation.policy.conditions.transition import Transition
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import RELAPSES, SCORES
from accelwatch.remediation.policy.plan.escalation import SERVICE
from accelwatch.remediation.policy.plan.verify import scored
from accelwatch.remediation.policy.state import relapses
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.score import Failing, added
from accelwatch.schema.display import duration

replace = msgspec.structs.replace


def released(ctx: StepContext, node: str) -> None:
    """We have given a node back."""
    existing = ctx.state.relapses.get(node)
    ctx.set_row(RELAPSES, node, relapses.released(existing, ctx.now))


def forget_relapses(ctx: StepContext, node: str) -> None:
    """A person has the node in hand: what was before counts no more."""
    if node in ctx.state.relapses:
        ctx.set_row(RELAPSES, node, None)


def score_relapse(ctx: StepContext, remedy: Remedy) -> None:
    """Remember the relapse for weeks, by node, board and slot."""
    ctx.set(SCORES, added(ctx.state.scores, scored(remedy), Failing.RELAPSE, ctx.now))


def failed_on_probation(ctx: StepContext, remedy: Remedy) -> None:
    """It has failed again while it was watched, which its score has from now on."""
    score_relapse(ctx, remedy)
    existing = ctx.state.relapses.get(remedy.node)
    if existing is not None:
        ctx.set_row(RELAPSES, remedy.node, relapses.scored(existing))


def count_relapse(transition: Transition) -> Remedy:
    """A rule quarantines it, which is a relapse soon after its release."""
    node, now = transition.remedy.node, transition.ctx.now
    existing = transition.ctx.state.relapses.get(node)
    if existing is None:
        return transition.remedy
    within_s = transition.ctx.settings.relapse_s
    after = relapses.quarantined(existing, now, within_s)
    if after != existing:
        transition.ctx.set_row(RELAPSES, node, after)
    count = 0 if after is None else after.count
    if relapses.relapsed(existing, now, within_s):
        if not existing.scored:
            score_relapse(transition.ctx, transition.remedy)
        times = f": {count} times in a row" if count > 1 else ""
        soon = f"within {duration(within_s)} after it was given back"
        text = f"{node} has failed again {soon}{times}"
        transition.ctx.note(transition.remedy, text, Loudness.NOTIFY)
    return replace(transition.remedy, repair=replace(transition.remedy.repair, relapses=count))


def notify_stays_out(transition: Transition) -> Remedy:
    """Only a person gives back a node that fails again each time: he is called, once."""
    node, within = transition.remedy.node, duration(transition.ctx.settings.relapse_s)
    text = (
        f"{node} stays out until a person says otherwise: it has failed again within {within} after "
        f"it was given back, {transition.remedy.repair.relapses} times in a row. Repair it, then run: "
        f"accelwatch remedy recovered {node} --reason WHY"
    )
    transition.ctx.note(transition.remedy, text, Loudness.ALERT)
    # Where the rule does not want a ticket, this is all that is said.
    policy = transition.remedy.policy
    requests_service = policy is not None and any(step.name == SERVICE for step in policy.ladder)
    return replace(
        transition.remedy, repair=replace(transition.remedy.repair, ticketed=not requests_service)
    )


def reset_relapses(transition: Transition) -> Remedy:
    """A person has checked it, or it has other hardware: relapses before that count no more."""
    forget_relapses(transition.ctx, transition.remedy.node)
    return replace(transition.remedy, repair=replace(transition.remedy.repair, relapses=0))
