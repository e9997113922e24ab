"""A spare that becomes free for a job that waits on in the queue, while its node is under remedy. Pure.

A chore draws the spare, and the move of the job restarts with it.
"""

from collections.abc import Iterator

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import CHORES
from accelwatch.remediation.policy.effects.intents import intent_of
from accelwatch.remediation.policy.jobs.chores import MOVED_ON
from accelwatch.remediation.policy.plan.gates import first_denial
from accelwatch.remediation.policy.plan.spares.stand_ins import (
    activate_spare,
    holder_of,
    may_request_spare,
    not_drawn,
    recall_unwanted_spare,
    reserve,
)
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch.remediation.policy.table.transitions import store_remedy

replace = msgspec.structs.replace
# Begins the keys of chores that draw a spare for a job; what follows is the key of its move.
LATE = "draw for "


def draw_late(ctx: StepContext) -> None:
    """Begin to draw a spare for each job that waits on without one, where that may be."""
    for key, move in list(_waiting(ctx)):
        remedy = holder_of(ctx, move)
        if remedy is None or remedy.jobs.spare or LATE + key in ctx.state.chores:
            continue
        needs_draw = remedy.policy is not None and remedy.policy.draw_spare
        if (
            needs_draw
            and may_request_spare(ctx, remedy)
            and not first_denial(ctx, remedy, Kind.DRAW_SPARE)
        ):
            _start_draw(ctx, key, move, remedy)


def _waiting(ctx: StepContext) -> Iterator[tuple[str, Intent]]:
    for key, intent in ctx.state.chores.items():
        if key.startswith(MOVED_ON) and not intent.spare:
            yield key, intent


def _start_draw(ctx: StepContext, key: str, move: Intent, remedy: Remedy) -> None:
    after = reserve(ctx, remedy)
    store_remedy(ctx, remedy, after)
    draw = replace(intent_of(ctx, after, Kind.DRAW_SPARE), job=move.job)
    ctx.set_row(CHORES, LATE + key, draw)
    ctx.pursue(draw)


def drawn_late(ctx: StepContext, key: str, pursued: Pursued) -> None:
    """The result of the draw; with a spare the move is cancelled, and restarts when that has ended."""
    draw, remedy = pursued.intent, holder_of(ctx, pursued.intent)
    if pursued.result is PursuitResult.UNKNOWN:
        text = f"it is unknown whether the spare {draw.spare} was drawn: {pursued.text}"
        ctx.note(remedy, text, Loudness.ALERT)
        return
    ctx.set_row(CHORES, key, None)
    done = pursued.result is PursuitResult.ACHIEVED
    if remedy is None or remedy.jobs.spare != draw.spare:
        if done or pursued.original:
            recall_unwanted_spare(ctx, pursued)
    elif not done:
        store_remedy(ctx, remedy, not_drawn(ctx, remedy, pursued))
    else:
        store_remedy(ctx, remedy, activate_spare(ctx, remedy, pursued))
        move = ctx.state.chores.get(key.removeprefix(LATE))
        if move is not None:
            ctx.cancel(move)
