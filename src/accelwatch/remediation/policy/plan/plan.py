"""What would be done for a node now, step by step, with all that is in its way and its cost. Pure.

A plan is shown before anybody says yes, and has the digest to which an approval is bound: what is shown
is what is approved, and a rule that leads on to something else needs another yes.
"""

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.context.cases import counting
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.guards.denial import denials
from accelwatch.remediation.policy.plan.digest import digest_of, is_plan
from accelwatch.remediation.policy.plan.gates import evaluate_guards, leader
from accelwatch.remediation.policy.plan.model import Plan, PlanStep, Price, Worth
from accelwatch.remediation.policy.plan.planned_steps import skipped_steps, steps_of
from accelwatch.remediation.policy.state.case import Case, Policy
from accelwatch.remediation.policy.state.model import Remedy, RemedyState
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import RemedySettings

# Hours until a person has found a bad node and replaced it: the mean of manual triage,
# 85 to 118 minutes, in the study of recovery policies that docs/remediation.md describes.
MANUAL_TRIAGE_H = 1.5
# Hours that a node is away for one rung, until it is checked again.
REMEDY_H = {Kind.RESET_DEVICE: 0.1, Kind.REBOOT: 0.25, Kind.POWER_CYCLE: 0.3}
# Hours until a job that was moved computes again: it loads its checkpoint.
RELOAD_H = 0.55


def planned(
    state: RemedyState,
    node: str,
    now: float,
    settings: RemedySettings,
    worth: Worth | None = None,
) -> Plan:
    """The plan for a node at a moment in Unix seconds."""
    ctx = StepContext(state, settings, now)
    remedy = ctx.remedy(node)
    case = leader(ctx, remedy)
    if remedy.stage in _AFTER or remedy.approval.manual:
        policy, incident = remedy.policy, remedy.incident
    else:
        policy = None if case is None else case.policy
        incident = "" if case is None else case.incident
    if policy is None:
        text = remedy.trouble or _nothing(ctx, remedy)
        return Plan(node=node, stage=remedy.stage, text=text)
    led = msgspec.structs.replace(remedy, policy=policy, incident=incident)
    digest, as_of = digest_of(ctx, remedy, policy, incident), ctx.observed_at(remedy)
    left = tuple((step.kind, step.text) for step in steps_of(ctx, led, policy))
    waits = remedy.stage is Stage.AWAITING_APPROVAL
    if waits and is_plan(remedy.approval.asked, ctx, remedy, policy, incident):
        # Links that were sent have it, also where an earlier version of this program made it.
        digest = remedy.approval.asked
    if waits and not digest:
        # The node's jobs are unknown now: the request that was sent still waits.
        digest, left = (
            remedy.approval.asked,
            tuple((step.kind, step.text) for step in remedy.approval.asked_steps),
        )
        as_of = remedy.approval.asked_as_of if as_of is None else as_of
    steps = tuple(_step(ctx, led, kind, text, case) for kind, text in left)
    return Plan(
        node=node,
        stage=remedy.stage,
        incident=incident,
        rule=policy.rule,
        mode=policy.mode.value,
        confidence=policy.confidence.value,
        act_on=policy.act_on.value,
        digest=digest,
        steps=steps,
        price=None if worth is None else price_of(steps, policy, worth),
        text=skipped_steps(ctx, led, policy),
        as_of=as_of,
        results=remedy.repair.results,
    )


# The policy that started leads on.
_AFTER = frozenset(
    {
        Stage.QUARANTINING,
        Stage.QUARANTINED,
        Stage.FENCING,
        Stage.DRAINING,
        Stage.REMEDIATING,
        Stage.VERIFYING,
        Stage.RELEASING,
        Stage.SERVICE,
        Stage.FAILED,
        Stage.UNKNOWN,
        Stage.PROBATION,
    }
)


def price_of(steps: tuple[PlanStep, ...], policy: Policy, worth: Worth) -> Price:
    """What acting now saves and costs, expected; a step that is tried only after another has failed
    counts half of the one before it."""
    kinds = [step.kind for step in steps]
    saved = MANUAL_TRIAGE_H * worth.job_devices if Kind.QUARANTINE in kinds else 0.0
    lost, share = 0.0, 1.0
    for kind in kinds:
        if kind in REMEDY_H:
            lost += share * REMEDY_H[kind] * worth.devices
            share /= 2
    if Kind.RELEASE in kinds:
        lost += policy.passive_s / 3600 * worth.devices
    if Kind.MOVE_JOB in kinds:
        lost += (RELOAD_H + worth.checkpoint_age_s / 3600) * worth.job_devices
    return Price(saved=saved, lost=lost)


def _step(ctx: StepView, remedy: Remedy, kind: Kind, text: str, case: Case | None) -> PlanStep:
    of_case = case if kind is Kind.QUARANTINE and not remedy.approval.manual else None
    blockers = denials(evaluate_guards(ctx, remedy, kind, of_case))
    return PlanStep(kind=kind, text=text, in_the_way=blockers)


def _nothing(ctx: StepView, remedy: Remedy) -> str:
    if remedy.stage is Stage.HEALTHY:
        return "nothing that we know of is wrong with it"
    if counting(ctx, remedy):
        return "no rule that fires on it requests an action"
    return "a person has taken it out, and only a person gives it back"
