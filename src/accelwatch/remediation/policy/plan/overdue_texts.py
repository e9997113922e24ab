"""What a person reads of something that waits too long: what it is, why, and what to do. Pure."""

from accelwatch.action.intent import Intent
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.alerting.rules.document import JobPolicy, When
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.jobs.jobs import jobs_of
from accelwatch.remediation.policy.plan.verify import verify_health
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.stage import Stage

_MOST_JOBS = 8


def text_of(ctx: StepView, remedy: Remedy, for_s: float) -> str:
    """One or two sentences and what to do; `for_s` is how long it has waited."""
    node, after = remedy.node, f"after {for_s / 60:.0f} min"
    match remedy.stage:
        case Stage.SUSPECT:
            return (
                f"{node} is bad and still takes work {after}{_denial_text(remedy)}. Take it out by "
                f"hand: accelwatch remedy quarantine {node} --reason TEXT"
            )
        case Stage.QUARANTINING:
            return f"{node} is not out of the pool {after}: drain it at its scheduler by hand"
        case Stage.QUARANTINED:
            return (
                f"{node} takes no work, and nothing else is done about it {after}{_denial_text(remedy)}"
                f". Repair it, then: accelwatch remedy recovered {node} --reason WHY; or give it "
                f"back: accelwatch remedy release {node} --reason WHY"
            )
        case Stage.FENCING:
            return (
                f"it is not proven {after} that what ran on {node} has stopped, so its jobs are held. "
                f"Power off {node}, or reboot it"
            )
        case Stage.DRAINING:
            return _draining(ctx, remedy, after)
        case Stage.REMEDIATING:
            return (
                f"the {_remedy(remedy)} of {node} has not ended {after}. Look at its console; once it "
                "answers it is verified"
            )
        case Stage.VERIFYING:
            return _verifying(ctx, remedy, after)
        case Stage.RELEASING:
            return (
                f"{node} is healthy and not released {after}{_denial_text(remedy)}. Give it back: "
                f"accelwatch remedy release {node} --force --reason WHY"
            )
        case _:
            return (
                f"{node} needs a repair and has no ticket {after}. Repair it, then: "
                f"accelwatch remedy recovered {node} --reason WHY"
            )


def _denial_text(remedy: Remedy) -> str:
    return "" if remedy.denial is None else f": {remedy.denial.text}"


def _draining(ctx: StepView, remedy: Remedy, after: str) -> str:
    node, intent = remedy.node, remedy.pursuing
    if intent is not None and intent.kind is Kind.MOVE_JOB:
        return (
            f"job {intent.job} of {node} does not run elsewhere {after}. Look at the scheduler for what "
            "it waits for: free nodes that fit it, add a spare, or cancel it. It starts by itself as "
            "soon as nodes fit it"
        )
    if intent is not None:
        return f"{_missing_effect(intent)} {after}, as {node} is drained: look at the scheduler"
    jobs = jobs_of(ctx, remedy) or ()
    names = ", ".join(str(job) for job in jobs[:_MOST_JOBS]) or "jobs that cannot be seen now"
    return (
        f"jobs are still on {node} {after} ({names}){_denial_text(remedy)}{_rule_text(remedy)}. "
        f"Cancel or requeue them at the scheduler, or wait: {node} takes no new work"
    )


def _remedy(remedy: Remedy) -> str:
    if remedy.pursued_kind is None:
        return "remedy"
    return (
        "reset"
        if remedy.pursued_kind is Kind.RESET_DEVICE
        else remedy.pursued_kind.value.replace("_", " ")
    )


def _missing_effect(intent: Intent) -> str:
    match intent.kind:
        case Kind.SIGNAL_JOB:
            return f"job {intent.job} got no checkpoint signal"
        case Kind.CANCEL_JOB:
            return f"job {intent.job} is not cancelled"
        case Kind.DRAW_SPARE:
            return f"the spare {intent.spare} is not drawn"
        case Kind.SWAP_IN_JOB:
            return f"job {intent.job} does not continue on its own"
        case _:
            return f"it is not known what has become of job {intent.job}"


def _rule_text(remedy: Remedy) -> str:
    policy = remedy.policy
    if policy is None or remedy.denial is not None:
        return ""
    waits = policy.when is When.AFTER_JOB or policy.job in (JobPolicy.NOTHING, JobPolicy.NOTIFY)
    return "; the rule waits for their end" if waits else ""


def _verifying(ctx: StepView, remedy: Remedy, after: str) -> str:
    node, intent = remedy.node, remedy.pursuing
    if intent is not None and intent.kind is Kind.TEST:
        return (
            f"the test {intent.test} of {node} has not ended {after}. Look at its job at the "
            "scheduler, and cancel that if it hangs"
        )
    answer = verify_health(ctx, remedy)
    why = f": {answer.text}" if isinstance(answer, Denial) else _denial_text(remedy)
    return (
        f"{node} is not confirmed healthy {after}{why}. Look at the node and its agent; to give it "
        f"back all the same: accelwatch remedy release {node} --force --reason WHY"
    )
