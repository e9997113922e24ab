"""From one moment to the next: what has changed and what is seen become decisions. Pure.

Nothing here knows a clock, a disk or a network: the same state, changes and observations give the same
outcome. Nothing of an outcome may be done before its records are on disk.
"""

from collections.abc import Iterable

import msgspec

from accelwatch.remediation.policy.conditions.transition import RemedyEvent
from accelwatch.remediation.policy.context.cases import needs_quarantine
from accelwatch.remediation.policy.context.outcome import Outcome
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import CANARY, SPARES
from accelwatch.remediation.policy.guards.limits import canary
from accelwatch.remediation.policy.plan import set_back
from accelwatch.remediation.policy.state.changes import (
    CaseChanged,
    Change,
    Command,
    RulesChanged,
    Started,
    WorldObservation,
)
from accelwatch.remediation.policy.state.model import Remedy, RemedyState
from accelwatch.remediation.policy.state.pursued import Pursued
from accelwatch.remediation.policy.state.spares.model import listed
from accelwatch.remediation.policy.state.stage import Stage, Trigger
from accelwatch.remediation.policy.step.commands import commanded
from accelwatch.remediation.policy.step.pursuit_results import apply_result
from accelwatch.remediation.policy.step.ticking import tick
from accelwatch.remediation.policy.step.world_observations import observed
from accelwatch.remediation.policy.table.machine import ACTING
from accelwatch.remediation.policy.table.transitions import apply_event, store_remedy
from accelwatch.remediation.settings import RemedySettings

_DEFAULT = RemedySettings()
_STARTED = frozenset({*ACTING, Stage.UNKNOWN})


def step(
    state: RemedyState,
    changes: Iterable[Change],
    observations: Iterable[WorldObservation],
    now: float,
    settings: RemedySettings = _DEFAULT,
) -> Outcome:
    """The outcome of a moment; `now` in Unix seconds."""
    ctx = StepContext(state, settings, now)
    # Before anything else: times that are yet to come would make old things look fresh.
    set_back.notice(ctx)
    # What people and rules say comes before what is seen, so that a STOP binds in its own step.
    for change in changes:
        _changed(ctx, change)
    for observation in observations:
        if isinstance(observation, Pursued):
            apply_result(ctx, observation)
        else:
            observed(ctx, observation)
    tick(ctx)
    return ctx.outcome()


def _changed(ctx: StepContext, change: Change) -> None:
    match change:
        case CaseChanged():
            _case(ctx, change)
        case Command():
            commanded(ctx, change)
        case RulesChanged(digests=digests):
            ctx.set(CANARY, canary.noted(ctx.state.canary, digests, ctx.now))
        case Started():
            _started(ctx, change)


def _started(ctx: StepContext, change: Started) -> None:
    """Nothing is known of the world; what was on its way is looked after again."""
    ctx.start_engine(change.token, change.at)
    ctx.set(SPARES, listed(ctx.state.spares, ctx.settings.spares.names()))
    for remedy in ctx.state.remedies.values():
        if remedy.pursuing is not None and remedy.stage is not Stage.UNKNOWN:
            ctx.pursue(remedy.pursuing)
            if remedy.cancelling:
                ctx.cancel(remedy.pursuing)
    for intent in ctx.state.lingering.values():
        ctx.pursue(intent)
        ctx.cancel(intent)
    for intent in ctx.state.chores.values():
        ctx.pursue(intent)


def _case(ctx: StepContext, change: CaseChanged) -> None:
    """Store an incident with what its rules want now, unless another policy has started an intent."""
    case, before = change.case, ctx.remedy(change.node)
    existing = next((other for other in before.cases if other.incident == case.incident), None)
    started = before.stage in _STARTED or before.hold is not None
    if started and existing is not None and case.incident == before.incident:
        # An intent ends by the policy that started it, whatever becomes of its rule meanwhile.
        # A rule that wants more by now counts beside it (`wishes`).
        desired = None if case.policy == existing.policy else case.policy
        case = msgspec.structs.replace(case, policy=existing.policy, wanted=desired)
    case = msgspec.structs.replace(case, evidence_at=set_back.evidence_at(ctx, case, existing))
    status = ctx.node_status(change.node)
    # The boot in which its newest evidence was seen.
    boot_id = "" if status is None else status.boot_id
    if existing is not None and existing.boot_id and case.evidence_at <= existing.evidence_at:
        boot_id = existing.boot_id
    case = msgspec.structs.replace(case, boot_id=boot_id)
    others = tuple(other for other in before.cases if other.incident != case.incident)
    cases = (*others, case) if case.open else others
    if cases == before.cases:
        return
    after: Remedy = msgspec.structs.replace(before, cases=cases)
    if before.stage is not Stage.HEALTHY:
        if not started and needs_quarantine(ctx, after) and not needs_quarantine(ctx, before):
            # A mere notification becomes a remedy here: jobs that had left long before it and the
            # breaker's count of what it has seen since are no business of this one.
            after = msgspec.structs.replace(
                after,
                clocks=msgspec.structs.replace(after.clocks, begun=ctx.now),
                incident=case.incident,
            )
        store_remedy(ctx, before, after)
        return
    if not case.open:
        return
    after = msgspec.structs.replace(
        after,
        incident=case.incident,
        repair=msgspec.structs.replace(
            after.repair, serials={} if status is None else dict(status.serials)
        ),
    )
    apply_event(ctx, after, RemedyEvent(Trigger.FIRED))
