"""What has become of a step whose end nobody saw, judged by what is seen now. Pure."""

from collections.abc import Callable

from accelwatch.action.observed import JobState
from accelwatch.action.step import Recovery, StartedStep, Step
from accelwatch_slurm.proposals.fencing import NEW_BOOT_S
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.annotations import incident_in, is_fenced, is_of
from accelwatch_slurm.texts.job_text import SlurmJob, names_of
from accelwatch_slurm.texts.node_text import SlurmNode
from accelwatch_slurm.texts.observed_context import SIGNALLED, ObservedContext


def recovered(started_step: StartedStep, context: ObservedContext) -> Recovery:
    """Done when its effect is seen; else again, where that does no harm or it can happen no more."""
    step = started_step.step
    kind = steps.STEPS.get(step.kind)
    if kind is None:
        return Recovery.UNKNOWN
    if step.kind == steps.PROBE:
        return _sent(started_step)
    if step.kind == steps.DRAIN and _has_key_of(started_step, context):
        return Recovery.DONE  # whatever holds the node since then
    is_observed = _is_effect_observed(step, context)
    if is_observed is None:
        return Recovery.UNKNOWN
    if is_observed:
        return Recovery.DONE
    if kind.idempotent or started_step.is_without_effect:
        return Recovery.REDO
    if step.kind == steps.REQUEUE and started_step.started is not None:
        late = context.time - started_step.started > kind.timeout_s + kind.settle_s
        return Recovery.REDO if late else Recovery.UNKNOWN
    return Recovery.UNKNOWN


def _has_key_of(started_step: StartedStep, context: ObservedContext) -> bool:
    """Whether the node bears the key that this very drain has set with its reason, in one call."""
    annotation = context.annotation
    if annotation is None or started_step.started is None or "keep" in started_step.step.arguments:
        return False
    reason = started_step.step.arguments.get("reason", "")
    return is_of(annotation, reason) and annotation.since >= started_step.started


def _sent(started_step: StartedStep) -> Recovery:
    """Nothing of it is to be seen, and it is not sent twice: what may have been sent counts as sent."""
    return Recovery.REDO if started_step.is_without_effect else Recovery.DONE


def _is_effect_observed(step: Step, context: ObservedContext) -> bool | None:
    """Whether the effect is there; None when it was not read."""
    if step.kind in _OF_NODE:
        return None if context.node is None else _OF_NODE[step.kind](step, context, context.node)
    if step.kind in _OF_JOB:
        if context.job is None:
            return step.kind in (steps.REQUEUE, steps.SIGNAL, steps.CANCEL) or None
        named = step.arguments.get("job", "")
        job = next(
            (component for component in context.components if component.id == named), context.job
        )
        return _OF_JOB[step.kind](step, context, job)
    there = context.reservations.get(step.arguments.get("name", ""))
    if step.kind == steps.DELETE_RESERVATION:
        return there is None
    if step.kind == steps.RENEW_RESERVATION:
        before = float(step.precondition.get("ends", "inf"))
        return there is None or there.end_time is None or there.end_time > before
    desired = set(names_of(step.arguments.get("nodes", "")))
    return desired == (set() if there is None else set(there.nodes))


def _booted(step: Step, _: ObservedContext, node: SlurmNode) -> bool:
    before = float(step.precondition.get("boot", "inf"))
    again = node.boot_time is not None and node.boot_time > before + NEW_BOOT_S
    return node.rebooting or again


_OF_NODE: dict[str, Callable[[Step, ObservedContext, SlurmNode], bool]] = {
    steps.DRAIN: lambda _, __, node: node.drained and bool(incident_in(node.reason)),
    steps.UNDRAIN: lambda _, __, node: not node.drained,
    steps.RESUME: lambda _, __, node: not node.drained and not node.down,
    steps.LEAVE_DOWN: lambda _, __, node: not incident_in(node.reason),
    steps.UNMARK: lambda _, context, __: context.annotation is None,
    steps.SET_DOWN: lambda _, __, node: node.down and is_fenced(node.reason),
    steps.POWER_OFF: lambda _, context, node: node.name in context.off,
    steps.REBOOT: _booted,
    steps.RUN_TEST: lambda _, context, __: context.trial is not None,
}


def _requeued(step: Step, _: ObservedContext, job: SlurmJob) -> bool:
    again = job.restarts > int(step.precondition.get("restarts", "0"))
    if step.precondition.get("died"):
        return again
    return again or job.state is not JobState.RUNNING


def _has_lists(step: Step, _: ObservedContext, job: SlurmJob) -> bool:
    now = {
        "ExcNodeList": job.exclude,
        "ReqNodeList": job.require,
        "ReservationName": job.reservation,
    }
    requested = step.arguments.get("AdminComment", "").split()
    return set(requested) <= set(job.admin_comment.split()) and all(
        set(names_of(value)) == set(names_of(now[key]))
        for key, value in step.arguments.items()
        if key in now
    )


_OF_JOB: dict[str, Callable[[Step, ObservedContext, SlurmJob], bool]] = {
    steps.HOLD: lambda _, __, job: job.priority == 0,
    steps.LET_GO: lambda _, __, job: job.priority != 0,
    steps.ALLOW_REQUEUE: lambda _, __, job: job.requeueable,
    steps.SIGNAL: lambda _, context, __: bool(context.own.get(SIGNALLED)),
    steps.REQUEUE: _requeued,
    steps.CANCEL: lambda _, __, job: job.state in (JobState.COMPLETING, JobState.FINISHED),
    steps.STEER: _has_lists,
    steps.UNSTEER: _has_lists,
    steps.LEAVE_RESERVATION: _has_lists,
    steps.START: lambda _, context, job: (
        job.state is not JobState.WAITING
        or (job.may_start is not None and job.may_start <= context.time)
    ),
}
