"""With what a job that has died is restarted: what is another than the last time. Pure.

Without the nodes that have gone bad or do not answer; on the same ones, once, when what spoke against
them has passed; and when nothing of the kind speaks for it, from the checkpoint before the newest.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from accelwatch.alerting.rules.document import Severity
from accelwatch.remediation.policy.context.cases import bad_nodes, counting, leading
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.guards.retry.job_history import (
    Blame,
    Death,
    JobHistory,
    Run,
    Try,
    differs,
)
from accelwatch.remediation.policy.state.case import Case
from accelwatch.remediation.policy.state.clocks import DEATH_SETTLES_S

replace = msgspec.structs.replace


class Another(NamedTuple):
    """What the next run has that the last one had not."""

    tried: Try
    # Where the job may not start, by the scheduler's names.
    bad: frozenset[str]
    # From which it begins, where that is not the newest.
    checkpoint: str = ""
    # What spoke against its nodes, and does so no more.
    passed: tuple[Blame, ...] = ()


def another(ctx: StepView, history: JobHistory, run: Run) -> Another:
    """What a job would restart with now; `history` has its death."""
    bad, last = bad_now(ctx, run.seen.nodes), history.deaths[-1]
    passed: tuple[Blame, ...] = ()
    if bad.isdisjoint(run.seen.nodes):
        again = {cause.target for cause in last.blamed if _is_among(cause, history.passed)}
        bad |= again
        passed = () if again else last.blamed
    tried = Try(
        nodes=tuple(sorted(set(run.seen.nodes) - bad)),
        checkpoint=run.seen.checkpoint,
        cleared=_cleared(ctx, run, passed, last),
    )
    earlier = _earlier(ctx, history, run, tried)
    if earlier:
        tried = replace(tried, checkpoint=earlier)
    return Another(tried, frozenset(bad), earlier, passed)


def bad_now(ctx: StepView, nodes: tuple[str, ...]) -> set[str]:
    """Where the job may not start: what is bad anywhere, and those of its nodes that are suspects."""
    suspects = {target for target, _, cases in _suspects(ctx, nodes) if cases}
    return bad_nodes(ctx) | silent_of(ctx, nodes) | suspects


def silent_of(ctx: StepView, nodes: tuple[str, ...]) -> set[str]:
    """Those of a job's nodes on which its old copy may run yet: their daemon does not answer."""
    by_name = {name: ctx.world.scheduler_nodes.get(name) for name in nodes}
    return {name for name, node in by_name.items() if node is not None and node.answering is False}


def blame(ctx: StepView, nodes: tuple[str, ...]) -> tuple[Blame, ...]:
    """What speaks against some nodes now, by their schedulers' names."""
    cases = (
        Blame(case.policy.rule, target, node, case.serial)
        for target, node, suspects in _suspects(ctx, nodes)
        for case in suspects
    )
    silent = (Blame("", name) for name in sorted(silent_of(ctx, nodes)))
    return tuple(dict.fromkeys((*cases, *silent)))


def _suspects(ctx: StepView, nodes: tuple[str, ...]) -> Iterator[tuple[str, str, list[Case]]]:
    """Scheduler's name, hub's name and cases of those of a job's nodes that it may have died of.

    Where a job has died already, a warning without quarantine is reason enough to restart it
    elsewhere. What is only for information is none.
    """
    for remedy in ctx.state.remedies.values():
        target = remedy.scheduler_name
        if target in nodes:
            reported = (
                case for case in counting(ctx, remedy) if case.severity is not Severity.INFO
            )
            yield target, remedy.node, [*dict.fromkeys((*reported, *leading(ctx, remedy)))]


def group_of(ctx: StepView, nodes: tuple[str, ...]) -> str:
    """The incident of many nodes that some of these are part of."""
    return next(
        (
            case.group
            for remedy in ctx.state.remedies.values()
            if remedy.scheduler_name in nodes
            for case in counting(ctx, remedy)
            if case.group
        ),
        "",
    )


def _is_among(cause: Blame, causes: tuple[Blame, ...]) -> bool:
    return any((cause.rule, cause.target) == (other.rule, other.target) for other in causes)


def _cleared(ctx: StepView, run: Run, passed: tuple[Blame, ...], last: Death) -> str:
    """What has passed since the job died; the second time another one than the first."""
    if run.group and not group_of(ctx, run.seen.nodes):
        return run.group
    return f"{passed[0].rule} {passed[0].target} {last.at:.0f}" if passed else ""


def _earlier(ctx: StepView, history: JobHistory, run: Run, tried: Try) -> str:
    """The checkpoint before the newest, when all else is as it was and nobody blames a device.

    Evidence against one may come a while after the death, and costs no work that is done twice.
    """
    if history.deaths[-1].device_fault or history.latest is None:
        return ""
    if differs(tried, history.latest) or ctx.now - run.since < DEATH_SETTLES_S:
        return ""
    return run.seen.earlier
