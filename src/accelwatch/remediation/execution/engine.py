"""The engine: the only part of the remedies that waits.

It hands incidents, people's words and what is seen to the pure part, has its records written, and only
then begins or ends what it wants. Whatever cannot be written is not begun.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from accelwatch.action.contract import Action
from accelwatch.action.intent import Intent, IntentKind
from accelwatch.alerting.incidents.journal.file import JournalError
from accelwatch.alerting.incidents.journal.patient import COMMIT_WAIT_S
from accelwatch.alerting.incidents.journal.records import Batch, StateRecord
from accelwatch.alerting.incidents.model.incident import ENGINE
from accelwatch.base.clock import Clock
from accelwatch.remediation.execution.fresh_survey import FreshSurveys
from accelwatch.remediation.execution.inbox import CommandRequest, Inbox
from accelwatch.remediation.execution.journaling import journal_records, restored
from accelwatch.remediation.execution.operations.effect import Site
from accelwatch.remediation.execution.operations.lanes import Lanes
from accelwatch.remediation.execution.operations.ledger import Commit, Ledger
from accelwatch.remediation.execution.operations.operation import Operation, OperationState, Witness
from accelwatch.remediation.execution.pursuits.registry import Pursuits
from accelwatch.remediation.execution.stop_file import StopFile
from accelwatch.remediation.execution.surveying import Surveys
from accelwatch.remediation.policy.context.outcome import Note, Outcome
from accelwatch.remediation.policy.guards import data_guard
from accelwatch.remediation.policy.guards.denial import Answer, Denial
from accelwatch.remediation.policy.guards.limits.ceiling import UNDOING
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
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.policy.step.reservations import is_being_moved

logger = logging.getLogger(__name__)

TICK_S = 1.0
# Between two decisions when they take long.
MOST_PAUSE_S = 0.1
_STOPPING = "the engine ends; ask again"
# Who stopped everything, where no person said so.
STOP_FILE = "the stop file"
# By which a person takes upon himself what nobody knows.
_LETS_GO_ON = frozenset({Verb.RETRY, Verb.FORCE_RELEASE, Verb.FORGET})

# `remedy.step.step` with its settings.
Decide = Callable[[RemedyState, Sequence[Change], Sequence[WorldObservation], float], Outcome]


MayStart = Callable[[RemedyState], Answer]


def _guarded(state: RemedyState) -> Answer:
    return data_guard.may_start(state.world.guard)


def _moving(state: RemedyState, intent: Intent) -> str:
    """Why nothing is put back for a job now: its move would miss it."""
    job = intent.job if intent.kind is IntentKind.RESTORE_JOB else None
    return f"job {job} is being moved" if job and is_being_moved(state, job) else ""


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
        notify: Callable[[Sequence[Note]], None] = lambda _: None,
        operated: Callable[[Operation], None] = lambda _: None,
    ) -> None:
        """`actions` by name, in the order of the configuration; `commit` is None without a journal.

        `may_start` is asked before each effect, whenever that was decided; the data guard if None.
        `operated` hears of each state of an operation that was written down.
        """
        self._may_start = may_start or _guarded
        self._decide = decide
        self._actions = actions
        self._commit = commit
        self._clock = clock
        self._stop_file = stop_file
        self._notify = notify
        self._operated = operated
        self._inbox = Inbox()
        self._lanes = Lanes()
        self._ledger = Ledger(None, clock)
        self._pursuits = Pursuits({}, clock, lambda _: None)
        self._tasks: list[asyncio.Task[None]] = []
        # As far as it is written down.
        self.state = RemedyState()
        # Since when (monotonic seconds) what is being written is.
        self._writing: dict[int, float] = {}
        self._fresh_surveys = FreshSurveys(actions, clock, self._inbox, lambda: self.state)
        # What no scheduler has been seen to have the node of yet.
        self._unplaced: list[Intent] = []
        # The person whose STOP is not written down yet.
        self._stopped_by = ""
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
            self._ledger = Ledger(self._written, self._clock, records, written=self._operated)
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
        surveys = Surveys(
            self._actions, self._clock, lambda survey: self._inbox.add_observations([survey])
        )

        def on_finished(end: Pursued) -> None:
            self._inbox.add_observations([end])
            surveys.refresh()

        self._pursuits = Pursuits(sites, self._clock, on_finished)
        self._stop_file.start()
        self._inbox.add_changes([Started(token=self.state.token + 1, at=self._clock.wall())])
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(self._run(), name="remedies"),
            loop.create_task(surveys.run(), name="surveys"),
        ]

    async def stop(self) -> None:
        """Decide no more, and end what is under way as it is."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        await self._pursuits.stop()
        self._stop_file.stop()
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
        if command.verb is Verb.STOP:
            # It counts from now on, whether or not the disk takes it, and whatever is decided now.
            self._stopped_by = command.by
        if self._refused or not self._tasks or self._has_stopped:
            return Reply(problem=self._refused or "nothing is decided any more; see the log")
        if command.verb is Verb.APPROVE and not already_checked:
            problem = await self.resurvey(command.node)
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

    async def resurvey(self, node: str) -> str:
        """Look at a node's scheduler now and decide upon that; why that cannot be done, else empty."""
        if self._refused or not self._tasks or self._has_stopped:
            return ""  # that nothing is decided is the answer to whatever is asked next
        if stalls := self.stalls:
            return stalls[0]  # what is seen would not be decided upon
        return await self._fresh_surveys.of(node)

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
        self._heed_stop_file()
        while self._inbox.requests:
            await self._answer(self._inbox.requests.pop(0))
        changes, observations = self._inbox.waiting()
        now = self._clock.wall()
        outcome = self._decide(self.state, [*changes.values()], [*observations.values()], now)
        await self._adopt(outcome)
        self._inbox.done(changes, observations)
        self._fresh_surveys.decided()
        unplaced, self._unplaced = self._unplaced, []
        for intent in unplaced:
            self._start_pursuit(intent)
        if any(isinstance(change, Started) for change in changes.values()):
            self._follow_open_operations()

    def _heed_stop_file(self) -> None:
        why, stop = self._stop_file.why, self.state.stop
        now = self._clock.wall()
        if why and stop is None:
            self._inbox.add_changes([Command(verb=Verb.STOP, by=STOP_FILE, at=now, reason=why)])
        elif not why and stop is not None and stop.by == STOP_FILE:
            self._inbox.add_changes([Command(verb=Verb.START, by=STOP_FILE, at=now)])

    async def _answer(self, request: CommandRequest) -> None:
        reply = Reply(problem=_STOPPING)
        try:
            outcome = self._decide(self.state, [request.command], [], self._clock.wall())
            await self._adopt(outcome, request.command.by, request.address)
            reply = Reply(notes=outcome.notes)
            if request.command.verb in (Verb.STOP, Verb.START):
                self._stopped_by = self._next_stop  # the state has the word now
        except JournalError as error:
            reply = Reply(problem=f"it is not written down: {error}")
            raise
        except Exception as error:
            reply = Reply(problem=f"it could not be decided: {error!r}")
            raise
        finally:
            if not request.answer.done():  # somebody still waits
                request.answer.set_result(reply)

    @property
    def _next_stop(self) -> str:
        """Whose STOP has come and waits to be written down; empty when there is none."""
        stops = [
            request.command.by
            for request in self._inbox.requests
            if request.command.verb is Verb.STOP
        ]
        return stops[-1] if stops else ""

    async def _written(self, batch: Batch) -> None:
        """Have a batch written, however long that takes. Raises JournalError."""
        assert self._commit is not None
        self._writing[id(batch)] = self._clock.monotonic()
        try:
            await self._commit(batch)
        finally:
            del self._writing[id(batch)]

    async def _adopt(self, outcome: Outcome, actor: str = ENGINE, address: str = "") -> None:
        """Have it written, then do what it wants. Raises JournalError, then nothing has changed."""
        records = [state for record in outcome.records for state in journal_records(record)]
        if records:
            now = self._clock.wall()
            await self._written(Batch(time=now, records=[*records], actor=actor, address=address))
        self.state = outcome.state
        for intent in outcome.pursue:
            self._start_pursuit(intent)
        for intent in outcome.cancel:
            self._unplaced = [candidate for candidate in self._unplaced if candidate != intent]
            self._pursuits.start(intent, self._action_of(intent))
            self._pursuits.cancel(intent)
        if outcome.notes:
            self._notify(outcome.notes)

    def _start_pursuit(self, intent: Intent) -> None:
        """Pursue an intent by the scheduler that has the node; while nobody has shown it, wait."""
        action = self._action_of(intent)
        late = self._clock.wall() > intent.deadline
        if not action and not late and len(self._pursuits.able(intent)) > 1:
            self._unplaced.append(intent)
            return
        self._pursuits.start(intent, action)
        if late and not action:
            self._pursuits.cancel(intent)

    def _action_of(self, intent: Intent) -> str:
        """By which action it was begun, also before a restart; else the one that shows the node."""
        return self._ledger.action_of(intent) or self.state.world.shown_by.get(intent.node, "")

    def _follow_open_operations(self) -> None:
        """After a restart: what is open is looked at until it is known, wanted or not."""
        state = self.state
        desired = [*state.chores.values(), *state.lingering.values()]
        for remedy in state.remedies.values():
            if remedy.pursuing is not None:
                desired.append(remedy.pursuing)
                if remedy.stage is Stage.UNKNOWN:
                    self._start_pursuit(remedy.pursuing)
        for operation in self._ledger.open():
            if operation.intent not in desired:
                self._pursuits.start(operation.intent, operation.action)
                self._pursuits.cancel(operation.intent)

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

    def _as_of_now(self, intent: Intent) -> Intent:
        return as_of_now(self.state, intent, self._clock.wall())

    def _gate(self, intent: Intent) -> str:
        """Why no effect may begin now. What we did ourselves may always be undone."""
        if self._broken:
            return self._broken
        if intent.kind in UNDOING:
            return _moving(self.state, intent)
        if self._stop_file.why:
            return f"everything is stopped: {self._stop_file.why}"
        by = self._stopped_by or (self.state.stop.by if self.state.stop is not None else "")
        if by:
            return f"everything is stopped by {by}"
        answer = self._may_start(self.state)
        return answer.text if isinstance(answer, Denial) else ""

    @property
    def _has_stopped(self) -> bool:
        return any(task.done() for task in self._tasks)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why something is not decided or done that should be; empty when all is well."""
        return tuple(dict.fromkeys((*self.stalls, *self._pursuits.problems)))

    @property
    def stalls(self) -> tuple[str, ...]:
        """Why nothing new is decided or done at all; empty when something may be."""
        stopped = self._has_stopped
        since = min(self._writing.values(), default=self._clock.monotonic())
        hangs = self._clock.monotonic() - since > COMMIT_WAIT_S
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
        return self._pursuits.texts
