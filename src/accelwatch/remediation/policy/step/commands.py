"""Commands of people: what they change for all, and for the remedy of one node."""

from collections.abc import Mapping
from types import MappingProxyType

from accelwatch.remediation.policy.conditions.permission import plan_of
from accelwatch.remediation.policy.conditions.transition import RemedyEvent
from accelwatch.remediation.policy.context.cases import leading
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import BOUNDARIES, BREAKER, STOP, VETOES
from accelwatch.remediation.policy.guards.limits import breaker
from accelwatch.remediation.policy.state.changes import Command, Verb
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.orders import Boundary, Stop, Veto
from accelwatch.remediation.policy.state.stage import Stage, Trigger
from accelwatch.remediation.policy.table.transitions import apply_event

TRIGGERS: Mapping[Verb, Trigger] = MappingProxyType(
    {
        Verb.APPROVE: Trigger.APPROVE,
        Verb.DENY: Trigger.DENY,
        Verb.QUARANTINE: Trigger.QUARANTINE,
        Verb.RELEASE: Trigger.RELEASE,
        Verb.FORCE_RELEASE: Trigger.FORCE_RELEASE,
        Verb.RECOVERED: Trigger.RECOVERED,
        Verb.RETRY: Trigger.RETRY,
        Verb.FORGET: Trigger.FORGET,
    }
)


def commanded(ctx: StepContext, command: Command) -> None:
    """Carry a person's command out; notify of one that is impossible."""
    match command.verb:
        case Verb.STOP:
            ctx.set(STOP, Stop(by=command.by, at=command.at, reason=command.reason))
            ctx.note(None, f"{command.by} stopped everything", Loudness.NOTIFY, command.by)
        case Verb.START:
            ctx.set(STOP, None)
            ctx.note(None, f"{command.by} resumed everything", Loudness.NOTIFY, command.by)
        case Verb.RESET_BREAKER:
            ctx.set(BREAKER, breaker.reset(ctx.state.breaker, ctx.now, command.by))
        case Verb.HOLD:
            veto = Veto(
                node=command.node,
                by=command.by,
                reason=command.reason,
                at=command.at,
                until=command.until,
            )
            ctx.set_row(VETOES, command.node, veto)
        case Verb.UNHOLD:
            ctx.set_row(VETOES, command.node, None)
        case _:
            _of_node(ctx, command)


def _why_vain(ctx: StepContext, remedy: Remedy, command: Command) -> str:
    if bad := _bad(ctx, remedy, command):
        return bad
    if command.verb is not Verb.APPROVE or remedy.stage is not Stage.AWAITING_APPROVAL:
        return f"{command.node} is {remedy.stage}"
    plan = plan_of(ctx, remedy)
    if not plan:
        return f"what runs on {command.node} is unknown now; the plan keeps waiting"
    return f"the plan for {command.node} has changed: {plan}; check it again"


def _of_node(ctx: StepContext, command: Command) -> None:
    if command.verb is Verb.RECOVERED:
        at = command.at if command.until is None else min(command.until, command.at)
        boundary = Boundary(node=command.node, at=at, by=command.by)
        ctx.set_row(BOUNDARIES, command.node, boundary)
    trigger = TRIGGERS[command.verb]
    remedy = ctx.remedy(command.node)
    if apply_event(ctx, remedy, RemedyEvent(trigger, command=command)):
        text = f"{command.verb} by {command.by}: {command.reason}".rstrip(": ")
        ctx.note(ctx.remedy(command.node), text, Loudness.LOG, command.by)
    elif command.verb is not Verb.RECOVERED:
        text = f"{command.verb} changes nothing: {_why_vain(ctx, remedy, command)}"
        ctx.note(remedy, text, Loudness.NOTIFY, command.by)


def _bad(ctx: StepContext, remedy: Remedy, command: Command) -> str:
    """Why a node is not given back, and what `--force` would do; empty where that is not the reason."""
    wrong = dict.fromkeys(case.title or case.policy.rule for case in leading(ctx, remedy))
    if command.verb is not Verb.RELEASE or not wrong:
        return ""
    node, hours = command.node, ctx.settings.override_s / 3600
    after = (
        "only a person gives it back"
        if remedy.approval.manual
        else "it comes back by itself when that is over"
    )
    return (
        f"{node} is {remedy.stage.value.replace('_', ' ')} and looks bad: "
        f"{'; '.join(wrong)}; {after}. "
        f"accelwatch remedy release {node} --force --reason WHY gives it back now: nothing "
        f"is verified, jobs may start on it at once, and for {hours:g} h it is not taken "
        "out again for the current fault"
    )
