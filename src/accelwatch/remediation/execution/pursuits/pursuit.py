"""Carrying out one intent: look, have the next step proposed, write it down, do it, look again.

Whatever is open on the node is settled first, by what is observed: a pursuit that starts after a crash
does the same as one that was never interrupted. A step whose outcome nobody knows is followed by no
other until an observation or a person has shown what became of it.
"""

import asyncio
import contextlib
import math
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from accelwatch.action.contract import ActionUnavailableError, Corrects
from accelwatch.action.intent import Intent
from accelwatch.action.observed import Observed
from accelwatch.action.step import Achieved, Measured, Refusal, RefusalKind, Step, Wait
from accelwatch.alerting.incidents.journal.errors import JournalClaimedError, JournalError
from accelwatch.remediation.execution.operations.effect import Site, carry_out
from accelwatch.remediation.execution.operations.ledger import originals
from accelwatch.remediation.execution.operations.operation import Operation, OperationState, Witness
from accelwatch.remediation.execution.pursuits.action_calls import (
    observe,
    propose,
    resume_operation,
)
from accelwatch.remediation.execution.pursuits.repeating import Attempt, Later, repeated
from accelwatch.remediation.execution.pursuits.settling import Unsettled, evaluated
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult

# Pauses before a scheduler that does not answer is called again.
FROZEN_S = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
# Pauses between polls of a step whose effect is not observed yet.
POLL_PAUSES_S = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
# The shortest pause that an action may request between two polls.
LEAST_WAIT_S = 0.05
# As often as that, one after another; then at least the first pause between looks.
_SHORT_WAITS = 20
# Pause while no effect may begin.
BLOCKED_S = 0.5

Report = Callable[[Pursued], None]


class _Pause(NamedTuple):
    seconds: float
    text: str


class Pursuit:
    """One intent, until it ends; for one event loop."""

    def __init__(self, site: Site, intent: Intent, report: Report) -> None:
        """`report` is called at its end, and once before when a step's outcome is unknown."""
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
        """Start no further step; an open step is still polled until its outcome is known."""
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
        """The result to report when it has ended otherwise than it should."""
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
            resume_operation(self._site, operation)
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

    async def _observe(self, intent: Intent) -> Observed:
        observed = await observe(self._site, intent)
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
        """Settle an open operation: None when it is known now what it has come to."""
        outcome = evaluated(self._site, operation, observed, self._first_observed_at)
        if isinstance(outcome, Unsettled):
            within_s = math.inf if outcome.within_s is None else outcome.within_s
            return self._next_poll(outcome.text, within_s)
        if outcome.state is OperationState.UNKNOWN:
            return await self._leave_unknown(operation, outcome.text)
        await self._settle(operation, outcome.state, outcome.text)
        self._polls = 0
        return None

    def _next_poll(self, text: str, within_s: float = math.inf) -> _Pause:
        pause = min(
            POLL_PAUSES_S[min(self._polls, len(POLL_PAUSES_S) - 1)], max(within_s, LEAST_WAIT_S)
        )
        self._polls += 1
        return _Pause(pause, text)

    async def _leave_unknown(self, operation: Operation, text: str) -> _Pause:
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
        proposal = propose(self._site, self._intent, desired, observed)
        match proposal:
            case Achieved(text, moved_to, measured):
                return self._pursuit_result(
                    PursuitResult.ACHIEVED, text, moved_to=moved_to, measured=measured
                )
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
        match repeated(self._site, self._intent, step, observed):
            case Attempt(number):
                return await self._do(desired, step, number)
            case Later(seconds):
                return _Pause(seconds, f"{step.text}: tried again in {seconds:.0f} s")
            case end:
                return self._pursuit_result(end.result, end.text, refusal=end.refusal)

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

    def _pursuit_result(
        self,
        result: PursuitResult,
        text: str,
        *,
        refusal: RefusalKind | None = None,
        moved_to: tuple[str, ...] = (),
        measured: Measured | None = None,
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
            measured=measured,
            original=originals(operations),
            was_applied=any(operation.state is OperationState.OBSERVED for operation in operations),
            action=self._site.name,
        )
