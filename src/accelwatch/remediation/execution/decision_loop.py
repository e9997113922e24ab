"""Decides upon what has come in, turn after turn; a decision counts once it is written down."""

import asyncio
from collections.abc import Callable, Sequence

from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.lease import Lease
from accelwatch.alerting.incidents.journal.records import Batch
from accelwatch.alerting.incidents.model.incident import ENGINE
from accelwatch.base.clock import Clock
from accelwatch.remediation.execution.emergency_stop import EmergencyStop
from accelwatch.remediation.execution.inbox import ENDS, CommandRequest, Inbox, Reply
from accelwatch.remediation.execution.journaling import journal_records
from accelwatch.remediation.execution.operations.ledger import Commit
from accelwatch.remediation.execution.stalls import Stalls
from accelwatch.remediation.policy.context.outcome import Outcome
from accelwatch.remediation.policy.state.changes import Change, Started, WorldObservation
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.state.world import JournalStatus

TICK_S = 1.0
# Between two decisions when they are slow.
MOST_PAUSE_S = 0.1

# `policy.step.step.step` with its settings.
Decide = Callable[[RemedyState, Sequence[Change], Sequence[WorldObservation], float], Outcome]


class DecisionLoop:
    """For one event loop; it starts no effect itself."""

    def __init__(
        self,
        decide: Decide,
        commit: Commit | None,
        clock: Clock,
        inbox: Inbox,
        *,
        stop: EmergencyStop,
        lease: Lease,
        stalls: Stalls,
        on_outcome: Callable[[Outcome], None],
        on_turn: Callable[[bool], None],
    ) -> None:
        """`commit` is None without a journal; then it is never run.

        `on_outcome` gets each decision that is in the journal; `on_turn` is called after each turn,
        with whether the engine has started in it.
        """
        self._decide = decide
        self._commit = commit
        self._clock = clock
        self._inbox = inbox
        self._stop = stop
        self._lease = lease
        self._stalls = stalls
        # As far as it is written down.
        self.state = RemedyState()
        self._on_outcome = on_outcome
        self._on_turn = on_turn

    async def run(self) -> None:
        """Decide until this is cancelled."""
        while True:
            await self._inbox.wait(TICK_S)
            started_at = self._clock.monotonic()
            try:
                await self._turn()
            except JournalError as error:
                self._stalls.not_written(error)
                await asyncio.sleep(TICK_S)
            except Exception as error:  # noqa: BLE001 - logged by `failed`
                self._stalls.failed(error)
                await asyncio.sleep(TICK_S)
            else:
                self._stalls.decided()
                # What comes meanwhile is decided upon together, and others have their turn.
                await asyncio.sleep(min(self._clock.monotonic() - started_at, MOST_PAUSE_S))

    async def _turn(self) -> None:
        if command := self._stop.command_of_file(self.state, self._clock.wall()):
            self._inbox.add_changes([command])
        status = JournalStatus(loss_risk=self._lease.loss_risk)
        if status != self.state.world.journal:
            self._inbox.add_observations([status])
        while self._inbox.requests:
            await self._answer(self._inbox.requests.pop(0))
        changes, observations = self._inbox.waiting()
        now = self._clock.wall()
        outcome = self._decide(self.state, [*changes.values()], [*observations.values()], now)
        await self._adopt(outcome)
        self._inbox.done(changes, observations)
        self._on_turn(any(isinstance(change, Started) for change in changes.values()))

    async def _answer(self, request: CommandRequest) -> None:
        reply = Reply(problem=ENDS)
        try:
            outcome = self._decide(self.state, [request.command], [], self._clock.wall())
            await self._adopt(outcome, request.command.by, request.address)
            reply = Reply(notes=outcome.notes)
            self._stop.written(request.command, self._inbox.requests)
        except JournalError as error:
            reply = Reply(problem=f"it is not written down: {error}")
            raise
        except Exception as error:
            reply = Reply(problem=f"it could not be decided: {error!r}")
            raise
        finally:
            if not request.answer.done():  # somebody still waits
                request.answer.set_result(reply)

    async def _adopt(self, outcome: Outcome, actor: str = ENGINE, address: str = "") -> None:
        """Have it written, then let it count. Raises JournalError, then nothing has changed."""
        records = [state for record in outcome.records for state in journal_records(record)]
        if records:
            assert self._commit is not None
            now = self._clock.wall()
            await self._commit(Batch(time=now, records=[*records], actor=actor, address=address))
        self.state = outcome.state
        self._on_outcome(outcome)
