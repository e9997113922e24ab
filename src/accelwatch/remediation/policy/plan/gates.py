"""What may be done for a node now: every guard, evaluated before every intent.

`evaluate_guards` gives all answers, for a plan; `first_denial` the first that denies, for the table. A
person's approval is of one plan, and lifts only what a person may lift.
"""

from collections.abc import Iterator

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.alerting.rules.document import Mode
from accelwatch.remediation.policy.context.cases import case_to_repair, leading
from accelwatch.remediation.policy.context.guard_memo import LeadingCase
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.guards import data_guard
from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind, denials
from accelwatch.remediation.policy.guards.limits import attempts, breaker
from accelwatch.remediation.policy.guards.limits.ceiling import answers
from accelwatch.remediation.policy.jobs import readings
from accelwatch.remediation.policy.jobs.jobs import next_job
from accelwatch.remediation.policy.jobs.resuming import may_resume
from accelwatch.remediation.policy.plan.case_guards import (
    bearing_of,
    fresh,
    of_quarantine,
    or_approval,
)
from accelwatch.remediation.policy.plan.digest import is_plan
from accelwatch.remediation.policy.plan.gate_answers import (
    answering,
    foreign,
    machine_proof,
    of_level,
    reachable,
    room,
)
from accelwatch.remediation.policy.plan.tests.floors import floor_of
from accelwatch.remediation.policy.plan.tests.peers import peer_of, refuted
from accelwatch.remediation.policy.plan.verify import next_test, verify_health
from accelwatch.remediation.policy.state.case import Case, Policy
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.relapses import MOST
from accelwatch.remediation.policy.state.stage import Stage

REMEDIES = frozenset({Kind.RESET_DEVICE, Kind.REBOOT, Kind.POWER_CYCLE})
_WITHDRAWING = frozenset({DenialKind.STOPPED, DenialKind.VETOED, DenialKind.CEILING})
# What the breaker keeps from beginning.
_NEW = REMEDIES | {Kind.QUARANTINE}


def first_denial(ctx: StepView, remedy: Remedy, kind: Kind) -> Denial | None:
    """The first thing that stands in the way of an intent, of the case that may go furthest."""
    if kind is Kind.QUARANTINE and not remedy.approval.manual:
        return _leading_case(ctx, remedy).denial
    # Read many times in a step by conditions and the plan; any change of the context empties it.
    key = (remedy.node, kind)
    answer = ctx.memo.answers.get(key)
    if answer is None:
        answer = ctx.memo.answers[key] = _blocked(ctx, remedy, kind, None) or PERMIT
    return answer if isinstance(answer, Denial) else None


def reported_denial(ctx: StepView, remedy: Remedy, kind: Kind) -> Denial | None:
    """The denial that people are notified of: a missing approval only if nothing else is missing.

    While the breaker is open, say, no approval is requested, whatever the rule's mode.
    """
    denial = first_denial(ctx, remedy, kind)
    if denial is None or denial.why is not DenialKind.APPROVAL or kind is not Kind.QUARANTINE:
        return denial
    case = leader(ctx, remedy)
    every = denials(evaluate_guards(ctx, remedy, kind, case))
    return next((other for other in every if other.why is not DenialKind.APPROVAL), denial)


def withdrawn(ctx: StepView, remedy: Remedy, kind: Kind) -> Denial | None:
    """The present objection of a person or a ceiling to an intent that has started."""
    case = case_to_repair(remedy, leading(ctx, remedy))
    # A rule's own mode is checked before an intent starts, and revokes none.
    for answer in answers(bearing_of(ctx, remedy, case, Mode.AUTO), kind):
        if isinstance(answer, Denial) and answer.why in _WITHDRAWING:
            return answer
    return None


def leader(ctx: StepView, remedy: Remedy) -> Case | None:
    """The case that would quarantine a node now; else the one that comes nearest to it."""
    return _leading_case(ctx, remedy).case


def _leading_case(ctx: StepView, remedy: Remedy) -> LeadingCase:
    """The leading case of a remedy as it is now; it is looked for once, until something changes."""
    existing = ctx.memo.leading.get(remedy.node)
    if existing is not None and existing.remedy is remedy:
        return existing
    case, denial = _nearest(ctx, remedy)
    if case is not None and denial is None:
        ctx.memo.permitted[remedy.node] = case
    result = ctx.memo.leading[remedy.node] = LeadingCase(remedy, case, denial)
    return result


def _nearest(ctx: StepView, remedy: Remedy) -> tuple[Case | None, Denial | None]:
    """The case that nothing stands in the way of; else one for which only a person's yes is missing.

    Else the first, with what stands in its way. A rule that a person has denied must not hide
    another that still needs approval.
    """
    cases = [(case, _blocked(ctx, remedy, Kind.QUARANTINE, case)) for case in leading(ctx, remedy)]
    for case, denial in cases:
        if denial is None:
            return case, None
    approvable = (candidate for candidate in cases if lacks_only_a_yes(ctx, remedy, candidate[0]))
    none = None, Denial(why=DenialKind.MODE, text="no rule requests a quarantine")
    return next(approvable, cases[0] if cases else none)


def lacks_only_a_yes(ctx: StepView, remedy: Remedy, case: Case) -> bool:
    """Whether a person's approval of a case is all that is missing."""
    every = [denial.why for denial in denials(evaluate_guards(ctx, remedy, Kind.QUARANTINE, case))]
    if remedy.stage is Stage.AWAITING_APPROVAL:
        # A node that is briefly silent does not withdraw the request.
        every = [why for why in every if why is not DenialKind.STALE_READING]
    return bool(every) and all(why is DenialKind.APPROVAL for why in every)


def only_waits(ctx: StepView, remedy: Remedy, case: Case) -> bool:
    """Whether only an approval is missing, besides denials that withdraw no request: the budget, for
    which an approved plan waits too, and a poll, while the scheduler is away or we have just started.
    """
    starting = not ctx.world.guard.is_warmed_up
    unseen = starting or isinstance(answering(ctx, remedy), Denial)
    passing = _PACE | {DenialKind.APPROVAL, DenialKind.STALE_READING}
    if unseen or ctx.world.guard.why:
        passing |= {DenialKind.DATA, DenialKind.STARTING}
    if unseen:
        passing |= {DenialKind.IDENTITY}
    every = {denial.why for denial in denials(evaluate_guards(ctx, remedy, Kind.QUARANTINE, case))}
    return DenialKind.APPROVAL in every and every <= passing


_PACE = frozenset(
    {DenialKind.RATE, DenialKind.BUDGET, DenialKind.DOMAIN_BUDGET, DenialKind.AVAILABLE}
)


def _blocked(ctx: StepView, remedy: Remedy, kind: Kind, case: Case | None) -> Denial | None:
    approved = is_approved(ctx, remedy, case)
    for answer in evaluate_guards(ctx, remedy, kind, case):
        if isinstance(answer, Denial) and not (approved and answer.why.lifted_by_approval):
            return answer
    return None


def is_approved(ctx: StepView, remedy: Remedy, case: Case | None) -> bool:
    """Whether a person has approved what would be done now, and not something else."""
    if not remedy.approval.approved:
        return False
    if case is None:
        return True
    return is_plan(remedy.approval.approved_plan, ctx, remedy, case.policy, case.incident)


def evaluate_guards(
    ctx: StepView, remedy: Remedy, kind: Kind, case: Case | None
) -> Iterator[Answer]:
    """What every guard answers to an intent; `case` is the one that a quarantine would be for."""
    # A caller that needs one answer stops at the first denial: the order is that of the notifications.
    yield answering(ctx, remedy)
    # A release needs proof that the node is healthy, not permission to act on it.
    if kind is Kind.RELEASE:
        yield from _of_release(ctx, remedy)
        return
    yield machine_proof(ctx, remedy)
    of_case = case if kind is Kind.QUARANTINE else case_to_repair(remedy, leading(ctx, remedy))
    current = readings.is_current(ctx, remedy, kind, of_case)
    yield or_approval(remedy, current) if kind is Kind.QUARANTINE else current
    yield data_guard.may_start(ctx.world.guard)
    yield foreign(ctx, remedy, kind)
    yield of_level(remedy, kind)
    if kind is Kind.QUARANTINE:
        yield from of_quarantine(ctx, remedy, case)
    else:
        yield from _of_stage(ctx, remedy, kind, of_case)
    incident = case.incident if case is not None else remedy.incident
    if kind in _NEW and not remedy.approval.manual:
        yield breaker.may_start(ctx.state.breaker, incident, ctx.settings.breaker)
    job = next_job(ctx, remedy) if kind is Kind.MOVE_JOB else None
    if job is not None:
        yield reachable(ctx, remedy)
        yield may_resume(ctx, remedy, job)
    if kind is Kind.CANCEL_JOB:
        yield attempts.cancel(ctx.state.attempts, ctx.now, ctx.settings.budget)[1]
    if kind in REMEDIES:
        location = ctx.failure_domain(remedy)
        yield attempts.may_start(
            ctx.state.attempts, location, incident, ctx.now, ctx.settings.budget
        )
    if kind is Kind.QUARANTINE:
        yield room(ctx, remedy)
    if kind is Kind.TEST:
        yield from _of_test(ctx, remedy)


def _of_stage(ctx: StepView, remedy: Remedy, kind: Kind, case: Case | None) -> Iterator[Answer]:
    """After the quarantine: by the policy that was kept, and on what is so now."""
    policy = remedy.policy or Policy(rule="")
    bearing = bearing_of(ctx, remedy, case, policy.mode, sure=policy.is_sure)
    yield from answers(bearing, kind)
    if case is None:
        if kind is not Kind.TEST and not remedy.repair.unfit:
            yield Denial(why=DenialKind.OLD_EVIDENCE, text="nothing is wrong with it any more")
        return
    if case.blind and not remedy.repair.unfit:
        yield Denial(why=DenialKind.DATA, text="there is no current data about the node")
    if case.group:
        yield Denial(why=DenialKind.GROUP, text=f"it is part of {case.group}, which has one cause")
    if kind in REMEDIES and not remedy.repair.unfit and not fresh(ctx, remedy.node, case):
        yield Denial(
            why=DenialKind.OLD_EVIDENCE, text="what speaks for it is only what happened long ago"
        )


def _of_test(ctx: StepView, remedy: Remedy) -> Iterator[Answer]:
    """What the next test of a node needs besides the node; its release waits for it."""
    test = next_test(remedy)
    settings = ctx.settings.test_settings(test)
    # Of whom figures do not count, when the test has ended as well.
    apart = [ctx.target(remedy)]
    if settings.pair:
        peer = peer_of(ctx, test, remedy.node, ctx.target(remedy), refuted(remedy, test))
        if isinstance(peer, Denial):
            yield peer
        else:
            apart += peer
    if settings.has_floor:
        floor = floor_of(ctx, test, remedy.node, apart)
        if isinstance(floor, Denial):
            yield floor


def _of_release(ctx: StepView, remedy: Remedy) -> Iterator[Answer]:
    if remedy.approval.forced:
        return
    if remedy.approval.manual:
        yield Denial(
            why=DenialKind.VETOED, text="a person took it out, and only a person lets it go"
        )
    if remedy.repair.relapses >= MOST:
        text = (
            f"it has failed again {remedy.repair.relapses} times in a row after it was given back"
        )
        yield Denial(why=DenialKind.VETOED, text=f"{text}, and only a person lets it go")
    yield verify_health(ctx, remedy)
    yield data_guard.may_start(ctx.world.guard)
    veto = ctx.state.vetoes.get(remedy.node)
    if veto is not None and not remedy.approval.vouched:
        yield Denial(why=DenialKind.VETOED, text=f"{veto.by} put a hold on it")
    yield attempts.release(ctx.state.attempts, ctx.now, ctx.settings.budget)[1]
