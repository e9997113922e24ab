"""The engine: the only part of the remedies that waits.

It hands incidents, people's words and what is seen to the pure part, has its records written, and only
then begins or ends what it wants. Whatever cannot be written is not begun.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from accelwatch.action.contract import Action, ReceivesQuarantines
from accelwatch.action.intent import Intent
from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.lease import Lease
from accelwatch.alerting.incidents.journal.records import Batch, StateRecord
from accelwatch.alerting.incidents.model.incident import ENGINE
from accelwatch.base.clock import Clock
from accelwatch.remediation.execution.effect_gate import EffectGate, MayStart, guarded_by_data
from accelwatch.remediation.execution.emergency_stop import EmergencyStop
from accelwatch.remediation.execution.fresh_poll import FreshPolls
from accelwatch.remediation.execution.inbox import CommandRequest, Inbox
from accelwatch.remediation.execution.journaling import journal_records, restored
from accelwatch.remediation.execution.operations.effect import Site
from accelwatch.remediation.execution.operations.journal_quarantines import JournalQuarantines
from accelwatch.remediation.execution.operations.lanes import Lanes
from accelwatch.remediation.execution.operations.ledger import Commit, Ledger
from accelwatch.remediation.execution.operations.operation import Operation, OperationState, Witness
from accelwatch.remediation.execution.polling import Poller
from accelwatch.remediation.execution.pursuits.dispatch import Dispatch
from accelwatch.remediation.execution.stop_file import StopFile
from accelwatch.remediation.execution.timed_commit import TimedCommit
from accelwatch.remediation.policy.context.outcome import Note, Outcome
from accelwatch.remediation.policy.jobs.avoiding import as_of_now
from accelwatch.remediation.policy.state.changes import (
    Change,
    Command,
    Started,
    Verb,
    WorldObservation,
)
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.state.pursued import Pursued
from accelwatch.remediation.policy.state.world import JournalStatus

logger = logging.getLogger(__name__)

TICK_S = 1.0
# Between two decisions when they take long.
MOST_PAUSE_S = 0.1
_STOPPING = "the engine ends; ask again"
# By which a person takes upon himself what nobody knows.
_LETS_GO_ON = frozenset({Verb.RETRY, Verb.FORCE_RELEASE, Verb.FORGET})

# `remedy.step.step` with its settings.
Decide = Callable[[RemedyState, Sequence[Change], Sequence[WorldObservation], float], Outcome]


class Reply(NamedTuple):
    """What a person's word has come to."""

    notes: tuple[Note, ...] = ()
    # Why it counts for nothing; empty when it was written and counts.
    problem: str = ""


class Engine:
    """For one event loop."""

    def __init__(
        self,
        decide: Decide,
        actions: Mapping[str, Action],
        commit: Commit | None,
        clock: Clock,
        stop_file: StopFile,
        *,
        may_start: MayStart | None = None,
        lease: Lease | None = None,
        notify: Callable[[Sequence[Note]], None] = lambda _: None,
        operated: Callable[[Operation], None] = lambda _: None,
    ) -> None:
        """`actions` by name, in the order of the configuration; `commit` is None without a journal.

        `may_start` is asked before each effect, whenever that was decided; the data guard if None.
        `lease` is that of the journal: nothing is begun without it, and marks have no lower token, also
        where a fail-over has lost what the last engine wrote.
        `operated` hears of each state of an operation that was written down.
        """
        self._decide = decide
        self._lease = Lease() if lease is None else lease
        self._actions = actions
        self._commit = None if commit is None else TimedCommit(commit, clock)
        self._clock = clock
        self._stop = EmergencyStop(stop_file)
        self._effect_gate = EffectGate(self._stop, self._lease, may_start or guarded_by_data)
        self._notify = notify
        self._operated = operated
        self._inbox = Inbox()
        self._lanes = Lanes()
        self._ledger = Ledger(None, clock)
        self._dispatch = Dispatch({}, self._ledger, clock, lambda _: None)
        self._tasks: list[asyncio.Task[None]] = []
        # As far as it is written down.
        self.state = RemedyState()
        self._fresh_polls = FreshPolls(actions, clock, self._inbox, lambda: self.state)
        self._refused = ""
        self._unwritten = ""
        self._broken = ""

    async def start(self, states: Iterable[StateRecord]) -> None:
        """Take up what the journal knows, and begin to decide. Raises nothing.

        Without a journal, or with one that is not understood, nothing is decided and that is told.
        """
        if self._commit is None:
            self._refused = "there is no journal, so nothing is decided or done about incidents"
            return
        records = list(states)
        try:
            self.state = restored(records)
            self._ledger = Ledger(
                self._commit,
                self._clock,
                records,
                written=self._operated,
                token=self._lease.token,
            )
        except msgspec.MsgspecError as error:
            self._refused = f"the journal has what this version does not understand: {error}"
            logger.error("%s", self._refused)
            return
        sites = {
            name: Site(
                name,
                action,
                self._ledger,
                self._lanes,
                self._gate,
                self._clock,
                as_of_now=self._as_of_now,
            )
            for name, action in self._actions.items()
        }
        self._set_quarantines()
        poller = Poller(
            self._actions, self._clock, lambda poll: self._inbox.add_observations([poll])
        )

        def on_finished(end: Pursued) -> None:
            self._inbox.add_observations([end])
            poller.refresh()

        self._dispatch = Dispatch(sites, self._ledger, self._clock, on_finished)
        self._stop.start()
        token = max(self.state.token + 1, self._lease.token)
        self._inbox.add_changes([Started(token=token, at=self._clock.wall())])
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(self._run(), name="remedies"),
            loop.create_task(poller.run(), name="polls"),
        ]

    async def stop(self) -> None:
        """Decide no more, and end what is under way as it is."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        await self._dispatch.pursuits.stop()
        self._stop.stop()
        for request in self._inbox.requests:
            if not request.answer.done():
                request.answer.set_result(Reply(problem=_STOPPING))

    def submit_changes(self, changes: Iterable[Change]) -> None:
        """Incidents and rules as they stand now."""
        if not self._refused:
            self._inbox.add_changes(changes)

    def submit_observations(
        self, observations: Iterable[WorldObservation], *, urgent: bool = False
    ) -> None:
        """What the hub sees of nodes; what is `urgent` is decided upon at once."""
        if not self._refused:
            self._inbox.add_observations(observations, urgent=urgent)

    async def submit_command(
        self, command: Command, address: str = "", *, already_checked: bool = False
    ) -> Reply:
        """What a person wants; when this returns it is written down, or the answer says why not.

        A yes waits for a look at what it is about, unless `already_checked` says that there was one
        just now.
        """
        self._stop.requested(command)
        if self._refused or not self._tasks or self._has_stopped:
            return Reply(problem=self._refused or "nothing is decided any more; see the log")
        if command.verb is Verb.APPROVE and not already_checked:
            problem = await self.poll_again(command.node)
            if problem:
                return Reply(problem=problem)
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._inbox.add_request(CommandRequest(command, address, answer))
        reply = await answer
        assert isinstance(reply, Reply)
        if not reply.problem and command.verb in _LETS_GO_ON:
            try:
                await self._settle_unknown(command, address)
            except JournalError as error:
                return reply._replace(problem=f"it is not written down: {error}")
        return reply

    async def poll_again(self, node: str) -> str:
        """Look at a node's scheduler now and decide upon that; why that cannot be done, else empty."""
        if self._refused or not self._tasks or self._has_stopped:
            return ""  # that nothing is decided is the answer to whatever is asked next
        if stalls := self.stalls:
            return stalls[0]  # what is seen would not be decided upon
        return await self._fresh_polls.of(node)

    async def _run(self) -> None:
        while True:
            await self._inbox.wait(TICK_S)
            started_at = self._clock.monotonic()
            try:
                await self._turn()
            except JournalError as error:
                problem = f"nothing new is done while the journal cannot be written: {error}"
                if problem != self._unwritten:
                    logger.error("%s", problem)
                self._unwritten = problem
                await asyncio.sleep(TICK_S)
            except Exception as error:
                if not self._broken:
                    logger.exception("a decision about remedies failed")
                self._broken = f"a decision about remedies failed: {error!r}"
                await asyncio.sleep(TICK_S)
            else:
                self._broken = self._unwritten = ""
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
        self._fresh_polls.decided()
        self._dispatch.retry_unplaced(self.state)
        if any(isinstance(change, Started) for change in changes.values()):
            self._dispatch.follow_open_operations(self.state)

    async def _answer(self, request: CommandRequest) -> None:
        reply = Reply(problem=_STOPPING)
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
        """Have it written, then do what it wants. Raises JournalError, then nothing has changed."""
        records = [state for record in outcome.records for state in journal_records(record)]
        if records:
            assert self._commit is not None
            now = self._clock.wall()
            await self._commit(Batch(time=now, records=[*records], actor=actor, address=address))
        self.state = outcome.state
        self._dispatch.adopt(outcome)
        if outcome.notes:
            self._notify(outcome.notes)

    async def _settle_unknown(self, command: Command, address: str) -> None:
        """A person has looked at a node: what is unknown there counts as not done."""
        remedy = self.state.remedies.get(command.node)
        target = command.node if remedy is None or not remedy.target else remedy.target
        for name in self._actions:
            async with self._lanes.node(name, target):
                operation = self._ledger.open_on(name, target)
                if operation is not None and operation.state is OperationState.UNKNOWN:
                    await self._ledger.settle(
                        operation,
                        OperationState.FAILED,
                        Witness.PERSON,
                        f"{command.verb}: {command.reason}",
                        person=command.by,
                        address=address,
                    )

    def _set_quarantines(self) -> None:
        """What the journal knows of our holds, for actions whose schedulers keep no mark of ours."""
        for name, action in self._actions.items():
            if isinstance(action, ReceivesQuarantines):
                action.set_quarantines(JournalQuarantines(name, self._ledger, lambda: self.state))

    def _as_of_now(self, intent: Intent) -> Intent:
        return as_of_now(self.state, intent, self._clock.wall())

    def _gate(self, intent: Intent) -> str:
        """Why no effect may start now."""
        return self._broken or self._effect_gate.reason(self.state, intent)

    @property
    def _has_stopped(self) -> bool:
        return any(task.done() for task in self._tasks)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why something is not decided or done that should be; empty when all is well."""
        return tuple(dict.fromkeys((*self.stalls, *self._dispatch.pursuits.problems)))

    @property
    def stalls(self) -> tuple[str, ...]:
        """Why nothing new is decided or done at all; empty when something may be."""
        stopped = self._has_stopped
        hangs = self._commit is not None and self._commit.hangs
        reasons = (
            self._refused,
            "nothing is decided about incidents any more; see the log" if stopped else "",
            "nothing new is done: the journal's disk does not answer" if hangs else "",
            self._unwritten,
            self._broken,
        )
        return tuple(filter(None, reasons))

    @property
    def probes(self) -> bool:
        """Whether a scheduler can be made to find out that a node is silent, so that it is urgent."""
        return any(scheduler.probes for scheduler in self.state.world.schedulers.values())

    @property
    def doing(self) -> Mapping[str, str]:
        """What is being done or waited for, by the scheduler's name of the node."""
        return self._dispatch.pursuits.texts
