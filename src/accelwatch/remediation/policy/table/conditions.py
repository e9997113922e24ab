"""What the rows of the table ask: each condition by its name, over what is known now."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import HoldState, JobState, NodeObservation
from accelwatch.action.step import RefusalKind
from accelwatch.remediation.policy.guards.denial import Denial, DenialKind
from accelwatch.remediation.policy.jobs.avoiding import as_of_now
from accelwatch.remediation.policy.jobs.jobs import (
    cancels,
    gone_jobs,
    has_nothing_open,
    jobs_gone,
    jobs_of,
    jobs_waiting,
    must_fence,
    needs_repair,
    next_job,
    next_signal,
    next_swap,
    silent,
    suspicious,
    well,
    wrong,
)
from accelwatch.remediation.policy.plan.desired_policy import is_otherwise
from accelwatch.remediation.policy.plan.digest import digest_of
from accelwatch.remediation.policy.plan.escalation import (
    INTENTS,
    SERVICE,
    impossible,
    next_escalation_step,
)
from accelwatch.remediation.policy.plan.gates import (
    first_denial,
    lacks_only_a_yes,
    leader,
    only_waits,
    withdrawn,
)
from accelwatch.remediation.policy.plan.stand_ins import drawn, may_request_spare, needs_spare
from accelwatch.remediation.policy.plan.state_loss import is_lost
from accelwatch.remediation.policy.plan.verify import (
    is_observed_bad,
    next_test,
    other_generation,
    scored,
    still_wrong,
    verify_health,
    wrong_again,
)
from accelwatch.remediation.policy.state.case import Case
from accelwatch.remediation.policy.state.cases import counting, leading
from accelwatch.remediation.policy.state.changes import Command
from accelwatch.remediation.policy.state.clocks import MOST_FAILURES
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.pursued import Pursued
from accelwatch.remediation.policy.state.relapses import MOST
from accelwatch.remediation.policy.state.score import Verdict, verdict
from accelwatch.remediation.policy.state.stage import Stage, Trigger
from accelwatch.remediation.policy.state.step_context import StepContext


class Happening(NamedTuple):
    """What has happened to a remedy, with what came with it."""

    trigger: Trigger
    pursued: Pursued | None = None
    observation: NodeObservation | None = None
    command: Command | None = None


class Scene(NamedTuple):
    """A remedy in the context of its step, when something happens to it."""

    ctx: StepContext
    remedy: Remedy
    happening: Happening


Condition = Callable[[Scene], bool]


def suppressed(ctx: StepContext, remedy: Remedy) -> bool:
    """All that wants it out is silenced or in maintenance, or a person has said no."""
    if remedy.manual:
        return False
    cases = _weighing(ctx, remedy)
    no = ctx.state.denied.get(remedy.node)
    return bool(cases) and all(
        case.muted or (no is not None and no.bears(case.policy.rule, ctx.now)) for case in cases
    )


def _weighing(ctx: StepContext, remedy: Remedy) -> Sequence[Case]:
    """The cases that could have something done; where there are none, those that are only told."""
    return leading(ctx, remedy) or counting(ctx, remedy)


def _spare_next(ctx: StepContext, remedy: Remedy) -> bool:
    if cancels(remedy) or next_job(ctx, remedy) is None:
        return False
    return needs_spare(ctx, remedy)


def _move_has_left(ctx: StepContext, remedy: Remedy) -> bool:
    """Whether nothing is on the node any more, and only a job that waits elsewhere is in flight."""
    moving = remedy.pursued_kind is Kind.MOVE_JOB and not remedy.cancelling
    return moving and jobs_of(ctx, remedy) == ()


def _job_waits(pursued: Pursued | None) -> bool:
    """Whether a move ends with its job in the queue: nothing has failed, it waits for nodes."""
    if pursued is None or pursued.intent.kind is not Kind.MOVE_JOB or pursued.observed is None:
        return False
    job = pursued.observed.job
    return job is not None and job.state in (JobState.WAITING, JobState.HELD)


def _spare_for_move(ctx: StepContext, remedy: Remedy) -> bool:
    """Whether a spare can be drawn by now for a job whose move was begun without one."""
    policy = remedy.policy
    if remedy.pursued_kind is not Kind.MOVE_JOB or policy is None or not policy.draw_spare:
        return False
    return not (remedy.spare or remedy.cancelling) and may_request_spare(ctx, remedy)


def _leave_next(ctx: StepContext, remedy: Remedy) -> bool:
    """Whether a job has to leave now: it was asked for a checkpoint, and had the time for it."""
    if next_job(ctx, remedy) is None or next_signal(ctx, remedy) is not None:
        return False
    grace = 0.0 if remedy.policy is None else remedy.policy.grace_s
    return remedy.signalled_at is None or ctx.now >= remedy.signalled_at + grace


def _askable(ctx: StepContext, remedy: Remedy) -> bool:
    """Whether a person's yes is all that is missing, and nobody has let the same question pass."""
    if remedy.manual:
        return False
    if first_denial(ctx, remedy, Kind.QUARANTINE) is None:
        return False
    case = leader(ctx, remedy)
    if case is None:
        return False
    if remedy.expired is not None and case.evidence_at <= remedy.expired:
        return False
    return lacks_only_a_yes(ctx, remedy, case) and plan_of(ctx, remedy) != ""


def _awaits_approval(ctx: StepContext, remedy: Remedy) -> bool:
    """Whether the question stands: also while nobody can look, or the budget is spent."""
    if _askable(ctx, remedy):
        return True
    case = next(
        (candidate for candidate in leading(ctx, remedy) if candidate.incident == remedy.incident),
        None,
    )
    return case is not None and only_waits(ctx, remedy, case)


def plan_of(ctx: StepContext, remedy: Remedy) -> str:
    """Digest of what would be done now; empty when nothing would, or nobody can see what."""
    case = leader(ctx, remedy)
    return "" if case is None else digest_of(ctx, remedy, case.policy, case.incident)


def _moved_back(ctx: StepContext, happening: Happening) -> bool:
    pursued = happening.pursued
    if pursued is None or pursued.intent.kind is not Kind.MOVE_JOB:
        return False
    # What has gone bad since is moved by its own remedy, and what is well by now may be used.
    now = as_of_now(ctx.state, pursued.intent, ctx.now)
    bad = set(pursued.intent.avoided) & set(now.avoided)
    return not pursued.moved_to or not bad.isdisjoint(pursued.moved_to)


def _check_next(at: Scene) -> bool:
    """Whether a job is to be looked for that may have died of the node, and could be begun again."""
    if not gone_jobs(at.ctx, at.remedy):
        return False
    return first_denial(at.ctx, at.remedy, Kind.MOVE_JOB) is None


def died_before(pursued: Pursued | None) -> bool:
    """Whether the job of a look or move has died by itself before anything was done to it."""
    if pursued is None or pursued.observed is None or pursued.observed.job is None:
        return False
    if pursued.intent.kind is Kind.FOLLOW_JOB:
        return pursued.refusal is RefusalKind.DIED
    dead = pursued.observed.job.state is JobState.FINISHED and pursued.observed.job.failed
    return dead and pursued.intent.kind is Kind.MOVE_JOB and not pursued.intent.revive


def _hold_state(happening: Happening) -> HoldState | None:
    pursued = happening.pursued
    if pursued is None or pursued.observed is None or pursued.observed.node is None:
        return None
    return pursued.observed.node.hold_state


def _nothing_open(ctx: StepContext, remedy: Remedy) -> bool:
    return all(case.orphaned for case in leading(ctx, remedy))


def _blind(ctx: StepContext, remedy: Remedy) -> bool:
    cases = _weighing(ctx, remedy)
    return bool(cases) and all(case.blind for case in cases)


def _past_repair(ctx: StepContext, remedy: Remedy) -> bool:
    if not needs_repair(ctx, remedy) or next_escalation_step(remedy) == "":
        return False
    return verdict(ctx.state.scores, scored(remedy), ctx.now) is Verdict.SERVICE


def _forgotten(ctx: StepContext, remedy: Remedy, happening: Happening) -> bool:
    annotation = None if happening.observation is None else happening.observation.annotation
    return annotation is not None and ctx.state.forgotten.get(remedy.node) == annotation.incident


GOES_ON: Mapping[Stage, Stage] = MappingProxyType(
    {Stage.QUARANTINING: Stage.SUSPECT, Stage.RELEASING: Stage.RELEASING}
)
"""Where it goes on what failed in a stage; elsewhere it is `quarantined`, where all is decided anew."""


def _resumes_at(remedy: Remedy) -> Stage:
    return GOES_ON.get(remedy.came_from or Stage.QUARANTINED, Stage.QUARANTINED)


def _may(kind: Kind) -> Condition:
    return lambda at: first_denial(at.ctx, at.remedy, kind) is None


def _next_step_is(name: str) -> Condition:
    def next_is(at: Scene) -> bool:
        if at.remedy.relapses >= MOST:
            return False  # nothing that we can do helps for long
        return needs_repair(at.ctx, at.remedy) and next_escalation_step(at.remedy) == name

    return next_is


def _impossible_step(at: Scene) -> str:
    """Why the rung that is next can be done to no node; empty when it can."""
    kind = INTENTS.get(next_escalation_step(at.remedy)) if needs_repair(at.ctx, at.remedy) else None
    return "" if kind is None else impossible(at.ctx, kind)


def _only_service(ctx: StepContext, remedy: Remedy) -> bool:
    """Every rung was tried, or as many as may be for one incident or one node."""
    if not needs_repair(ctx, remedy):
        return False
    step = next_escalation_step(remedy)
    if step == SERVICE:
        return True
    denial = first_denial(ctx, remedy, INTENTS[step]) if step in INTENTS else None
    return denial is not None and denial.why in _TRIED_ENOUGH


_TRIED_ENOUGH = frozenset({DenialKind.ATTEMPTS, DenialKind.TOO_MANY_REMEDIES})


def _revoked(ctx: StepContext, remedy: Remedy) -> bool:
    """What was begun may not be done any more, because a person or a ceiling says so."""
    if remedy.pursued_kind is None or remedy.pursued_kind is Kind.RELEASE:
        return False
    if remedy.pursued_kind is Kind.QUARANTINE and remedy.manual:
        return ctx.state.stop is not None
    return withdrawn(ctx, remedy, remedy.pursued_kind) is not None


CONDITIONS: Mapping[str, Condition] = MappingProxyType(
    {
        "well": lambda at: well(at.ctx, at.remedy),
        "wrong": lambda at: wrong(at.ctx, at.remedy),
        "quiet": lambda at: has_nothing_open(at.ctx, at.remedy),
        "suspicious": lambda at: suspicious(at.ctx, at.remedy),
        "suppressed": lambda at: suppressed(at.ctx, at.remedy),
        "heeded": lambda at: not suppressed(at.ctx, at.remedy),
        "by_person": lambda at: at.remedy.manual,
        "not_by_person": lambda at: not at.remedy.manual,
        "idle": lambda at: at.ctx.idle(at.remedy),
        "busy": lambda at: not at.ctx.idle(at.remedy),
        "may_take_out": _may(Kind.QUARANTINE),
        "may_quarantine": _may(Kind.QUARANTINE),
        "may_fence": _may(Kind.FENCE),
        "may_signal": _may(Kind.SIGNAL_JOB),
        "may_draw": _may(Kind.DRAW_SPARE),
        "may_move": _may(Kind.MOVE_JOB),
        "may_swap": _may(Kind.SWAP_IN_JOB),
        "may_cancel": _may(Kind.CANCEL_JOB),
        "may_reset": _may(Kind.RESET_DEVICE),
        "may_reboot": _may(Kind.REBOOT),
        "may_power_cycle": _may(Kind.POWER_CYCLE),
        "may_test": _may(Kind.TEST),
        "may_service": _may(Kind.SERVICE),
        "may_release": _may(Kind.RELEASE),
        "not_answering": lambda at: silent(at.ctx, at.remedy),
        "answering": lambda at: not silent(at.ctx, at.remedy),
        "askable": lambda at: _askable(at.ctx, at.remedy),
        "not_askable": lambda at: not _awaits_approval(at.ctx, at.remedy),
        "plan_changed": lambda at: plan_of(at.ctx, at.remedy) not in ("", at.remedy.asked),
        "plan_is_this": lambda at: (
            at.happening.command is not None
            and at.happening.command.digest == plan_of(at.ctx, at.remedy) != ""
        ),
        "blind": lambda at: _blind(at.ctx, at.remedy),
        "seeing": lambda at: not _blind(at.ctx, at.remedy),
        "no_clock": lambda at: at.remedy.due is None,
        "clock_runs": lambda at: at.remedy.due is not None,
        "ours_seen": lambda at: _hold_state(at.happening) is HoldState.OURS,
        "state_lost": lambda at: is_lost(at.ctx, at.remedy, at.happening.observation),
        "open_seen": lambda at: _hold_state(at.happening) is HoldState.OPEN,
        "revoked": lambda at: _revoked(at.ctx, at.remedy),
        "holding": lambda at: at.remedy.hold is not None,
        "not_holding": lambda at: at.remedy.hold is None,
        "past_repair": lambda at: _past_repair(at.ctx, at.remedy),
        "must_fence": lambda at: must_fence(at.ctx, at.remedy),
        "jobs_wait": lambda at: (
            (jobs_waiting(at.ctx, at.remedy) and not must_fence(at.ctx, at.remedy))
            or _check_next(at)
        ),
        "jobs_gone": lambda at: jobs_gone(at.ctx, at.remedy) and not _check_next(at),
        "judged_otherwise": lambda at: is_otherwise(at.ctx, at.remedy),
        "look_next": _check_next,
        "may_look": _may(Kind.FOLLOW_JOB),
        "of_look": lambda at: (
            at.happening.pursued is not None and at.happening.pursued.intent.kind is Kind.FOLLOW_JOB
        ),
        "died": lambda at: died_before(at.happening.pursued),
        "empty": lambda at: jobs_of(at.ctx, at.remedy) == (),
        "rung_impossible": lambda at: bool(_impossible_step(at)),
        "next_is_reset": _next_step_is("reset"),
        "next_is_reboot": _next_step_is("reboot"),
        "next_is_power_cycle": _next_step_is("power_cycle"),
        "next_is_service": lambda at: _only_service(at.ctx, at.remedy),
        "signal_next": lambda at: next_signal(at.ctx, at.remedy) is not None,
        "spare_next": lambda at: _spare_next(at.ctx, at.remedy),
        "move_has_left": lambda at: _move_has_left(at.ctx, at.remedy),
        "job_waits": lambda at: _job_waits(at.happening.pursued),
        "spare_for_move": lambda at: _spare_for_move(at.ctx, at.remedy),
        "no_spare": lambda at: isinstance(drawn(at.ctx, at.remedy)[1], Denial),
        "spare_found": lambda at: not isinstance(drawn(at.ctx, at.remedy)[1], Denial),
        "of_move": lambda at: (
            at.happening.pursued is not None and at.happening.pursued.intent.kind is Kind.MOVE_JOB
        ),
        "of_spare": lambda at: (
            at.happening.pursued is not None and at.happening.pursued.intent.kind is Kind.DRAW_SPARE
        ),
        "move_next": lambda at: not cancels(at.remedy) and _leave_next(at.ctx, at.remedy),
        "swap_next": lambda at: next_swap(at.ctx, at.remedy) is not None,
        "of_swap": lambda at: (
            at.happening.pursued is not None
            and at.happening.pursued.intent.kind is Kind.SWAP_IN_JOB
        ),
        "cancel_next": lambda at: cancels(at.remedy) and _leave_next(at.ctx, at.remedy),
        "moved_back": lambda at: _moved_back(at.ctx, at.happening),
        "wrong_again": lambda at: wrong_again(at.ctx, at.remedy),
        "still_wrong": lambda at: still_wrong(at.ctx, at.remedy),
        "seen_bad": lambda at: is_observed_bad(at.ctx, at.remedy),
        "other_generation": lambda at: other_generation(at.ctx, at.remedy),
        "passive_done": lambda at: not isinstance(verify_health(at.ctx, at.remedy), Denial),
        "test_next": lambda at: bool(next_test(at.remedy)),
        "tests_done": lambda at: not next_test(at.remedy),
        "forced": lambda at: bool(at.remedy.forced),
        "not_forced": lambda at: not at.remedy.forced,
        "probation": lambda at: at.remedy.policy is not None and at.remedy.policy.probation_s > 0,
        "stays_out": lambda at: at.remedy.relapses >= MOST and not at.remedy.manual,
        "not_ticketed": lambda at: not at.remedy.ticketed,
        "tries_left": lambda at: at.remedy.failures <= MOST_FAILURES,
        "goes_on_suspect": lambda at: _resumes_at(at.remedy) is Stage.SUSPECT,
        "goes_on_quarantined": lambda at: _resumes_at(at.remedy) is Stage.QUARANTINED,
        "goes_on_releasing": lambda at: _resumes_at(at.remedy) is Stage.RELEASING,
        "not_forgotten": lambda at: not _forgotten(at.ctx, at.remedy, at.happening),
        "nothing_open": lambda at: _nothing_open(at.ctx, at.remedy),
    }
)
