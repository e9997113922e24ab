"""What rows of the table do about a rung that is refused, that fails, or that cannot be done here. Pure.

The incident's message and timeline, and the plan, show each with its reason.
"""

import msgspec

from accelwatch.remediation.policy.conditions.transition import Transition
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.plan.escalation import INTENTS, impossible
from accelwatch.remediation.policy.plan.escalation import next_escalation_step as name_of_next
from accelwatch.remediation.policy.state.model import Remedy

replace = msgspec.structs.replace


def escalate(transition: Transition) -> Remedy:
    """This rung is not to be had on this node."""
    remedy = transition.remedy
    if remedy.policy is None or not remedy.repair.attempts:
        return remedy
    name = remedy.repair.attempts[-1].rung
    return _left_out(transition, _after(remedy, name), name, f"was refused: {_text(transition)}")


def skip_step(transition: Transition) -> Remedy:
    """No node here allows this rung: it does not even start."""
    name = name_of_next(transition.remedy)
    why = impossible(transition.ctx, INTENTS[name])
    return _left_out(transition, _after(transition.remedy, name), name, f"is left out: {why}")


def fail_step(transition: Transition) -> Remedy:
    """This rung has run and failed."""
    if not transition.remedy.repair.attempts:
        return transition.remedy
    return _left_out(
        transition,
        transition.remedy,
        transition.remedy.repair.attempts[-1].rung,
        f"has failed: {_text(transition)}",
    )


def _after(remedy: Remedy, name: str) -> Remedy:
    """The remedy behind a rung of its ladder."""
    steps = () if remedy.policy is None else remedy.policy.ladder
    for index, step in enumerate(steps):
        if step.name == name and index >= remedy.repair.rung:
            return replace(remedy, repair=replace(remedy.repair, rung=index + 1))
    return remedy


def _left_out(transition: Transition, remedy: Remedy, name: str, what: str) -> Remedy:
    text = f"{name.replace('_', ' ')} of {remedy.node} {what}"
    transition.ctx.note(remedy, text, Loudness.NOTIFY)
    return replace(remedy, repair=replace(remedy.repair, left_out=(*remedy.repair.left_out, text)))


def _text(transition: Transition) -> str:
    return (
        "no reason is given" if transition.event.pursued is None else transition.event.pursued.text
    )
