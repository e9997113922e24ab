"""The decisions about an incident: the plan of each of its nodes, and why nothing waits."""

import msgspec

from accelwatch.alerting.delivery.formatting.text import lasting, time_text
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.fleet.remedies.runner import RemedyRunner
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.guards.limits.budget import bound
from accelwatch.remediation.policy.plan.model import Plan
from accelwatch.remediation.policy.state.model import Remedy, RemedyState
from accelwatch.remediation.policy.state.stage import Stage

# Nodes of one incident whose plans are shown.
MOST_NODES = 4


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """One node's."""

    node: str
    plan: Plan
    # Whether a person's yes or no is what it waits for.
    waits: bool = False
    # How it stands, in a sentence; of one that waits for nobody: why.
    summary: str
    # What is left, a line each.
    budget: tuple[str, ...] = ()
    # Who wants nothing done to the node.
    vetoed_by: str = ""


class Prevailing(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for all nodes."""

    ceiling: str
    stopped: str = ""
    breaker: str = ""
    frozen: str = ""
    # Why no rule acts without a person's approval.
    approval_needed: str = ""


def decisions_of(runner: RemedyRunner, incident: Incident, now: float) -> tuple[Decision, ...]:
    """Those of an incident's nodes about which something is done, else of its first node."""
    state = runner.engine.state
    nodes = [
        remedy.node
        for remedy in state.remedies.values()
        if incident.id in (remedy.incident, *(case.incident for case in remedy.cases))
    ]
    # Who waits for a person comes first.
    nodes.sort(key=lambda node: state.remedies[node].stage is not Stage.AWAITING_APPROVAL)
    if not nodes and incident.is_open:
        nodes = [node for node in (incident.entity.node, *incident.nodes) if node][:1]
    return tuple(_decision(runner, node, now) for node in nodes[:MOST_NODES])


def _decision(runner: RemedyRunner, node: str, now: float) -> Decision:
    state = runner.engine.state
    remedy = state.remedies.get(node)
    plan = runner.plan(node)
    waits = remedy is not None and remedy.stage is Stage.AWAITING_APPROVAL and bool(plan.digest)
    veto = state.vetoes.get(node)
    doing = "" if remedy is None else runner.engine.doing.get(remedy.scheduler_name, "")
    return Decision(
        node=node,
        plan=plan,
        waits=waits,
        summary=_summary(state, remedy, plan, doing, now),
        budget=_budget_left(runner, node, now),
        vetoed_by="" if veto is None else f"{veto.by}: {veto.reason}",
    )


def _summary(state: RemedyState, remedy: Remedy | None, plan: Plan, doing: str, now: float) -> str:
    if remedy is None:
        return f"Nothing waits for you: {plan.text or 'nothing is being done about it'}."
    stage = remedy.stage.value.replace("_", " ")
    if remedy.stage is Stage.AWAITING_APPROVAL:
        until = ""
        if remedy.clocks.due is not None:
            clock = time_text(remedy.clocks.due).split(" ")[1]
            until = f" until {clock} UTC ({lasting(remedy.clocks.due - now)} left)"
        return f"It waits for a yes{until}. Without one nothing is done."
    no = state.denied.get(remedy.node)
    if no is not None and no.bears(plan.rule, now):
        return f"{no.by} denied it; no new request until {time_text(no.until)}."
    if remedy.approval.approved:
        status = f"{remedy.approval.approved} approved it. It is {stage}"
    elif remedy.approval.manual:
        status = f"A person has taken it out, and only a person gives it back. It is {stage}"
    elif remedy.approval.expired is not None and remedy.stage is Stage.SUSPECT:
        status = "Not approved in time: it is only observed until new evidence arrives"
    else:
        status = f"Nothing waits for you. It is {stage}"
    why = doing or ("" if remedy.denial is None else remedy.denial.text)
    return f"{status}: {why}" if why else f"{status}."


def _budget_left(runner: RemedyRunner, node: str, now: float) -> tuple[str, ...]:
    ctx = StepContext(runner.engine.state, runner.settings, now)
    counts, budget = ctx.group_counts, runner.settings.budget
    lines = []
    for group in ctx.failure_domain(ctx.remedy(node)).groups:
        size = counts.sizes.get(group, 0)
        limit, used = bound(max(size, 1), budget), len(ctx.state.budget.quarantined(group))
        kind, _, name = group.partition("=")
        of = f"{kind} {name}" if name else "the fleet"
        lines.append(f"{max(limit - used, 0)} of {limit} left in {of} ({size} nodes)")
    return tuple(lines)


def prevailing(runner: RemedyRunner) -> Prevailing:
    """What holds for all."""
    state = runner.engine.state
    stop, breaker = state.stop, state.breaker
    tripped = breaker.standing.value != "closed"
    return Prevailing(
        ceiling=runner.settings.ceiling,
        stopped="" if stop is None else f"{stop.by}: {stop.reason}".rstrip(": "),
        breaker=f"{breaker.standing.value.replace('_', ' ')}: {breaker.why}" if tripped else "",
        frozen=state.world.guard.why,
        approval_needed=state.world.journal.loss_risk,
    )
