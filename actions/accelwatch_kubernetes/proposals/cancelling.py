"""Which step ends a job without a restart, follows one, or restores what a move has changed. Pure."""

from accelwatch.action.following import followed
from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Wait
from accelwatch_kubernetes.drain import steps
from accelwatch_kubernetes.drain.job_steps import change
from accelwatch_kubernetes.drain.job_view import job_view, stay_text
from accelwatch_kubernetes.drain.leaving import Stay, leaving
from accelwatch_kubernetes.observed_context import ObservedContext
from accelwatch_kubernetes.proposals.moving import is_suspended_for, start_again
from accelwatch_kubernetes.workloads.changes import is_suspended, suspend_patch

_POLL_S = 1.0
# A group of pods without a controller ends with its group: nobody wants them made again.
_SUSPENDED_TOO = (None, Stay.UNOWNED)


def propose_cancel(intent: Intent, context: ObservedContext) -> Proposal:
    """Suspend it, where its kind can be; a job that is not there any more has ended."""
    view, job = job_view(context), context.job
    if intent.job is None or job is None or job.state is JobState.MISSING:
        return Achieved(f"Kubernetes knows no job {intent.job} any more")
    if job.state is JobState.FINISHED:
        return Achieved(f"job {intent.job} has ended")
    here = [pod for pod in view.pods if pod.node == intent.node]
    if not here:
        return Achieved(f"job {intent.job} has left {intent.node}")
    if is_suspended(view.lineage) or all(pod.is_terminating for pod in here):
        return Wait(_POLL_S, f"{here[0].path} is terminating on {intent.node}")
    entries = [leaving(pod, context.options, intent.device, view.claims) for pod in here]
    if all(entry.stay not in _SUSPENDED_TOO for entry in entries):
        texts = "; ".join(stay_text(entry, intent.device) for entry in entries)
        return Refusal(RefusalKind.NOT_ALLOWED, texts)
    changed = suspend_patch(view.lineage, intent.mark)
    if changed is None:
        text = f"job {intent.job} cannot be suspended: scale it down or delete it by hand"
        return Refusal(RefusalKind.IMPOSSIBLE, text)
    return change(steps.SUSPEND, changed)


def propose_follow(intent: Intent, context: ObservedContext) -> Proposal:
    """It runs for long enough, has ended, or has died; never a step."""
    return followed(intent, context.job, context.time)


def propose_restore(intent: Intent, context: ObservedContext) -> Proposal:
    """An eviction changes nothing of what a user wants; a job that a move has suspended starts again."""
    view = job_view(context)
    if is_suspended_for(intent, view) and is_suspended(view.lineage):
        return start_again(intent, view)
    return Achieved(f"job {intent.job} needs no change")
