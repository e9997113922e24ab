"""Jobs that have died of a node before they could be moved off it: they are begun again elsewhere. Pure.

A fault is often seen after the job has ended by it. Such a job is looked for, and one that has died is
moved like any other, by the same bounds; how it ended otherwise is nobody's business.
"""

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.conditions.scene import Scene
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.jobs.resuming import dead_of, revert_resume
from accelwatch.remediation.policy.state.model import Remedy

replace = msgspec.structs.replace


def job_lost(at: Scene) -> Remedy:
    """A job has died before anything was done to it; the fault of the node is what ended it."""
    pursued = at.event.pursued
    if pursued is None or pursued.intent.job is None or pursued.observed is None:
        return at.remedy
    job, observed_job = pursued.intent.job, pursued.observed.job
    if pursued.intent.kind is Kind.MOVE_JOB:
        revert_resume(at.ctx, job)
    if observed_job is not None:
        dead_of(at.ctx, job, observed_job)
    at.ctx.note(
        at.remedy, f"job {job} has died of {at.remedy.node}: {pursued.text}", Loudness.NOTIFY
    )
    return replace(
        at.remedy,
        jobs=replace(at.remedy.jobs, lost=(*at.remedy.jobs.lost, job), lost_at=at.ctx.now),
    )


def leave_unknown_job(at: Scene) -> Remedy:
    """Nobody can say how a job has ended: it is let be."""
    pursued = at.event.pursued
    if pursued is None or pursued.intent.job is None:
        return at.remedy
    text = f"how job {pursued.intent.job} has ended is not known: {pursued.text}"
    at.ctx.note(at.remedy, text, Loudness.NOTIFY)
    return replace(
        at.remedy,
        jobs=replace(at.remedy.jobs, looked_for=(*at.remedy.jobs.looked_for, pursued.intent.job)),
    )
