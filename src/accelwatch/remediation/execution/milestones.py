"""The durations of the steps from a fault to a node that works again. Pure."""

from collections.abc import Iterator
from enum import StrEnum

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.execution.operations.operation import Operation, OperationState
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.stage import Stage


class Milestone(StrEnum):
    """A step of the way that is over."""

    # From the start of a fault until the engine received it.
    DETECTED = "seen"
    # From there until the decision to quarantine: waits for approvals, budgets and spacing.
    DECIDED = "decided"
    # From the beginning of an effect until there was an answer to it.
    ANSWERED = "told"
    # From that answer until the effect was seen.
    OBSERVED = "observed"
    # From the decision to move a job until it was seen to run elsewhere.
    RUNNING = "running"
    # From the beginning of a verification until the node may be given back.
    VERIFIED = "verified"
    # From there until the node was observed to accept work again.
    RELEASED = "released"


def reached(
    was: Remedy | None, remedy: Remedy | None, now: float
) -> Iterator[tuple[Milestone, float]]:
    """What a change of a remedy has brought to an end, and after how many seconds."""
    if remedy is not None:
        if was is None and remedy.cases:
            yield Milestone.DETECTED, _since(min(case.since for case in remedy.cases), now)
        if remedy.pursued_kind is Kind.QUARANTINE and (
            was is None or was.pursuing != remedy.pursuing
        ):
            yield Milestone.DECIDED, _since(remedy.clocks.begun, now)
        for move in remedy.jobs.moved[0 if was is None else len(was.jobs.moved) :]:
            yield Milestone.RUNNING, _since(move.asked, now)
    if was is None:
        return
    if remedy is not None and (was.stage, remedy.stage) == (Stage.VERIFYING, Stage.RELEASING):
        yield Milestone.VERIFIED, _since(was.clocks.since, now)
    is_released = remedy is None or remedy.hold is None
    if is_released and was.stage is Stage.RELEASING and was.hold is not None:
        yield Milestone.RELEASED, _since(was.clocks.since, now)


class Answers:
    """When effects were answered, until they are seen; those of an earlier process are not known."""

    def __init__(self) -> None:
        self._answered_at: dict[str, float] = {}

    def reached(self, operation: Operation, now: float) -> Iterator[tuple[Milestone, float]]:
        """What a change of an operation has brought to an end, and after how many seconds."""
        if operation.state is OperationState.ANSWERED and operation.started is not None:
            self._answered_at[operation.id] = now
            yield Milestone.ANSWERED, _since(operation.started, now)
            return
        answered_at = self._answered_at.pop(operation.id, None)
        if answered_at is not None and operation.state is OperationState.OBSERVED:
            yield Milestone.OBSERVED, _since(answered_at, now)


def _since(start: float, now: float) -> float:
    """Seconds; clocks of others may be ahead of ours."""
    return max(now - start, 0.0)
