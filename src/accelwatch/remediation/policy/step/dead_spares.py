"""Spares that have a fault of their own while they are reserved or stand in for a node. Pure.

Such a spare is left to its own remedy, and another one is requested. It is a spare again when that
remedy is over.
"""

import msgspec

from accelwatch.action.intent import Intent, OwnerAnnotation
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import SPARES
from accelwatch.remediation.policy.plan.spares.candidates import why_unusable
from accelwatch.remediation.policy.plan.spares.stand_ins import (
    fault_of,
    is_dead,
    start_return,
)
from accelwatch.remediation.policy.plan.tests.spare_tests import INCIDENT
from accelwatch.remediation.policy.state.spares import spare_transitions
from accelwatch.remediation.policy.state.spares.model import SpareStatus
from accelwatch.remediation.policy.table.transitions import store_remedy

replace = msgspec.structs.replace


def reconcile_spares(ctx: StepContext) -> None:
    """Replace the spares that have died, and restore those that work again."""
    for name, spare in list(ctx.state.spares.spares.items()):
        if is_dead(ctx, name):
            _leave_to_its_remedy(ctx, name)
        elif spare.broken and spare.standing is SpareStatus.FAILED and _is_idle(ctx, name):
            ctx.set(SPARES, spare_transitions.repaired(ctx.state.spares, name))
            if spare.away:
                start_return(ctx, name, _of_spare(ctx, name))


def _leave_to_its_remedy(ctx: StepContext, name: str) -> None:
    fault = fault_of(ctx, name)
    ctx.set(SPARES, spare_transitions.broken(ctx.state.spares, name, fault))
    for remedy in list(ctx.state.remedies.values()):
        if remedy.jobs.spare != name:
            continue
        text = f"the spare {name}, which replaces {remedy.node}, is faulty itself: {fault}"
        ctx.note(remedy, f"{text}; it has a remedy of its own", Loudness.NOTIFY)
        after = replace(remedy, jobs=replace(remedy.jobs, spare="", spare_asked=None))
        drawing = remedy.pursued_kind is Kind.DRAW_SPARE and not remedy.cancelling
        if drawing and remedy.pursuing is not None:
            ctx.cancel(remedy.pursuing)
            after = replace(after, cancelling=True)
        store_remedy(ctx, remedy, after)


def _is_idle(ctx: StepContext, name: str) -> bool:
    """Whether it is healthy, runs nothing, and no draw of it is under way any more."""
    observation = ctx.world.scheduler_nodes.get(name)
    status = ctx.node_status(ctx.hub_name(name))
    if observation is None or observation.jobs or status is None:
        return False
    if why_unusable(ctx, name, status):
        return False
    pursued = (remedy.pursuing for remedy in ctx.state.remedies.values())
    in_flight = (*pursued, *ctx.state.lingering.values(), *ctx.state.chores.values())
    return not any(
        intent is not None and intent.spare == name and intent.kind is Kind.DRAW_SPARE
        for intent in in_flight
    )


def _of_spare(ctx: StepContext, name: str) -> Intent:
    return Intent(
        kind=Kind.RETURN_SPARE,
        mark=OwnerAnnotation(INCIDENT, ctx.state.token),
        node=name,
        reason="spare that works again",
        deadline=ctx.now,
    )
