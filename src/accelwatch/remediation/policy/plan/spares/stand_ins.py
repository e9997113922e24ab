"""Who stands in for a node that is out, and when he is a spare again. Pure."""

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.context.cases import barring, is_barred
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import CHORES, SPARES
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.plan.spares.candidates import drawn
from accelwatch.remediation.policy.state.clocks import RESTORE_S, SPARE_AGAIN_S
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch.remediation.policy.state.spares import spare_transitions
from accelwatch.remediation.policy.state.spares.model import SpareStatus
from accelwatch.remediation.policy.state.spares.spare_selection import Drawn

replace = msgspec.structs.replace


def needs_spare(ctx: StepView, remedy: Remedy) -> bool:
    """Whether a spare is to be requested; again, where none could be drawn, as soon as one can."""
    if remedy.policy is None or not remedy.policy.draw_spare or remedy.jobs.spare:
        return False
    return not remedy.jobs.spareless or may_request_spare(ctx, remedy)


def may_request_spare(ctx: StepView, remedy: Remedy) -> bool:
    """Whether a spare can be drawn now, and none was tried in vain a moment ago."""
    requested_at = remedy.jobs.spare_asked
    if requested_at is not None and 0 <= ctx.now - requested_at < SPARE_AGAIN_S:
        return False
    return isinstance(drawn(ctx, remedy)[1], Drawn)


def reserve(ctx: StepContext, remedy: Remedy) -> Remedy:
    """Reserve the best spare for a node; the scheduler is changed only after that is written down."""
    state, answer = drawn(ctx, remedy)
    if isinstance(answer, Denial):
        return remedy
    ctx.set(SPARES, state)
    return replace(remedy, jobs=replace(remedy.jobs, spare=answer.name, spare_asked=ctx.now))


def activate_spare(ctx: StepContext, remedy: Remedy, pursued: Pursued) -> Remedy:
    """The spare that was reserved is in the pool now; a broken one is there as well."""
    name = pursued.intent.spare
    if _is(ctx, name, SpareStatus.FAILED):
        ctx.set(SPARES, spare_transitions.drawn_late(ctx.state.spares, name, pursued.original))
    if not _is(ctx, name, SpareStatus.RESERVED) or remedy.jobs.spare != name:
        return remedy
    ctx.set(SPARES, spare_transitions.activated(ctx.state.spares, name, pursued.original))
    if remedy.jobs.spareless:
        ctx.note(remedy, f"the spare {name} now replaces {remedy.node}", Loudness.NOTIFY)
    return replace(remedy, jobs=replace(remedy.jobs, spareless=False, spare_asked=None))


def without(ctx: StepContext, remedy: Remedy, text: str) -> Remedy:
    """Nobody stands in for it: its jobs go on without, and a person is notified the first time."""
    if not remedy.jobs.spareless:
        again = "a spare is drawn as soon as there is one that fits"
        line = f"no spare replaces {remedy.node}: {text}; {again}"
        ctx.note(remedy, line, Loudness.ALERT)
    return replace(remedy, jobs=replace(remedy.jobs, spare="", spareless=True))


def not_drawn(ctx: StepContext, remedy: Remedy, pursued: Pursued) -> Remedy:
    """The draw of a spare has ended without it; what had happened by then is undone."""
    intent, changed = pursued.intent, bool(pursued.original)
    if _is(ctx, intent.spare, SpareStatus.FAILED):
        if changed:
            ctx.set(
                SPARES,
                spare_transitions.drawn_late(ctx.state.spares, intent.spare, pursued.original),
            )
        return remedy
    if remedy.jobs.spare != intent.spare:
        return remedy
    if changed and _is(ctx, remedy.jobs.spare, SpareStatus.RESERVED):
        ctx.set(
            SPARES, spare_transitions.activated(ctx.state.spares, intent.spare, pursued.original)
        )
        _recall_spare(ctx, remedy.jobs.spare, intent)
    elif _is(ctx, remedy.jobs.spare, SpareStatus.RESERVED):
        ctx.set(SPARES, spare_transitions.released(ctx.state.spares, remedy.jobs.spare))
    if pursued.result is PursuitResult.CANCELLED:
        return replace(remedy, jobs=replace(remedy.jobs, spare="", spare_asked=None))
    return without(ctx, remedy, pursued.text)


def return_spare(ctx: StepContext, remedy: Remedy, intent: Intent) -> Remedy:
    """The node works again, or is no business of ours any more: its spare goes back."""
    if is_dead(ctx, remedy.jobs.spare):
        ctx.set(
            SPARES,
            spare_transitions.broken(
                ctx.state.spares, remedy.jobs.spare, fault_of(ctx, remedy.jobs.spare)
            ),
        )
    elif _is(ctx, remedy.jobs.spare, SpareStatus.RESERVED):
        ctx.set(SPARES, spare_transitions.released(ctx.state.spares, remedy.jobs.spare))
    elif _is(ctx, remedy.jobs.spare, SpareStatus.IN_USE):
        _recall_spare(ctx, remedy.jobs.spare, intent)
    return replace(remedy, jobs=replace(remedy.jobs, spare=""))


def _recall_spare(ctx: StepContext, name: str, intent: Intent) -> None:
    ctx.set(SPARES, spare_transitions.returning(ctx.state.spares, name))
    start_return(ctx, name, intent)


def recall_unwanted_spare(ctx: StepContext, pursued: Pursued) -> None:
    """A spare was drawn that nobody wants any more: it comes back, or is known to be away."""
    draw = pursued.intent
    if _is(ctx, draw.spare, SpareStatus.FAILED):
        ctx.set(
            SPARES, spare_transitions.drawn_late(ctx.state.spares, draw.spare, pursued.original)
        )
    elif _is(ctx, draw.spare, SpareStatus.READY):
        ctx.set(SPARES, spare_transitions.recalled(ctx.state.spares, draw.spare, pursued.original))
        start_return(ctx, draw.spare, draw)


def start_return(ctx: StepContext, name: str, intent: Intent) -> None:
    """Have a spare put where it was before its draw; `intent` is about it."""
    back = replace(
        intent,
        kind=Kind.RETURN_SPARE,
        spare=name,
        original=ctx.state.spares.spares[name].original,
        asked=ctx.now,
        deadline=ctx.now + RESTORE_S,
    )
    ctx.set_row(CHORES, f"spare {name}", back)
    ctx.pursue(back)


def is_dead(ctx: StepContext, name: str) -> bool:
    """Whether a spare that is reserved or in use has a fault of its own."""
    busy = _is(ctx, name, SpareStatus.RESERVED) or _is(ctx, name, SpareStatus.IN_USE)
    remedy = ctx.state.remedies.get(ctx.hub_name(name))
    return busy and remedy is not None and is_barred(ctx, remedy)


def fault_of(ctx: StepContext, name: str) -> str:
    """What is wrong with a spare, for people."""
    cases = barring(ctx, ctx.remedy(ctx.hub_name(name)))
    return next((case.title or case.policy.rule for case in cases), "it is taken out itself")


def holder_of(ctx: StepContext, move: Intent) -> Remedy | None:
    """The remedy of the node that a job has left, while that is out."""
    quarantined = (remedy for remedy in ctx.state.remedies.values() if remedy.hold is not None)
    return next((remedy for remedy in quarantined if remedy.target == move.node), None)


def spare_for(ctx: StepContext, move: Intent) -> str:
    """The spare that was drawn since a move began; empty where there is none."""
    remedy = holder_of(ctx, move)
    return "" if remedy is None or remedy.jobs.spare == move.spare else remedy.jobs.spare


def is_back(ctx: StepContext, intent: Intent) -> None:
    """A spare is among the spares again."""
    if intent.kind is Kind.RETURN_SPARE and _is(ctx, intent.spare, SpareStatus.RETURNING):
        ctx.set(SPARES, spare_transitions.returned(ctx.state.spares, intent.spare))


def _is(ctx: StepContext, name: str, status: SpareStatus) -> bool:
    spare = ctx.state.spares.spares.get(name)
    return spare is not None and spare.standing is status
