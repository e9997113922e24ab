"""Which step leads to an agent that accepts no new sessions, or accepts them again. Pure."""

from accelwatch.action.intent import Intent
from accelwatch.action.observed import HoldState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step
from accelwatch_backendai.api.agents import Agent
from accelwatch_backendai.observed_context import ObservedContext
from accelwatch_backendai.steps import SCHEDULE, UNSCHEDULE


def propose_quarantine(intent: Intent, context: ObservedContext) -> Proposal:
    """Make it unschedulable, unless an administrator has; what runs there goes on."""
    agent = context.agent
    if agent is None:
        return missing(intent.node)
    state, annotation = context.hold_state, context.annotation
    if state is HoldState.FOREIGN:
        return Refusal(RefusalKind.FOREIGN, foreign_text(agent))
    if state is HoldState.OURS and annotation is not None:
        if annotation.incident == intent.mark.incident:
            return Achieved(f"{agent.id} is unschedulable, by us")
        return Achieved(f"{agent.id} is unschedulable already, for {annotation.incident}")
    return Step(
        kind=UNSCHEDULE,
        arguments={"agent": agent.id, "incident": intent.mark.incident},
        precondition={"schedulable": "true"},
        original={"schedulable": "true"},
        text=f"set {agent.id} unschedulable",
    )


def propose_release(intent: Intent, context: ObservedContext) -> Proposal:
    """Make it schedulable, where it is our own doing that it is not."""
    agent = context.agent
    if agent is None:
        return Achieved(f"the manager has no agent {intent.node} any more")
    state, annotation = context.hold_state, context.annotation
    if state is HoldState.OPEN:
        return Achieved(f"{agent.id} is schedulable{_answering_text(agent)}")
    if state is HoldState.FOREIGN or annotation is None:
        return Achieved(f"our hold on {agent.id} is gone; {foreign_text(agent)}")
    if annotation.incident != intent.mark.incident:
        text = f"{agent.id} is unschedulable for {annotation.incident}"
        return Refusal(RefusalKind.FOREIGN, text)
    if annotation.token > intent.mark.token:
        text = f"{agent.id} was made unschedulable by a newer engine"
        return Refusal(RefusalKind.FOREIGN, text)
    return Step(
        kind=SCHEDULE,
        arguments={"agent": agent.id, "incident": annotation.incident},
        precondition={"schedulable": "false"},
        original={"schedulable": "false"},
        text=f"set {agent.id} schedulable",
    )


def foreign_text(agent: Agent) -> str:
    """For people: what keeps new sessions away besides us."""
    return (
        f"{agent.id} is unschedulable, and not by us as far as our journal knows: another person or "
        "tool did that"
    )


def missing(agent_id: str) -> Refusal:
    """The manager has no such agent."""
    return Refusal(RefusalKind.IMPOSSIBLE, f"the manager has no agent {agent_id}")


def _answering_text(agent: Agent) -> str:
    return "" if agent.alive else f", and {agent.status}"
