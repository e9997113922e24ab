"""Carrying out one intent: look, have the next step proposed, write it down, do it, look again.

Whatever is open on the node is judged first, by what is seen; so a pursuit that begins after a crash
does the same as one that was never interrupted. A step whose outcome nobody knows is followed by no
other until an observation or a person has told what became of it.
"""

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from accelwatch.action.contract import ActionUnavailableError, Corrects, ResumesOperations
from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.observed import Observed
from accelwatch.action.step import (
    Achieved,
    Recovery,
    Refusal,
    RefusalKind,
    ReportStatus,
    Step,
    Wait,
)
from accelwatch.alerting.incidents.journal.file import JournalClaimedError, JournalError
from accelwatch.remediation.execution.operations.effect import Site, carry_out
from accelwatch.remediation.execution.operations.ledger import originals, same
from accelwatch.remediation.execution.operations.operation import Operation, OperationState, Witness
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult

logger = logging.getLogger(__name__)

# Pauses before a step is tried again.
RETRY_AFTER_S = (1.0, 4.0, 16.0)
# By how much of itself a pause may be longer.
JITTER = 0.2
# Pauses before somebody who does not answer is asked again.
FROZEN_S = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
# Pauses between looks at a step whose effect is not seen yet.
POLL_PAUSES_S = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
# What an action may ask for between two looks at what comes about by itself.
LEAST_WAIT_S = 0.05
# As often as that, one after another; then at least the first pause between looks.
_SHORT_WAITS = 20
_BY_OTHERS = frozenset({RefusalKind.FOREIGN, RefusalKind.OVERRIDDEN})
# Pause while no effect may begin.
BLOCKED_S = 0.5
# A look that takes longer is none: every call of an action ends by itself before that.
_OBSERVE_WITHIN_S = 60.0

Report = Callable[[Pursued], None]


class _Pause(NamedTuple):
    seconds: float
    text: str


class Pursuit:
    """One intent, until it ends; for one event loop."""

    def __init__(self, site: Site, intent: Intent, report: Report) -> None:
        """`report` hears of its end, and before that once when a step's outcome is not known."""
        self._site = site
        self._intent = intent
        self._report = report
        self._cancelled = asyncio.Event()
        self._woken = asyncio.Event()
        self._polls = 0
        self._waits = 0
        self._frozen = 0
        self._first_observed_at: float | None = None
        self._observed: Observed | None = None
        self._reported_unknown = ""
        # For people: what it is doing or waiting for.
        self.text = ""
        # Why it cannot go on, while that is nothing that anybody decided.
        self.problem = ""

    def cancel(self) -> None:
        """Begin nothing more; what is open is still looked at until it is known."""
        self._cancelled.set()
        self._woken.set()

    def wake(self) -> None:
        """Look again now: what it waits for may have come about."""
        self._woken.set()

    @property
    def node(self) -> str:
        """Whose pursuit it is."""
        return self._intent.node

    def lost(self, text: str) -> Pursued:
        """What is to be told when it has ended otherwise than it should."""
        return self._pursuit_result(PursuitResult.UNKNOWN, text)

    async def run(self) -> None:
        """Carry it out, and report the end."""
        while True:
            lanes, name = self._site.lanes, self._site.name
            async with (
                lanes.node(name, self._intent.node),
                lanes.shared(name, self._intent.kind),
            ):
                outcome = await self._turn()
            if isinstance(outcome, Pursued):
                self._report(outcome)
                return
            self.text = outcome.text
            await self._pause(outcome.seconds)

    async def _pause(self, seconds: float) -> None:
        if self._cancelled.is_set():
            # It has been woken already; only what is open keeps it.
            await asyncio.sleep(seconds)
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        self._woken.clear()

    async def _turn(self) -> Pursued | _Pause:
        operation = self._open()
        if operation is None and self._cancelled.is_set():
            return self._pursuit_result(PursuitResult.CANCELLED, "it is no longer requested")
        try:
            if operation is not None and operation.state is OperationState.RESERVED:
                # Whoever wrote it down ended before it began.
                await self._settle(operation, OperationState.CANCELLED, "it was never started")
                operation = None
            own = operation is None or operation.intent == self._intent
            desired = self._as_of_now() if own or operation is None else operation.intent
            self._resume_operation(operation)
            observed = await self._observe(desired)
            if own:
                self._observed = observed
            if operation is not None:
                pause = await self._evaluate(operation, observed)
                if pause is not None:
                    return pause
                if not own:
                    return _Pause(0.0, "something else has ended on the node")
            return await self._advance(desired, observed)
        except ActionUnavailableError as error:
            return self._freeze(error)
        except JournalClaimedError as error:
            return _Pause(BLOCKED_S, str(error))
        except JournalError as error:
            self.problem = self._site.ledger.problem or str(error)
            return _Pause(FROZEN_S[0], self.problem)

    def _open(self) -> Operation | None:
        return self._site.ledger.open_on(self._site.name, self._intent.node)

    def _resume_operation(self, operation: Operation | None) -> None:
        """Have what was accepted asked for, which an action that has just begun knows nothing of."""
        action = self._site.action
        if operation is None or operation.told is None or not isinstance(action, ResumesOperations):
            return
        try:
            action.resume_operation(operation.started_step, operation.id, operation.attempt)
        except Exception as error:
            logger.exception("an action failed to start a step action=%s", self._site.name)
            raise ActionUnavailableError(f"taking it up failed: {error!r}") from error

    async def _observe(self, intent: Intent) -> Observed:
        """How things stand. Raises ActionUnavailableError."""
        try:
            async with asyncio.timeout(_OBSERVE_WITHIN_S):
                observed = await self._site.action.observe(intent)
        except ActionUnavailableError:
            raise
        except TimeoutError as error:
            raise ActionUnavailableError(f"no answer within {_OBSERVE_WITHIN_S:g} s") from error
        except Exception as error:
            logger.exception("an action failed to look action=%s", self._site.name)
            raise ActionUnavailableError(f"looking failed: {error!r}") from error
        self._frozen, self.problem = 0, ""
        if self._first_observed_at is None:
            self._first_observed_at = self._site.clock.wall()
        return observed

    def _as_of_now(self) -> Intent:
        """What is wanted, with the nodes that are bad now, for an action that goes by those."""
        action, intent = self._site.action, self._intent
        if not isinstance(action, Corrects) or intent.kind not in action.corrects:
            return intent
        done = originals(self._site.ledger.of(self._site.name, intent))
        now = self._site.as_of_now(intent)
        return msgspec.structs.replace(now, original={**done, **intent.original})

    def _freeze(self, error: ActionUnavailableError) -> Pursued | _Pause:
        self.problem = f"{self._site.name} does not answer: {error}"
        if self._open() is None and self._is_late:
            return self._pursuit_result(
                PursuitResult.CANCELLED, f"its time is over; {self.problem}"
            )
        pause = FROZEN_S[min(self._frozen, len(FROZEN_S) - 1)]
        self._frozen += 1
        return _Pause(pause, self.problem)

    @property
    def _is_late(self) -> bool:
        return self._site.clock.wall() > self._intent.deadline

    async def _evaluate(self, operation: Operation, observed: Observed) -> _Pause | None:
        """What an open operation has come to: None when that is known now."""
        try:
            recovery = self._site.action.recover(operation.started_step, observed)
            if recovery is Recovery.UNKNOWN and self._is_done(operation, observed):
                recovery = Recovery.DONE
            by_others = None
            if recovery is not Recovery.DONE:
                by_others = self._changed_since(operation, observed)
        except Exception as error:
            logger.exception("an action failed to evaluate action=%s", self._site.name)
            raise ActionUnavailableError(f"judging failed: {error!r}") from error
        settling = self._settles_for(operation)
        if recovery is Recovery.DONE:
            await self._settle(operation, OperationState.OBSERVED, "seen to be so")
        elif by_others is not None:
            text = f"it was done, and has been changed since: {by_others}"
            await self._settle(operation, OperationState.OBSERVED, text)
        elif recovery is Recovery.REDO and (settling <= 0 or not _was_accepted(operation)):
            await self._settle(operation, OperationState.FAILED, "seen not to have happened")
        elif settling > 0:
            text = f"{operation.step.text}: its effect is not seen yet"
            promised = self._site.kind(operation.step).observe_for_s is not None
            return self._next_poll(text, within_s=settling if promised else math.inf)
        else:
            return await self._leave_unknown(operation)
        self._polls = 0
        return None

    def _is_done(self, operation: Operation, observed: Observed) -> bool:
        """Whether a step that was answered has led to what is wanted."""
        return _was_accepted(operation) and isinstance(
            self._site.action.propose(operation.intent, observed), Achieved
        )

    def _changed_since(self, operation: Operation, observed: Observed) -> str | None:
        """Who has changed what a step had done that was answered with done; None where nobody has."""
        if operation.told is None or operation.told.status is not ReportStatus.DONE:
            return None
        proposal = self._site.action.propose(operation.intent, observed)
        if isinstance(proposal, Refusal) and proposal.kind in _BY_OTHERS:
            return proposal.text
        return None

    def _settles_for(self, operation: Operation) -> float:
        """Seconds for which its effect may still come to be seen."""
        started = operation.started or operation.reserved
        kind = self._site.kind(operation.step)
        lasts = kind.settle_s
        done = operation.told is not None and operation.told.status is ReportStatus.DONE
        if done and operation.answered is not None and kind.observe_for_s is not None:
            started, lasts = operation.answered, kind.observe_for_s
        first = (
            started if self._first_observed_at is None else max(started, self._first_observed_at)
        )
        return first + lasts - self._site.clock.wall()

    def _next_poll(self, text: str, within_s: float = math.inf) -> _Pause:
        pause = min(
            POLL_PAUSES_S[min(self._polls, len(POLL_PAUSES_S) - 1)], max(within_s, LEAST_WAIT_S)
        )
        self._polls += 1
        return _Pause(pause, text)

    async def _leave_unknown(self, operation: Operation) -> _Pause:
        text = f"{operation.step.text}: it is unknown whether it happened"
        if operation.state is not OperationState.UNKNOWN:
            await self._settle(operation, OperationState.UNKNOWN, text)
        if self._reported_unknown != operation.id:
            self._reported_unknown = operation.id
            self._report(self._pursuit_result(PursuitResult.UNKNOWN, text))
        return self._next_poll(text)

    async def _settle(self, operation: Operation, to: OperationState, text: str) -> None:
        by = (
            Witness.OBSERVATION
            if operation.state is not OperationState.RESERVED
            else Witness.PURSUIT
        )
        await self._site.ledger.settle(operation, to, by, text)

    async def _advance(self, desired: Intent, observed: Observed) -> Pursued | _Pause:
        """Nothing is open: the next step, or the end."""
        if self._cancelled.is_set():
            return self._pursuit_result(PursuitResult.CANCELLED, "it is no longer requested")
        try:
            proposal = self._site.action.propose(self._intent, observed)
            if desired != self._intent and not isinstance(proposal, Achieved):
                # What has come true as it was decided is over, whatever has gone bad since.
                proposal = self._site.action.propose(desired, observed)
        except Exception as error:
            logger.exception("an action failed to propose action=%s", self._site.name)
            raise ActionUnavailableError(f"proposing failed: {error!r}") from error
        match proposal:
            case Achieved(text, moved_to):
                return self._pursuit_result(PursuitResult.ACHIEVED, text, moved_to=moved_to)
            case Refusal(kind, text):
                return self._pursuit_result(PursuitResult.REFUSED, text, refusal=kind)
            case Wait(seconds, text):
                self._waits += 1
                least = LEAST_WAIT_S if self._waits <= _SHORT_WAITS else POLL_PAUSES_S[0]
                return self._late(text) or _Pause(max(seconds, least), text)
            case Step():
                self._waits = 0
                return self._late() or await self._step(desired, proposal, observed)

    def _late(self, waits_for: str = "it is not so") -> Pursued | None:
        if not self._is_late:
            return None
        return self._pursuit_result(PursuitResult.FAILED, f"its time is over: {waits_for}")

    async def _step(self, desired: Intent, step: Step, observed: Observed) -> Pursued | _Pause:
        before = self._done_before(step)
        confirmed = [
            operation for operation in before if operation.state is OperationState.OBSERVED
        ]
        if confirmed and (end := self._confirmed_before(confirmed, observed)) is not None:
            return end
        failed = [operation for operation in before if operation.state is OperationState.FAILED]
        if failed:
            last = failed[-1]
            if last.told is not None and last.told.status is ReportStatus.REFUSED:
                return self._pursuit_result(
                    PursuitResult.REFUSED, last.told.text, refusal=RefusalKind.NOT_ALLOWED
                )
            if len(failed) > len(RETRY_AFTER_S):
                return self._pursuit_result(
                    PursuitResult.FAILED, f"{step.text}: tried {len(failed)} times"
                )
            wait_s = self._retry_in(last, len(failed))
            if wait_s > 0:
                return _Pause(wait_s, f"{step.text}: tried again in {wait_s:.0f} s")
        return await self._do(desired, step, len(failed) + 1)

    def _done_before(self, step: Step) -> list[Operation]:
        """The same step as it was done before, since another one of its kind was done to the same."""
        started = [
            operation
            for operation in self._site.ledger.of(self._site.name, self._intent)
            if operation.state is not OperationState.CANCELLED
        ]
        if self._site.kind(step).idempotent:
            others = [at for at, operation in enumerate(started) if _replaces(operation.step, step)]
            started = started[others[-1] + 1 :] if others else started
        return [operation for operation in started if same(operation.step, step)]

    async def _do(self, desired: Intent, step: Step, attempt: int) -> _Pause:
        def withheld_reason() -> str:
            changed = self._as_of_now().bad_nodes != desired.bad_nodes
            return self._withheld_reason() or ("other nodes are bad by now" if changed else "")

        if reason := self._withheld_reason():
            return _Pause(BLOCKED_S, reason)
        self.text = step.text
        reason = await carry_out(self._site, self._intent, step, attempt, withheld_reason)
        return _Pause(
            BLOCKED_S if reason else 0.0, reason or f"{step.text}: done, but not seen yet"
        )

    def _withheld_reason(self) -> str:
        if self._cancelled.is_set():
            return "it is no longer requested"
        return self._site.gate(self._intent)

    def _confirmed_before(self, confirmed: list[Operation], observed: Observed) -> Pursued | None:
        """The end, when a step is proposed that was seen to be done; None when it may be done again."""
        last = confirmed[-1]
        stays = self._site.action.recover(last.started_step, observed) is Recovery.DONE
        if stays or not self._site.kind(last.step).idempotent:
            # What leaves nothing to be seen is done once.
            return self._pursuit_result(PursuitResult.ACHIEVED, f"{last.step.text}: done")
        if self._intent.kind is IntentKind.QUARANTINE:
            text = "another person or tool resumed the node after accelwatch drained it"
            return self._pursuit_result(PursuitResult.REFUSED, text, refusal=RefusalKind.OVERRIDDEN)
        if len(confirmed) > len(RETRY_AFTER_S):
            text = f"{last.step.text}: done {len(confirmed)} times, and it did not stay so"
            return self._pursuit_result(PursuitResult.FAILED, text)
        return None

    def _retry_in(self, last: Operation, failed: int) -> float:
        pause = RETRY_AFTER_S[failed - 1] * (1 + JITTER * self._site.jitter())
        if last.told is not None and last.told.again_after_s is not None:
            pause = max(pause, last.told.again_after_s)
        return (last.ended or 0.0) + pause - self._site.clock.wall()

    def _pursuit_result(
        self,
        result: PursuitResult,
        text: str,
        *,
        refusal: RefusalKind | None = None,
        moved_to: tuple[str, ...] = (),
    ) -> Pursued:
        operations = self._site.ledger.of(self._site.name, self._intent)
        return Pursued(
            intent=self._intent,
            result=result,
            time=self._site.clock.wall(),
            text=text,
            refusal=refusal,
            observed=self._observed,
            moved_to=moved_to,
            original=originals(operations),
            was_applied=any(operation.state is OperationState.OBSERVED for operation in operations),
        )


def _replaces(step: Step, other: Step) -> bool:
    """Whether a step sets anew what another one has set for the same job."""
    job = step.arguments.get("job")
    return (
        bool(job)
        and (step.kind, job) == (other.kind, other.arguments.get("job"))
        and not same(step, other)
    )


def _was_accepted(operation: Operation) -> bool:
    return operation.told is not None and operation.told.status in (
        ReportStatus.DONE,
        ReportStatus.ACCEPTED,
    )
