"""Which of the things that are wrong with a node count, which bar it, and which of them leads.

Three questions, each with its own answer: what is open on a node (`counting`, which people are shown),
what keeps work away from it (`barring`), and what wants it quarantined and repaired (`leading`). A
rule without an action only notifies people: it starts nothing, and keeps nothing from ending.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from accelwatch.alerting.rules.document import Severity
from accelwatch.remediation.policy.context.views import CaseView
from accelwatch.remediation.policy.state.case import Case
from accelwatch.remediation.policy.state.model import Remedy


def counts(ctx: CaseView, node: str, case: Case) -> bool:
    """Whether a case speaks against a node: not when a person has dealt with all that it rests on."""
    boundary = ctx.state.boundaries.get(node)
    if boundary is not None and case.evidence_at <= boundary.at:
        return False
    override = ctx.state.overrides.get(node)
    return override is None or case.evidence_at > override.at


def counting(ctx: CaseView, remedy: Remedy) -> tuple[Case, ...]:
    """What is open on a node, but for what a person has dealt with."""
    if not (ctx.state.boundaries or ctx.state.overrides):
        return remedy.cases
    return tuple(case for case in remedy.cases if counts(ctx, remedy.node, case))


def barring(ctx: CaseView, remedy: Remedy) -> list[Case]:
    """The cases for which no work should come to a node: it is critical, or a rule would quarantine it.

    A mere notification, such as a clock that is not synchronised on every node, bars none: jobs
    would have nowhere to go.
    """
    return [
        case
        for case in counting(ctx, remedy)
        if case.policy.level is not None or case.severity is Severity.CRITICAL
    ]


def is_barred(ctx: CaseView, remedy: Remedy) -> bool:
    """Whether no job may start on a node: we hold it, a person wants it out, or a case bars it."""
    return remedy.counts or remedy.approval.manual or bool(barring(ctx, remedy))


def bad_nodes(ctx: CaseView) -> set[str]:
    """Where no job may start, by the scheduler's names."""
    return {
        remedy.scheduler_name for remedy in ctx.state.remedies.values() if is_barred(ctx, remedy)
    }


def leading(ctx: CaseView, remedy: Remedy) -> list[Case]:
    """The cases of rules with an action, the one that may go furthest and weighs most first."""
    cases = [case for case in counting(ctx, remedy) if case.policy.level is not None]
    if len(cases) > 1:
        cases.sort(
            key=lambda case: (
                -case.policy.reach,
                -case.severity.weight,
                case.since,
                case.incident,
            )
        )
    return cases


def needs_quarantine(ctx: CaseView, remedy: Remedy) -> bool:
    """A rule wants it quarantined."""
    return bool(leading(ctx, remedy))


def is_releasable(ctx: CaseView, remedy: Remedy) -> bool:
    """No rule and no person wants it out."""
    return not (remedy.approval.manual or remedy.repair.unfit or needs_quarantine(ctx, remedy))


def needs_repair(ctx: CaseView, remedy: Remedy) -> bool:
    """Something is to be done about a node that is out: it is not, while a person has it in hand."""
    return not remedy.approval.manual and (
        bool(remedy.repair.unfit) or needs_quarantine(ctx, remedy)
    )


def case_to_repair(remedy: Remedy, cases: Sequence[Case]) -> Case | None:
    """What is to be mended about a node that is out, of its `leading` cases.

    The one for which it is out, else the worst.
    """
    for case in cases:
        if case.incident == (remedy.led_by or remedy.incident):
            return with_desired_policy(case) if remedy.led_by else case
    return max(cases, key=lambda case: case.severity.weight, default=None)


def with_desired_policy(case: Case) -> Case:
    """A case with what its rules want now, whatever policy started it."""
    return case if case.wanted is None else replace(case, policy=case.wanted, wanted=None)
