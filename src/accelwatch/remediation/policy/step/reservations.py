"""Reservations of ours that no move needs any more are given back, whoever made them when. Pure.

Every poll shows them, so one that a crash has left behind, or of which the journal knows nothing, is
found like any other. While its job is being moved it stays.
"""

from collections.abc import Collection

from accelwatch.action.intent import Intent, JobKey, OwnerAnnotation
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import ReservationObservation
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import CHORES
from accelwatch.remediation.policy.context.world_tables import NOT_BEFORE, RESERVATIONS
from accelwatch.remediation.policy.effects.intents import DEADLINES
from accelwatch.remediation.policy.jobs.jobs import lost_jobs
from accelwatch.remediation.policy.state.clocks import RETRY_S
from accelwatch.remediation.policy.state.model import Remedy, RemedyState
from accelwatch.remediation.policy.state.pursued import Poll, Pursued, PursuitResult
from accelwatch.remediation.policy.state.stage import Stage

# Replaces the incident in the mark of a chore that releases a reservation.
INCIDENT = "reservation"
# Begins the keys of chores that give one back; what follows is its name.
CHORE = "reservation "
_NEVER = float("-inf")
_MOVING = frozenset({Kind.MOVE_JOB, Kind.DRAW_SPARE})


def record_poll(ctx: StepContext, poll: Poll) -> None:
    """Record which reservations there are."""
    before = ctx.world.reservations.get(poll.action, ())
    if before == poll.reservations:
        return
    ctx.set_world_row(RESERVATIONS, poll.action, poll.reservations)
    for name in {reservation.name for reservation in before} - {
        reservation.name for reservation in poll.reservations
    }:
        ctx.set_world_row(NOT_BEFORE, name, None)


def recheck_chores(ctx: StepContext, left: Collection[JobKey]) -> None:
    """Jobs have left nodes: chores that wait for that, to restore their users' lists, poll at once."""
    for intent in ctx.state.chores.values():
        restored_job = intent.job if intent.kind is Kind.RESTORE_JOB else None
        if restored_job is not None and any(same_job(restored_job, job) for job in left):
            ctx.pursue(intent)


def return_reservations(ctx: StepContext) -> None:
    """Begin to give back those whose job is not being moved."""
    _retain_moving(ctx)
    for action, kept in ctx.world.reservations.items():
        scheduler = ctx.world.schedulers.get(action)
        if scheduler is None or scheduler.unavailable:
            continue
        for reservation in kept:
            # What was polled before the last try has ended may be gone by now.
            early = scheduler.time <= ctx.world.not_before.get(reservation.name, _NEVER)
            if not (
                early
                or CHORE + reservation.name in ctx.state.chores
                or _is_needed(ctx, reservation)
            ):
                _start_return(ctx, reservation)


def _retain_moving(ctx: StepContext) -> None:
    """A move that has started since then needs what is being released: its job's nodes and lists."""
    for key, intent in list(ctx.state.chores.items()):
        if key.startswith(CHORE) and intent.job and is_being_moved(ctx.state, intent.job):
            ctx.set_row(CHORES, key, None)
            ctx.cancel(intent)


def _start_return(ctx: StepContext, reservation: ReservationObservation) -> None:
    intent = Intent(
        kind=Kind.RESTORE_JOB,
        mark=OwnerAnnotation(INCIDENT, ctx.state.token),
        node=reservation.node,
        reason="no move needs it any more",
        job=reservation.job,
        asked=ctx.now,
        deadline=ctx.now + DEADLINES[Kind.RESTORE_JOB],
    )
    ctx.set_row(CHORES, CHORE + reservation.name, intent)
    ctx.pursue(intent)


def _is_needed(ctx: StepContext, reservation: ReservationObservation) -> bool:
    """Whether it keeps nodes for a move that goes on, or that comes next."""
    if not reservation.node or is_being_moved(ctx.state, reservation.job):
        return True
    return any(_is_next(ctx, remedy, reservation.job) for remedy in ctx.state.remedies.values())


def _is_next(ctx: StepContext, remedy: Remedy, job: JobKey) -> bool:
    """Whether a job is moved as soon as its spare is drawn, or as what was seen of its node is news."""
    if remedy.stage is not Stage.DRAINING:
        return False
    shown = ctx.scheduler_node(remedy)
    jobs = (*(() if shown is None else shown.jobs), *remedy.jobs.stranded, *lost_jobs(ctx, remedy))
    return any(same_job(other, job) for other in jobs if other not in remedy.jobs.handled)


def is_being_moved(state: RemedyState, job: JobKey) -> bool:
    """Whether something moves a job now, or is about to draw a spare for it."""
    pursued = (remedy.pursuing for remedy in state.remedies.values())
    going = (*pursued, *state.chores.values(), *state.lingering.values())
    return any(
        intent is not None
        and intent.kind in _MOVING
        and intent.job is not None
        and same_job(intent.job, job)
        for intent in going
    )


def same_job(job: JobKey, other: JobKey) -> bool:
    """Whether two keys are of one job: a requeue changes its time of submission.

    The components of a heterogeneous job are moved together.
    """
    if (job.cluster, job.id) != (other.cluster, other.id):
        return False
    return job.part == other.part or (job.part.startswith("+") and other.part.startswith("+"))


def returned(ctx: StepContext, key: str, pursued: Pursued) -> None:
    """A reservation was released, or could not be: that is reported, and tried again later."""
    name, at = key.removeprefix(CHORE), pursued.time
    if pursued.result is not PursuitResult.ACHIEVED:
        at = ctx.now + RETRY_S
        if name not in ctx.world.not_before:
            text = (
                f"the reservation {name}, which no move needs, could not be given back: "
                f"{pursued.text}. It is tried again every {RETRY_S / 60:.0f} minutes; "
                f"deleting it by hand gives its nodes back"
            )
            ctx.call(text)
    if any(
        reservation.name == name for kept in ctx.world.reservations.values() for reservation in kept
    ):
        ctx.set_world_row(NOT_BEFORE, name, at)  # a look that shows it no more drops this
