"""The engine: the only part of the remedies that waits.

It hands incidents, people's commands and observations to the pure part, has its records written, and
only then starts or ends intents. Nothing starts that cannot be written to the journal.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Iterable, Mapping, Sequence

from accelwatch.action.contract import Action
from accelwatch.action.intent import Intent
from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.lease import Lease
from accelwatch.alerting.incidents.journal.records import StateRecord
from accelwatch.base.clock import Clock
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.remediation.execution.decision_loop import Decide, DecisionLoop
from accelwatch.remediation.execution.effect_gate import EffectGate, MayStart, guarded_by_data
from accelwatch.remediation.execution.emergency_stop import EmergencyStop
from accelwatch.remediation.execution.fresh_poll import FreshPolls
from accelwatch.remediation.execution.inbox import ENDS, CommandRequest, Inbox, Reply
from accelwatch.remediation.execution.journaling import restored
from accelwatch.remediation.execution.operations.lanes import Lanes
from accelwatch.remediation.execution.operations.ledger import Commit, Ledger
from accelwatch.remediation.execution.operations.operation import Operation
from accelwatch.remediation.execution.operations.unknown_operations import (
    SETTLING_VERBS,
    fail_unknown_operation,
)
from accelwatch.remediation.execution.polling import Poller
from accelwatch.remediation.execution.pursuits.dispatch import Dispatch
from accelwatch.remediation.execution.sites import set_quarantines, sites_of
from accelwatch.remediation.execution.stalls import Stalls
from accelwatch.remediation.execution.stop_file import StopFile
from accelwatch.remediation.execution.timed_commit import TimedCommit
from accelwatch.remediation.policy.context.outcome import Note, Outcome
from accelwatch.remediation.policy.state.changes import (
    Change,
    Command,
    Started,
    Verb,
    WorldObservation,
)
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.state.pursued import Pursued

logger = logging.getLogger(__name__)


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
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """`actions` by name, in the order of the configuration; `commit` is None without a journal.

        `may_start` is evaluated before each effect, whenever that was decided; the data guard if None.
        `lease` is that of the journal: nothing starts without it, and marks have no lower token, also
        where a fail-over has lost what the last engine wrote.
        `operated` gets each state of an operation that is in the journal.
        `jitter`, 0 to 1, lengthens the pauses before anything is tried again.
        """
        self._lease = Lease() if lease is None else lease
        self._actions = actions
        self._commit = None if commit is None else TimedCommit(commit, clock)
        self._clock = clock
        self._stop = EmergencyStop(stop_file)
        self._effect_gate = EffectGate(self._stop, self._lease, may_start or guarded_by_data)
        self._notify = notify
        self._operated = operated
        self._jitter = jitter
        self._inbox = Inbox()
        self._lanes = Lanes()
        self._ledger = Ledger(None, clock)
        self._dispatch = Dispatch({}, self._ledger, clock, lambda _: None)
        self._tasks: list[asyncio.Task[None]] = []
        self._stalls = Stalls(
            self._has_stopped, lambda: self._commit is not None and self._commit.hangs
        )
        self._decisions = DecisionLoop(
            decide,
            self._commit,
            clock,
            self._inbox,
            stop=self._stop,
            lease=self._lease,
            stalls=self._stalls,
            on_outcome=self._carry_out,
            on_turn=self._on_turn,
        )
        self._fresh_polls = FreshPolls(actions, clock, self._inbox, lambda: self.state)

    async def start(self, states: Iterable[StateRecord]) -> None:
        """Restore the state from the journal, and start to decide. Raises nothing.

        Without a journal, or with one that cannot be decoded, it decides nothing and reports why.
        """
        if self._commit is None:
            self._stalls.refuse(
                "there is no journal, so nothing is decided or done about incidents"
            )
            return
        records = list(states)
        try:
            self._decisions.state = restored(records)
            self._ledger = Ledger(
                self._commit,
                self._clock,
                records,
                written=self._operated,
                token=self._lease.token,
            )
        except DECODE_ERRORS as error:
            problem = f"the journal has what this version does not understand: {error}"
            self._stalls.refuse(problem)
            logger.error("%s", problem)
            return
        sites = sites_of(
            self._actions,
            self._ledger,
            self._clock,
            lanes=self._lanes,
            gate=self._gate,
            state=lambda: self.state,
            jitter=self._jitter,
        )
        set_quarantines(self._actions, self._ledger, lambda: self.state)
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
            loop.create_task(self._decisions.run(), name="remedies"),
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
                request.answer.set_result(Reply(problem=ENDS))

    def submit_changes(self, changes: Iterable[Change]) -> None:
        """Incidents and rules as they stand now."""
        if not self._stalls.refused:
            self._inbox.add_changes(changes)

    def submit_observations(
        self, observations: Iterable[WorldObservation], *, urgent: bool = False
    ) -> None:
        """What the hub sees of nodes; what is `urgent` is decided upon at once."""
        if not self._stalls.refused:
            self._inbox.add_observations(observations, urgent=urgent)

    async def submit_command(
        self, command: Command, address: str = "", *, already_checked: bool = False
    ) -> Reply:
        """What a person wants; when this returns it is written down, or the answer says why not.

        An approval waits for a fresh poll of its node, unless `already_checked` says that there was one
        just now.
        """
        self._stop.requested(command)
        if self._stalls.refused or not self._tasks or self._has_stopped():
            return Reply(problem=self._stalls.refused or "nothing is decided any more; see the log")
        if command.verb is Verb.APPROVE and not already_checked:
            problem = await self.poll_again(command.node)
            if problem:
                return Reply(problem=problem)
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._inbox.add_request(CommandRequest(command, address, answer))
        reply = await answer
        if not reply.problem and command.verb in SETTLING_VERBS:
            try:
                await self._settle_unknown(command, address)
            except JournalError as error:
                return reply._replace(problem=f"it is not written down: {error}")
        return reply

    async def poll_again(self, node: str) -> str:
        """Poll a node's scheduler now and decide upon the result; why that failed, else empty."""
        if self._stalls.refused or not self._tasks or self._has_stopped():
            return ""  # the next command is answered with why nothing is decided
        if stalls := self.stalls:
            return stalls[0]  # what is seen would not be decided upon
        return await self._fresh_polls.of(node)

    def _carry_out(self, outcome: Outcome) -> None:
        """What is written down begins and ends what it wants."""
        self._dispatch.adopt(outcome)
        if outcome.notes:
            self._notify(outcome.notes)

    def _on_turn(self, has_started: bool) -> None:
        self._fresh_polls.decided()
        self._dispatch.retry_unplaced(self.state)
        if has_started:
            self._dispatch.follow_open_operations(self.state)

    async def _settle_unknown(self, command: Command, address: str) -> None:
        remedy = self.state.remedies.get(command.node)
        target = command.node if remedy is None else remedy.scheduler_name
        for name in self._actions:
            async with self._lanes.node(name, target):
                await fail_unknown_operation(self._ledger, name, target, command, address)

    def _gate(self, intent: Intent) -> str:
        """Why no effect may start now."""
        return self._stalls.broken or self._effect_gate.reason(self.state, intent)

    def _has_stopped(self) -> bool:
        return any(task.done() for task in self._tasks)

    @property
    def state(self) -> RemedyState:
        """What has been decided, as far as it is written down."""
        return self._decisions.state

    @property
    def problems(self) -> tuple[str, ...]:
        """Why something is not decided or done that should be; empty when all is well."""
        return tuple(dict.fromkeys((*self.stalls, *self._dispatch.pursuits.problems)))

    @property
    def stalls(self) -> tuple[str, ...]:
        """Why nothing new is decided or done at all; empty when something may be."""
        return self._stalls.reasons

    @property
    def probes(self) -> bool:
        """Whether a scheduler can be made to find out that a node is silent, so that it is urgent."""
        return any(scheduler.probes for scheduler in self.state.world.schedulers.values())

    @property
    def doing(self) -> Mapping[str, str]:
        """What is being done or waited for, by the scheduler's name of the node."""
        return self._dispatch.pursuits.texts
