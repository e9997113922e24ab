"""Effects of rows about requests for approval, their answers, and a person's own commands."""

from collections.abc import Iterable

import msgspec

from accelwatch.alerting.rules.document import Severity
from accelwatch.remediation.policy.conditions.permission import plan_of
from accelwatch.remediation.policy.conditions.transition import RemedyEvent, Transition
from accelwatch.remediation.policy.context.cases import leading
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.tables import DENIED
from accelwatch.remediation.policy.plan.gates import leader
from accelwatch.remediation.policy.plan.planned_steps import steps_of
from accelwatch.remediation.policy.state.clocks import BLIND_AGAIN_S, BLIND_S, DENIED_S
from accelwatch.remediation.policy.state.model import ApprovalStep, Remedy
from accelwatch.remediation.policy.state.orders import Denied
from accelwatch.remediation.policy.state.stage import Stage

replace = msgspec.structs.replace


def actor_of(event: RemedyEvent) -> str:
    """The person whose command it is; empty where there is none."""
    return "" if event.command is None else event.command.by


def by_hand(transition: Transition) -> Remedy:
    """A person quarantines the node: only a person releases it. Stores who and why."""
    command = transition.event.command
    text = "" if command is None else f"{command.by}: {command.reason}".removesuffix(": ")
    return replace(
        transition.remedy,
        approval=replace(
            transition.remedy.approval, manual=True, wanted_out=text, vouched="", forced=""
        ),
    )


def request_approval(transition: Transition) -> Remedy:
    """Request approval of the present plan; a node that waits already sends no new request."""
    remedy, ctx = transition.remedy, transition.ctx
    digest = plan_of(ctx, remedy)
    case = leader(ctx, remedy)
    if case is None:
        return remedy
    remedy = replace(remedy, policy=case.policy, incident=case.incident)
    planned = steps_of(ctx, remedy, case.policy)
    steps = tuple(ApprovalStep(step.kind, step.text) for step in planned)
    if transition.remedy.stage is Stage.AWAITING_APPROVAL:
        changes = (
            "; ".join(changed(remedy.approval.asked_steps, steps)) or "another rule, or another job"
        )
        text = f"the plan for {remedy.node} is another one now ({changes}): plan {digest}"
        ctx.note(remedy, text, Loudness.LOG)
    else:
        # Of marks that a scheduler has lost one message has notified already, for all of them.
        loudness = Loudness.NOTIFY if remedy.mark_lost else Loudness.ALERT
        again = " again" if remedy.mark_lost else ""
        ctx.note(remedy, f"may {remedy.node} be taken out{again}? plan {digest}", loudness)
    return replace(
        remedy,
        approval=replace(
            remedy.approval, asked=digest, asked_steps=steps, asked_as_of=ctx.observed_at(remedy)
        ),
    )


def changed(before: Iterable[ApprovalStep], after: Iterable[ApprovalStep]) -> list[str]:
    """What a plan has, and has not any more, that another one before it had not, or had."""
    old, new = [step.text for step in before], [step.text for step in after]
    more = [f"new: {text}" for text in new if text not in old]
    return [*more, *(f"no more: {text}" for text in old if text not in new)]


def approve(transition: Transition) -> Remedy:
    """A person said yes to this plan, and to no other."""
    by = actor_of(transition.event)
    transition.ctx.note(transition.remedy, f"{by} approved", Loudness.NOTIFY, by)
    return replace(
        transition.remedy,
        approval=replace(
            transition.remedy.approval,
            approved=by,
            approved_plan=plan_of(transition.ctx, transition.remedy),
        ),
    )


def deny(transition: Transition) -> Remedy:
    """A person said no, for a while, to all that the rules which fire now want of the node.

    A denial in force is never cut short by a later one: it goes on for the rules it was made for.
    """
    by, node, now = actor_of(transition.event), transition.remedy.node, transition.ctx.now
    command = transition.event.command
    until = None if command is None else command.until
    until = now + DENIED_S if until is None else until
    rules = dict.fromkeys(case.policy.rule for case in leading(transition.ctx, transition.remedy))
    before = transition.ctx.state.denied.get(node)
    if before is not None and before.until > now:
        rules, until = dict.fromkeys((*before.rules, *rules)), max(before.until, until)
    if rules:
        no = Denied(node=node, rules=tuple(rules), by=by, until=until)
        transition.ctx.set_row(DENIED, node, no)
    text = f"{by} denied {', '.join(rules) or 'what would be done'}"
    transition.ctx.note(transition.remedy, text, Loudness.NOTIFY, by)
    return replace(
        transition.remedy,
        approval=replace(transition.remedy.approval, approved="", approved_plan=""),
    )


def expire(transition: Transition) -> Remedy:
    """Nobody answered: it is only observed, and newer evidence requests approval again."""
    case = leader(transition.ctx, transition.remedy)
    # The recipients know of it. Only a critical case is worth a second alert.
    critical = case is not None and case.severity is Severity.CRITICAL
    loudness = Loudness.ALERT if critical else Loudness.NOTIFY
    transition.ctx.note(transition.remedy, "not approved in time; it is only observed", loudness)
    return replace(
        transition.remedy,
        approval=replace(
            transition.remedy.approval,
            expired=transition.ctx.now if case is None else case.evidence_at,
            asked="",
        ),
    )


def watch_blind(transition: Transition) -> Remedy:
    """The node's state is unknown: wait a while before notifying a person."""
    return replace(
        transition.remedy,
        clocks=replace(transition.remedy.clocks, due=transition.ctx.now + BLIND_S),
    )


def stop_clock(transition: Transition) -> Remedy:
    """The node's state is known again."""
    return replace(transition.remedy, clocks=replace(transition.remedy.clocks, due=None))


def notify_blind(transition: Transition) -> Remedy:
    """A person has to look."""
    transition.ctx.note(
        transition.remedy, "the state of its faults is unknown: data is missing", Loudness.ALERT
    )
    return replace(
        transition.remedy,
        clocks=replace(transition.remedy.clocks, due=transition.ctx.now + BLIND_AGAIN_S),
    )


def vouch(transition: Transition) -> Remedy:
    """A person says that it is well."""
    by = actor_of(transition.event)
    left = tuple(case for case in transition.remedy.cases if not case.orphaned)
    return replace(
        transition.remedy,
        approval=replace(transition.remedy.approval, vouched=by, manual=False),
        cases=left,
    )


def force(transition: Transition) -> Remedy:
    """A person wants it back, whatever is seen."""
    return replace(
        transition.remedy,
        approval=replace(
            transition.remedy.approval, forced=actor_of(transition.event), manual=False
        ),
    )


def reset_failures(transition: Transition) -> Remedy:
    """A person lets it go on."""
    return replace(transition.remedy, failures=0)
