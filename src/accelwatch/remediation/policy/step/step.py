"""From one moment to the next: what has changed and what is seen become decisions. Pure.

Nothing here knows a clock, a disk or a network: the same state, changes and observations give the same
outcome. Nothing of an outcome may be done before its records are on disk.
"""

from collections.abc import Iterable

import msgspec

from accelwatch.remediation.policy.guards import canary
from accelwatch.remediation.policy.jobs.jobs import wrong
from accelwatch.remediation.policy.plan import set_back
from accelwatch.remediation.policy.state import spares
from accelwatch.remediation.policy.state.case import Case
from accelwatch.remediation.policy.state.changes import (
    CaseChanged,
    Change,
    Command,
    Heard,
    RulesChanged,
    Started,
)
from accelwatch.remediation.policy.state.model import Remedy, RemedyState
from accelwatch.remediation.policy.state.outcome import Outcome
from accelwatch.remediation.policy.state.pursued import Pursued
from accelwatch.remediation.policy.state.stage import Stage, Trigger
from accelwatch.remediation.policy.state.step_context import StepContext
from accelwatch.remediation.policy.step.commands import commanded
from accelwatch.remediation.policy.step.ending import ended
from accelwatch.remediation.policy.step.sight import observed
from accelwatch.remediation.policy.step.ticking import tick
from accelwatch.remediation.policy.table.conditions import Happening
from accelwatch.remediation.policy.table.machine import ACTING
from accelwatch.remediation.policy.table.transitions import happen, keep
from accelwatch.remediation.settings import RemedySettings

_DEFAULT = RemedySettings()
_BEGUN = frozenset({*ACTING, Stage.UNKNOWN})


def step(
    state: RemedyState,
    changes: Iterable[Change],
    observations: Iterable[Heard],
    now: float,
    settings: RemedySettings = _DEFAULT,
) -> Outcome:
    """The outcome of a moment; `now` in Unix seconds."""
    ctx = StepContext(state, settings, now)
    set_back.notice(ctx)
    for change in changes:
        _changed(ctx, change)
    for one in observations:
        if isinstance(one, Pursued):
            ended(ctx, one)
        else:
            observed(ctx, one)
    tick(ctx)
    return ctx.outcome()


def _changed(ctx: StepContext, change: Change) -> None:
    match change:
        case CaseChanged():
            _case(ctx, change)
        case Command():
            commanded(ctx, change)
        case RulesChanged(digests=digests):
            ctx.set("canary", canary.noted(ctx.state.canary, digests, ctx.now))
        case Started():
            _started(ctx, change)


def _started(ctx: StepContext, change: Started) -> None:
    """Nothing is known of the world; what was on its way is looked after again."""
    ctx.begin(change.token, change.at)
    ctx.set("spares", spares.listed(ctx.state.spares, ctx.settings.spares.names()))
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


def _boot(ctx: StepContext, node: str, case: Case, known: Case | None) -> str:
    """The boot in which the newest evidence of a case was seen."""
    if known is not None and known.boot_id and case.evidence_at <= known.evidence_at:
        return known.boot_id
    heard = ctx.heard(node)
    return "" if heard is None else heard.boot_id


def _case(ctx: StepContext, change: CaseChanged) -> None:
    """An incident as it stands now, with what its rules want now, unless that was begun already."""
    case, before = change.case, ctx.remedy(change.node)
    known = next((one for one in before.cases if one.incident == case.incident), None)
    begun = before.stage in _BEGUN or before.hold is not None
    if begun and known is not None and case.incident == before.incident:
        # What was begun is ended as it was begun, whatever becomes of its rule meanwhile.
        # A rule that wants more by now is heeded beside it (`wishes`).
        wanted = None if case.policy == known.policy else case.policy
        case = msgspec.structs.replace(case, policy=known.policy, wanted=wanted)
    case = msgspec.structs.replace(case, evidence_at=set_back.evidence_at(ctx, case, known))
    case = msgspec.structs.replace(case, boot_id=_boot(ctx, change.node, case, known))
    others = tuple(one for one in before.cases if one.incident != case.incident)
    cases = (*others, case) if case.open else others
    if cases == before.cases:
        return
    after: Remedy = msgspec.structs.replace(before, cases=cases)
    if before.stage is not Stage.HEALTHY:
        if not begun and wrong(ctx, after) and not wrong(ctx, before):
            # What was only told until now begins here: jobs that had left long before it and the
            # breaker's count of what it has seen since are no business of this one.
            after = msgspec.structs.replace(after, begun=ctx.now, incident=case.incident)
        keep(ctx, before, after)
        return
    if not case.open:
        return
    heard = ctx.heard(change.node)
    after = msgspec.structs.replace(
        after,
        incident=case.incident,
        serials={} if heard is None else dict(heard.serials),
    )
    happen(ctx, change.node, Happening(Trigger.FIRED), after)
