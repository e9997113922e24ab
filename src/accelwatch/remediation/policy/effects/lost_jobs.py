"""Jobs that died of a node before they could be moved off it: restarts them elsewhere. Pure.

A fault is often seen after the job has ended by it. Such a job is looked for, and one that has died is
moved like any other, by the same bounds; how it ended otherwise is nobody's business.
"""

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.conditions.transition import Transition
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.jobs.resuming import dead_of, revert_resume
from accelwatch.remediation.policy.state.model import Remedy

replace = msgspec.structs.replace


def job_lost(transition: Transition) -> Remedy:
    """A job has died before anything was done to it; the fault of the node is what ended it."""
    pursued = transition.event.pursued
    if pursued is None or pursued.intent.job is None or pursued.observed is None:
        return transition.remedy
    job, observed_job = pursued.intent.job, pursued.observed.job
    if pursued.intent.kind is Kind.MOVE_JOB:
        revert_resume(transition.ctx, job)
    if observed_job is not None:
        dead_of(transition.ctx, job, observed_job)
    transition.ctx.note(
        transition.remedy,
        f"job {job} has died of {transition.remedy.node}: {pursued.text}",
        Loudness.NOTIFY,
    )
    return replace(
        transition.remedy,
        jobs=replace(
            transition.remedy.jobs,
            lost=(*transition.remedy.jobs.lost, job),
            lost_at=transition.ctx.now,
        ),
    )


def leave_unknown_job(transition: Transition) -> Remedy:
    """Nobody can say how a job has ended: it is let be."""
    pursued = transition.event.pursued
    if pursued is None or pursued.intent.job is None:
        return transition.remedy
    text = f"how job {pursued.intent.job} has ended is not known: {pursued.text}"
    transition.ctx.note(transition.remedy, text, Loudness.NOTIFY)
    return replace(
        transition.remedy,
        jobs=replace(
            transition.remedy.jobs,
            looked_for=(*transition.remedy.jobs.looked_for, pursued.intent.job),
        ),
    )
