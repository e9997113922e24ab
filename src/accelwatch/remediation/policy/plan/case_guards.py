"""What a case may have done to its node: its rule, its evidence, people and ceilings. Pure.

What concerns the node whatever its case, such as its scheduler, its machine and the budgets, is in
`gate_answers`; the order of all guards is in `gates`.
"""

from collections.abc import Iterator

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.alerting.rules.document import Mode, QuarantineLevel, Trust
from accelwatch.remediation.policy.context.bearings import label_veto
from accelwatch.remediation.policy.context.views import CaseView, StepView
from accelwatch.remediation.policy.guards.denial import (
    PERMIT,
    Answer,
    Denial,
    DenialKind,
    denial_in,
    denials,
)
from accelwatch.remediation.policy.guards.limits import canary
from accelwatch.remediation.policy.guards.limits.ceiling import Bearing, Ceiling, answers
from accelwatch.remediation.policy.state.case import Case
from accelwatch.remediation.policy.state.model import Remedy


def may_lead(ctx: StepView, remedy: Remedy, case: Case) -> bool:
    """Whether a case may lead a node that is out: it must be able to quarantine it by itself.

    A person who approved the quarantine has seen another plan. A passing denial, such as a STOP or an
    agent that is silent for a moment, does not end what a case leads already.
    """
    every = denials(of_quarantine(ctx, remedy, case))
    if case.incident == remedy.led_by:
        return all(denial.why.passes_by_itself for denial in every)
    return not every


def may_start(ctx: StepView, remedy: Remedy, case: Case) -> bool:
    """Whether nothing at all stands now in the way of what a case wants, without a person's approval."""
    return denial_in(of_quarantine(ctx, remedy, case)) is None


def of_quarantine(ctx: StepView, remedy: Remedy, case: Case | None) -> Iterator[Answer]:
    """What every guard that reads the case answers to a quarantine for it; None: for no case."""
    if case is None:
        yield from answers(bearing_of(ctx, remedy, None, Mode.AUTO), Kind.QUARANTINE)
        return
    policy = case.policy
    bearing = bearing_of(ctx, remedy, case, policy.mode, sure=policy.is_sure)
    yield from answers(bearing, Kind.QUARANTINE)
    yield has_device(ctx, remedy, case)
    for doubt in _doubts(ctx, remedy, case):
        yield or_approval(remedy, doubt)
    if case.group:
        yield Denial(why=DenialKind.GROUP, text=f"it is part of {case.group}, which has one cause")
    override = ctx.state.overrides.get(remedy.node)
    if override is not None and ctx.now < override.until:
        text = "a person recently undid an action on it"
        yield Denial(why=DenialKind.OVERRIDDEN, text=text, until=override.until)


def bearing_of(
    ctx: StepView, remedy: Remedy, case: Case | None, mode: Mode, *, sure: bool = True
) -> Bearing:
    """What bears on a node: ceilings, people, the mode of a case."""
    status = ctx.node_status(remedy.node)
    policy = remedy.policy if case is None else case.policy
    stop, veto = ctx.state.stop, ctx.state.vetoes.get(remedy.node)
    no = ctx.state.denied.get(remedy.node)
    rule = "" if policy is None else policy.rule
    # A person may act on a node that rules leave alone.
    labelled = "" if remedy.approval.manual else label_veto(ctx, remedy.node)
    return Bearing(
        node=remedy.node,
        mode=Mode.AUTO if remedy.approval.manual else mode,
        sure=sure or remedy.approval.manual,
        loss_risk="" if remedy.approval.manual else ctx.world.journal.loss_risk,
        site=Ceiling.RESUME if remedy.approval.manual else Ceiling(ctx.settings.ceiling),
        profile=None if remedy.approval.manual or status is None else Ceiling(status.ceiling),
        stopped_by="" if stop is None else f"{stop.by}: {stop.reason}",
        canary=canary.may_act(ctx.state.canary, rule, remedy.node, policy.canary, ctx.now)
        if policy is not None
        else PERMIT,
        trusted=True if case is None else case.trusted,
        trust=Trust.AUTHENTICATED if policy is None else policy.trust,
        silence="" if case is None or remedy.approval.manual else case.muted,
        vetoed_by=labelled if veto is None else f"{veto.by}: {veto.reason}",
        denied_by="" if no is None or not no.bears(rule, ctx.now) else no.by,
    )


def has_device(ctx: StepView, remedy: Remedy, case: Case) -> Answer:
    """Whether the device that a rule wants out is known, and can be quarantined by itself."""
    if case.policy.level is not QuarantineLevel.DEVICE:
        return PERMIT
    if not case.device:
        text = f"rule {case.policy.rule} takes out single devices, and its incident names none"
        return Denial(why=DenialKind.MODE, text=text)
    action = ctx.world.shown_by.get(ctx.target(remedy), "")
    scheduler = ctx.world.schedulers.get(action)
    # Where no scheduler shows the node, `answering` has said so.
    if scheduler is None or scheduler.quarantines_devices:
        return PERMIT
    text = f"{action} takes out whole nodes only; have rule {case.policy.rule} say level: node"
    return Denial(why=DenialKind.MODE, text=text)


def _doubts(ctx: StepView, remedy: Remedy, case: Case) -> Iterator[Denial]:
    """Why a case does not speak for a quarantine by what is so now."""
    if case.blind:
        yield Denial(why=DenialKind.DATA, text="there is no current data about the node")
    if case.orphaned:
        yield Denial(why=DenialKind.MODE, text="the rule of the incident is gone")
    if not fresh(ctx, remedy.node, case):
        yield Denial(
            why=DenialKind.OLD_EVIDENCE, text="what speaks for it is only what happened long ago"
        )


def fresh(ctx: CaseView, node: str, case: Case) -> bool:
    """Whether it rests on what is so now, or on what has happened lately and in this boot."""
    if case.standing:
        return True
    status = ctx.node_status(node)
    boot = "" if status is None else status.boot_id
    other_boot = bool(boot and case.boot_id) and boot != case.boot_id
    return not other_boot and ctx.now - case.evidence_at <= ctx.settings.event_max_age_s


def or_approval(remedy: Remedy, doubt: Answer) -> Answer:
    """A doubt; of a node that was out until its scheduler forgot that, a person may say yes in spite."""
    if not remedy.mark_lost or not isinstance(doubt, Denial):
        return doubt
    return Denial(
        why=DenialKind.APPROVAL, text=f"its scheduler has lost our mark on it, and {doubt.text}"
    )
