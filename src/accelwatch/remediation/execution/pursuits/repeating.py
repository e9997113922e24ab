"""Whether a step that was done before may be done again: how often, how soon, or never."""

from typing import NamedTuple

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.observed import Observed
from accelwatch.action.step import Recovery, RefusalKind, ReportStatus, Step
from accelwatch.remediation.execution.operations.effect import Site
from accelwatch.remediation.execution.operations.ledger import same
from accelwatch.remediation.execution.operations.operation import Operation, OperationState
from accelwatch.remediation.policy.state.pursued import PursuitResult

# Pauses before a step is tried again.
RETRY_AFTER_S = (1.0, 4.0, 16.0)
# By how much of itself a pause may be longer.
JITTER = 0.2


class Attempt(NamedTuple):
    """It may be done now; `number` counts from 1."""

    number: int


class Later(NamedTuple):
    """It may be tried again after a pause."""

    seconds: float


class End(NamedTuple):
    """It is not done again: the pursuit ends."""

    result: PursuitResult
    text: str
    refusal: RefusalKind | None = None


def repeated(site: Site, intent: Intent, step: Step, observed: Observed) -> Attempt | Later | End:
    """What the ledger says of doing a step now. Raises what an action's `recover` does."""
    before = _earlier_operations(site, intent, step)
    confirmed = [operation for operation in before if operation.state is OperationState.OBSERVED]
    if confirmed and (end := _after_confirmed(site, intent, confirmed, observed)) is not None:
        return end
    failed = [operation for operation in before if operation.state is OperationState.FAILED]
    if failed:
        last = failed[-1]
        if last.report is not None and last.report.status is ReportStatus.REFUSED:
            return End(PursuitResult.REFUSED, last.report.text, RefusalKind.NOT_ALLOWED)
        if len(failed) > len(RETRY_AFTER_S):
            return End(PursuitResult.FAILED, f"{step.text}: tried {len(failed)} times")
        wait_s = _retry_in(site, last, len(failed))
        if wait_s > 0:
            return Later(wait_s)
    return Attempt(len(failed) + 1)


def _earlier_operations(site: Site, intent: Intent, step: Step) -> list[Operation]:
    """The same step as it was done before, since another one of its kind was done to the same."""
    started = [
        operation
        for operation in site.ledger.of(site.name, intent)
        if operation.state is not OperationState.CANCELLED
    ]
    if site.kind(step).idempotent:
        others = [at for at, operation in enumerate(started) if _replaces(operation.step, step)]
        started = started[others[-1] + 1 :] if others else started
    return [operation for operation in started if same(operation.step, step)]


def _replaces(step: Step, other: Step) -> bool:
    """Whether a step replaces what another one has set for the same job."""
    job = step.arguments.get("job")
    return (
        bool(job)
        and (step.kind, job) == (other.kind, other.arguments.get("job"))
        and not same(step, other)
    )


def _after_confirmed(
    site: Site, intent: Intent, confirmed: list[Operation], observed: Observed
) -> End | None:
    """The end, when a step is proposed that was seen to be done; None when it may be done again."""
    last = confirmed[-1]
    stays = site.action.recover(last.started_step, observed) is Recovery.DONE
    if stays or not site.kind(last.step).idempotent:
        # What leaves nothing to be seen is done once.
        return End(PursuitResult.ACHIEVED, f"{last.step.text}: done")
    if intent.kind is IntentKind.QUARANTINE:
        text = "another person or tool resumed the node after accelwatch drained it"
        return End(PursuitResult.REFUSED, text, RefusalKind.OVERRIDDEN)
    if len(confirmed) > len(RETRY_AFTER_S):
        text = f"{last.step.text}: done {len(confirmed)} times, and it did not stay so"
        return End(PursuitResult.FAILED, text)
    return None


def _retry_in(site: Site, last: Operation, failed: int) -> float:
    pause = RETRY_AFTER_S[failed - 1] * (1 + JITTER * site.jitter())
    if last.report is not None and last.report.again_after_s is not None:
        pause = max(pause, last.report.again_after_s)
    return (last.ended or 0.0) + pause - site.clock.wall()
