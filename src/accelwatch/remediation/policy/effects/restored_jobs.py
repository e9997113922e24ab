"""What moves have changed of jobs is put back."""

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.conditions.transition import Transition
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import CHORES
from accelwatch.remediation.policy.effects.intents import intent_of, restoring
from accelwatch.remediation.policy.plan.spares.stand_ins import return_spare
from accelwatch.remediation.policy.state.model import Remedy

replace = msgspec.structs.replace


def restore_jobs(transition: Transition) -> Remedy:
    """Restore what moves have changed of jobs before the node accepts work again.

    A job that waits for the node starts as soon as that is open, and a job that runs keeps its lists.
    """
    return _with_jobs_put_back(transition.ctx, transition.remedy)


def _with_jobs_put_back(ctx: StepContext, remedy: Remedy) -> Remedy:
    for moved in (
        *remedy.jobs.moved,
        *remedy.jobs.unfinished,
        *_moves_of_pending_jobs(ctx, remedy),
    ):
        restore_job(ctx, moved)
    return replace(remedy, jobs=replace(remedy.jobs, moved=(), unfinished=(), stranded=()))


def with_chores(ctx: StepContext, remedy: Remedy) -> Remedy:
    """What the moves of jobs have changed is put back as soon as it can be."""
    remedy = _with_jobs_put_back(ctx, remedy)
    if remedy.jobs.spare:
        intent = intent_of(ctx, remedy, Kind.RETURN_SPARE)
        remedy = return_spare(ctx, remedy, intent)
    return replace(
        remedy, jobs=replace(remedy.jobs, lost=(), lost_at=None, spareless=False, spare_asked=None)
    )


def restore_job(ctx: StepContext, move: Intent) -> None:
    """Have what the move of a job has changed put back as soon as it can be."""
    intent = restoring(move, ctx.now)
    ctx.set_row(CHORES, f"{move.node} {move.job}", intent)
    ctx.pursue(intent)


def _moves_of_pending_jobs(ctx: StepContext, remedy: Remedy) -> list[Intent]:
    """The moves that did not come about of jobs that may be held for them."""
    handled = {*remedy.jobs.handled, *(move.job for move in remedy.jobs.unfinished)}
    left = [job for job in remedy.jobs.stranded if job not in handled]
    move = intent_of(ctx, remedy, Kind.MOVE_JOB) if left else None
    return [] if move is None else [replace(move, job=job) for job in left]
