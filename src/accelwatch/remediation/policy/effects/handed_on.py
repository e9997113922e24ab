"""Moves that go on by themselves, so that a node which is well is verified meanwhile. Pure.

A job that has left the node waits in the queue, maybe for hours; that is no matter of the node any more.
"""

import msgspec

from accelwatch.action.intent import JobKey
from accelwatch.remediation.policy.conditions.transition import Transition
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import CHORES
from accelwatch.remediation.policy.effects.restored_jobs import restore_job
from accelwatch.remediation.policy.jobs.chores import MOVED_ON, name_of
from accelwatch.remediation.policy.jobs.following import follow
from accelwatch.remediation.policy.plan.spares.stand_ins import spare_for
from accelwatch.remediation.policy.state.clocks import RESTORE_S
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult

replace = msgspec.structs.replace


def hand_on(transition: Transition) -> Remedy:
    """The move in flight goes on as a chore; the node waits for it no more."""
    move = transition.remedy.pursuing
    if move is None or move.job is None:
        return transition.remedy
    transition.ctx.set_row(CHORES, f"{MOVED_ON}{name_of(move.job)}", move)
    node = transition.remedy.node
    text = f"{node} is verified while job {move.job}, which has left it, waits for nodes"
    transition.ctx.note(transition.remedy, text, Loudness.NOTIFY)
    return _without(transition.remedy, move.job)


def wait_on(transition: Transition) -> Remedy:
    """A job that still waits for nodes when the time of its move is over: it is moved on as a chore."""
    pursued = transition.event.pursued
    if pursued is None or pursued.intent.job is None:
        return transition.remedy
    job = pursued.intent.job
    move = replace(
        pursued.intent,
        fenced_by_job=True,  # it was seen in the queue: no old copy of it runs
        original={**pursued.original, **pursued.intent.original},
        asked=transition.ctx.now,
        deadline=transition.ctx.now + RESTORE_S,
    )
    transition.ctx.set_row(CHORES, f"{MOVED_ON}{name_of(job)}", move)
    transition.ctx.pursue(move)
    text = f"job {job} keeps waiting for nodes, and {transition.remedy.node} is handled meanwhile"
    transition.ctx.note(transition.remedy, f"{text}: {pursued.text}", Loudness.NOTIFY)
    return _without(transition.remedy, job)


def _without(remedy: Remedy, job: JobKey) -> Remedy:
    """The remedy has nothing more to do about a job."""
    return replace(
        remedy,
        pursuing=None,
        cancelling=False,
        jobs=replace(
            remedy.jobs,
            handled=(*remedy.jobs.handled, job),
            unfinished=tuple(move for move in remedy.jobs.unfinished if move.job != job),
        ),
    )


def moved_on(ctx: StepContext, key: str, pursued: Pursued) -> None:
    """How such a move has ended; its job has its user's lists back whatever came of it."""
    move = pursued.intent
    remedy = next(
        (candidate for candidate in ctx.state.remedies.values() if candidate.target == move.node),
        None,
    )
    node = move.node if remedy is None else remedy.node
    subject = replace(ctx.remedy(node), incident=move.mark.incident)
    if pursued.result is PursuitResult.UNKNOWN:
        text = f"it is unknown whether the move of job {move.job} was done: {pursued.text}"
        ctx.note(subject, text, Loudness.ALERT)
        return
    ctx.set_row(CHORES, key, None)
    merged = replace(move, original={**pursued.original, **move.original})
    if pursued.result is PursuitResult.CANCELLED and (spare := spare_for(ctx, move)):
        # It was cancelled for a spare that was drawn for it.
        again = replace(merged, spare=spare, asked=ctx.now, deadline=ctx.now + RESTORE_S)
        ctx.set_row(CHORES, key, again)
        ctx.pursue(again)
        return
    if pursued.result is PursuitResult.ACHIEVED:
        where = ",".join(pursued.moved_to)
        ctx.note(subject, f"job {move.job} runs on {where}", Loudness.NOTIFY)
        follow(ctx, node, replace(pursued, intent=replace(move, revive=False)))
    else:
        text = (
            f"job {move.job} does not run elsewhere: {pursued.text}. It is left to its scheduler, with "
            "its user's own lists"
        )
        ctx.note(subject, text, Loudness.ALERT)
    restore_job(ctx, merged)
