"""Spares that have a fault of their own while they are reserved or stand in for a node. Pure.

Such a spare is left to its own remedy, and another one is asked for. It is a spare again when that
remedy is over.
"""

import msgspec

from accelwatch.action.intent import Intent, Mark
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.plan.spare_tests import INCIDENT
from accelwatch.remediation.policy.plan.standing_in import (
    begin_return,
    candidate,
    fault_of,
    is_dead,
)
from accelwatch.remediation.policy.state import spares
from accelwatch.remediation.policy.state.outcome import Loudness
from accelwatch.remediation.policy.state.spares import SpareStanding
from accelwatch.remediation.policy.state.step_context import StepContext
from accelwatch.remediation.policy.table.transitions import keep

replace = msgspec.structs.replace


def look_after_spares(ctx: StepContext) -> None:
    """Replace the spares that have died, and take back those that work again."""
    for name, spare in list(ctx.state.spares.spares.items()):
        if is_dead(ctx, name):
            _leave_to_its_remedy(ctx, name)
        elif spare.broken and spare.standing is SpareStanding.FAILED and _is_idle(ctx, name):
            ctx.set("spares", spares.mended(ctx.state.spares, name))
            if spare.away:
                begin_return(ctx, name, _of_spare(ctx, name))


def _leave_to_its_remedy(ctx: StepContext, name: str) -> None:
    fault = fault_of(ctx, name)
    ctx.set("spares", spares.broken(ctx.state.spares, name, fault))
    for remedy in list(ctx.state.remedies.values()):
        if remedy.spare != name:
            continue
        text = f"the spare {name}, which stands in for {remedy.node}, is bad itself: {fault}"
        ctx.note(remedy, f"{text}; it has a remedy of its own", Loudness.TELL)
        after = replace(remedy, spare="", spare_asked=None)
        drawing = remedy.wants is Kind.DRAW_SPARE and not remedy.cancelling
        if drawing and remedy.pursuing is not None:
            ctx.cancel(remedy.pursuing)
            after = replace(after, cancelling=True)
        keep(ctx, remedy, after)


def _is_idle(ctx: StepContext, name: str) -> bool:
    """Whether it is well, runs nothing, and no draw of it is on its way any more."""
    seen = ctx.world.seen.get(name)
    if seen is None or seen.jobs or not candidate(ctx, name).usable:
        return False
    wanted = (one.pursuing for one in ctx.state.remedies.values())
    under_way = (*wanted, *ctx.state.lingering.values(), *ctx.state.chores.values())
    return not any(
        intent is not None and intent.spare == name and intent.kind is Kind.DRAW_SPARE
        for intent in under_way
    )


def _of_spare(ctx: StepContext, name: str) -> Intent:
    return Intent(
        kind=Kind.RETURN_SPARE,
        mark=Mark(INCIDENT, ctx.state.token),
        node=name,
        reason="spare that works again",
        deadline=ctx.now,
    )
