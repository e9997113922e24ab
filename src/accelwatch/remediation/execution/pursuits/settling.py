"""What an open operation has come to: decided by what is observed, not by what the action answered."""

from typing import NamedTuple

from accelwatch.action.observed import Observed
from accelwatch.action.step import Achieved, Recovery, Refusal, RefusalKind, ReportStatus
from accelwatch.remediation.execution.operations.effect import Site
from accelwatch.remediation.execution.operations.operation import Operation, OperationState
from accelwatch.remediation.execution.pursuits.action_calls import unavailable_if_it_fails

_BY_OTHERS = frozenset({RefusalKind.FOREIGN, RefusalKind.OVERRIDDEN})


class Settled(NamedTuple):
    """It is known what became of the operation, or that nobody knows it."""

    state: OperationState
    text: str


class Unsettled(NamedTuple):
    """Its effect may still come to be seen, within so many seconds where that was promised."""

    text: str
    within_s: float | None


def evaluated(
    site: Site, operation: Operation, observed: Observed, first_observed_at: float | None
) -> Settled | Unsettled:
    """What an open operation has come to. `first_observed_at` in Unix seconds.

    Raises ActionUnavailableError where the action fails to evaluate it.
    """
    with unavailable_if_it_fails(site, "evaluate", "judging"):
        recovery = site.action.recover(operation.started_step, observed)
        if recovery is Recovery.UNKNOWN and _is_achieved(site, operation, observed):
            recovery = Recovery.DONE
        by_others = None
        if recovery is not Recovery.DONE:
            by_others = _changed_since(site, operation, observed)
    settling_s = _settles_for(site, operation, first_observed_at)
    if recovery is Recovery.DONE:
        return Settled(OperationState.OBSERVED, "seen to be so")
    if by_others is not None:
        text = f"it was done, and has been changed since: {by_others}"
        return Settled(OperationState.OBSERVED, text)
    if recovery is Recovery.REDO and (settling_s <= 0 or not _was_accepted(operation)):
        return Settled(OperationState.FAILED, "seen not to have happened")
    if settling_s > 0:
        promised = site.kind(operation.step).observe_for_s is not None
        text = f"{operation.step.text}: its effect is not seen yet"
        return Unsettled(text, settling_s if promised else None)
    text = f"{operation.step.text}: it is unknown whether it happened"
    return Settled(OperationState.UNKNOWN, text)


def _is_achieved(site: Site, operation: Operation, observed: Observed) -> bool:
    """Whether a step that was answered has led to what is desired."""
    return _was_accepted(operation) and isinstance(
        site.action.propose(operation.intent, observed), Achieved
    )


def _changed_since(site: Site, operation: Operation, observed: Observed) -> str | None:
    """Who has changed what a step had done that was answered with done; None where nobody has."""
    if operation.report is None or operation.report.status is not ReportStatus.DONE:
        return None
    proposal = site.action.propose(operation.intent, observed)
    if isinstance(proposal, Refusal) and proposal.kind in _BY_OTHERS:
        return proposal.text
    return None


def _settles_for(site: Site, operation: Operation, first_observed_at: float | None) -> float:
    """Seconds for which its effect may still come to be seen."""
    started = operation.started or operation.reserved
    kind = site.kind(operation.step)
    lasts = kind.settle_s
    done = operation.report is not None and operation.report.status is ReportStatus.DONE
    if done and operation.answered is not None and kind.observe_for_s is not None:
        started, lasts = operation.answered, kind.observe_for_s
    # An engine that was down gives the effect its time from its own first observation.
    first = started if first_observed_at is None else max(started, first_observed_at)
    return first + lasts - site.clock.wall()


def _was_accepted(operation: Operation) -> bool:
    return operation.report is not None and operation.report.status in (
        ReportStatus.DONE,
        ReportStatus.ACCEPTED,
    )
