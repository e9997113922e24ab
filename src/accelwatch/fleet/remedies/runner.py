"""A hub's engine: receives incidents and nodes once a second, and acts by the configured plug-ins."""

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path

import msgspec

from accelwatch.action.contract import Action
from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.base.clock import Clock
from accelwatch.exposition.histogram import Histogram
from accelwatch.fleet.approval import used
from accelwatch.fleet.remedies.cases import Cases
from accelwatch.fleet.remedies.current import CurrentRemedies
from accelwatch.fleet.remedies.former_pairs import former_pairs
from accelwatch.fleet.remedies.job_owners import nodes_of_jobs, scheduled
from accelwatch.fleet.remedies.measures import StageTimes, current_series
from accelwatch.fleet.remedies.node_observations import NodeObservations
from accelwatch.fleet.remedies.notes import NoteDelivery
from accelwatch.fleet.remedies.operator_commands import OperatorCommands
from accelwatch.fleet.remedies.previewing import drain_preview
from accelwatch.fleet.remedies.turns import Turns
from accelwatch.fleet.remedies.worth import with_nodes, worth_of
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.remediation.actions import actions_of, check_devices, check_in_job
from accelwatch.remediation.execution.engine import Engine
from accelwatch.remediation.execution.inbox import Reply
from accelwatch.remediation.execution.stop_file import StopFile
from accelwatch.remediation.policy.context.outcome import Outcome
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.plan.model import Plan, Worth
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.state.changes import (
    Change,
    Command,
    RulesChanged,
    WorldObservation,
)
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.step.step import step
from accelwatch.remediation.settings import RemedySettings
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

logger = logging.getLogger(__name__)

POLL_INTERVAL_S = 1.0
_CLOSE_S = 5.0

# How a moment is decided, as `step` does it.
Policy = Callable[
    [RemedyState, Sequence[Change], Sequence[WorldObservation], float, RemedySettings], Outcome
]


class RemedyRunner:
    """For the hub's event loop. It needs rules that are evaluated; whatever it meets, they go on."""

    def __init__(
        self,
        fleet: Fleet,
        evaluator: FleetEvaluator,
        rules: RuleRunner,
        settings: RemedySettings,
        *,
        policy: Policy = step,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """`policy` decides; `jitter` is the engine's.

        Raises ConfigError, PluginError for actions that cannot be built.
        """
        self._fleet = fleet
        self._policy = policy
        self._rules = rules
        self.settings = settings
        self._clock: Clock = fleet.clock
        self._actions = actions_of(settings, fleet.clock)
        check_in_job(rules.rules.rules.values(), self._actions.values())
        check_devices(rules.rules.rules.values(), self._actions.values())
        writer = rules.incident_store.writer
        self._tasks: set[asyncio.Task[object]] = set()
        self._notes = NoteDelivery(rules, self._spawn)
        self.engine = Engine(
            self._decide,
            self._actions,
            None if writer is None else writer.commit,
            fleet.clock,
            StopFile(Path(settings.stop_file), fleet.clock),
            lease=None if writer is None else writer.lease,
            notify=self._notes.deliver,
            operated=lambda operation: self._times.operated(operation, self._clock.wall()),
            jitter=jitter,
        )
        evaluator.scheduled = self._scheduled
        self._cases = Cases(rules)
        self._observations = NodeObservations(fleet, evaluator, rules, self.engine)
        self._turns = Turns(
            fleet,
            self._observations.node_status,
            self._observations.submit_turned,
            lambda: self.engine.probes,
        )
        self._commands = OperatorCommands(
            fleet, self.engine, rules.incident_store, self._actions, lambda: self.settings
        )
        self._times = StageTimes()
        self._digest = ""
        self._broken = ""

    def _decide(
        self,
        state: RemedyState,
        changes: Sequence[Change],
        observed: Sequence[WorldObservation],
        now: float,
    ) -> Outcome:
        outcome = self._policy(state, changes, observed, now, self.settings)
        self._times.count(state, outcome, now)
        return outcome

    async def start(self) -> None:
        """Restore the state from the journal, and start. Raises nothing."""
        await self.engine.start(record for record in self._rules.states if record.kind != used.KIND)
        self._cases.restore(self.engine.state)
        self._spawn(self._run())
        self._spawn(self._turns.run())

    async def stop(self) -> None:
        """Decide no more; what is under way is looked after when a hub begins again."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.engine.stop()
        for name, action in self._actions.items():
            try:
                async with asyncio.timeout(_CLOSE_S):
                    await action.close()
            except Exception as error:  # noqa: BLE001 - whatever a plug-in meets, the hub ends
                logger.warning("an action did not end well action=%s error=%r", name, error)

    @property
    def actions(self) -> Mapping[str, Action]:
        """By what it acts, by name."""
        return self._actions

    def change(self, settings: RemedySettings) -> None:
        """Replace the bounds; other actions need a restart, which is logged."""
        if settings.actions != self.settings.actions:
            logger.warning("a change takes a restart key=remedy.actions")
            settings = msgspec.structs.replace(settings, actions=self.settings.actions)
        if settings.stop_file != self.settings.stop_file:
            logger.warning("a change takes a restart key=remedy.stop_file")
        self.settings = settings

    def _spawn(self, work: Coroutine[object, object, object]) -> None:
        task: asyncio.Task[object] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self) -> None:
        due = self._clock.monotonic()
        while True:
            try:
                await self.poll(self._clock.monotonic() - due)
            except Exception as error:
                if not self._broken:
                    logger.exception("a look for the remedies failed")
                self._broken = f"a look for the remedies failed: {error!r}"
            else:
                self._broken = ""
            due = max(due + POLL_INTERVAL_S, self._clock.monotonic())
            await asyncio.sleep(due - self._clock.monotonic())

    def on_changes(self, incidents: Sequence[Incident]) -> None:
        """Incidents have changed: notify the engine at once."""
        changed = self._cases.changed(incidents)
        nodes = (self._fleet.nodes.get(name) for name in {incident.node for incident in changed})
        # Whether a node is silent by now is known before anything is decided about it.
        self._observations.submit_if_turned(node for node in nodes if node)
        self.engine.submit_changes(changed)

    async def submit_command(
        self, command: Command, address: str = "", *, already_checked: bool = False
    ) -> Reply:
        """What a person wants; when this returns it is written down, or the answer says why not.

        An approval waits for a poll of its node, unless there was one just now (`already_checked`).
        A node of ours can be given back by `force_release` without a journal: then the log has it.
        """
        return await self._commands.submit(command, address, already_checked=already_checked)

    def _scheduled(self, node: str) -> Mapping[str, str]:
        """The jobs that a scheduler shows on a node now, by their ids, each with its user."""
        return scheduled(self.engine.state, node, self.settings.nodes, self.now)

    @property
    def now(self) -> float:
        """Unix seconds."""
        return self._clock.wall()

    def plan(self, node: str) -> Plan:
        """What would be done for a node now, and what is in its way."""
        now, state = self._clock.wall(), self.engine.state
        plan = planned(state, node, now, self.settings, self._worth(node))
        return msgspec.structs.replace(plan, record=self._fleet.lemons.record_of(node))

    async def previewed_plan(self, node: str) -> Plan:
        """The plan, and the scheduler's answer to a drain of the node, queried now."""
        plan = self.plan(node)
        if not plan.steps:
            return plan
        ctx = StepContext(self.engine.state, self.settings, self.now)
        preview = await drain_preview(ctx, node, self._actions)
        return msgspec.structs.replace(plan, preview=preview)

    def _worth(self, node: str) -> Worth:
        worth = worth_of(self._fleet, node)
        if worth.job_devices:
            return worth
        nodes = nodes_of_jobs(self.engine.state, node, self.settings.nodes, self.now)
        return with_nodes(worth, self._fleet, nodes)

    async def poll(self, late_s: float = 0.0) -> None:
        """Send changes and observations to the engine; `late_s` after it was due."""
        if self._rules.rules.digest != self._digest:
            self._digest = self._rules.rules.digest
            digests = {id_: rule.digest for id_, rule in self._rules.rules.rules.items()}
            self.engine.submit_changes([RulesChanged(digests=digests)])
        self.engine.submit_changes(self._cases.all_changed())
        await self._observations.poll(late_s)

    def series(self) -> dict[Series, Number]:
        """How it does, for /metrics."""
        now = self._clock.wall()
        current = dict(current_series(self.engine.state, self.settings, now))
        return {**current, **dict(self._times.series())}

    def histograms(self) -> dict[Series, Histogram]:
        """The durations of the steps of remedies, for /metrics."""
        return self._times.histograms()

    @property
    def stalled(self) -> str:
        """Why nothing new is done about incidents though something may be; empty when all is well."""
        if not self.settings.acts:
            return ""
        reasons = (*self._rules.incident_store.problems, *self.engine.stalls, self._broken)
        return next(filter(None, reasons), "")

    @property
    def current(self) -> CurrentRemedies:
        """What is being done now."""
        return CurrentRemedies(self.engine.state, self.settings, self.engine.doing, self.problems)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why something is not done that should be; empty when all is well."""
        former = former_pairs(self.engine.state.remedies.values(), self.settings.actions)
        problems = (*self.engine.problems, self._broken, *former)
        return tuple(problem for problem in problems if problem)
