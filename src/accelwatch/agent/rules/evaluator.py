"""The rules of one node worked out: by the scalar code, on the snapshots of the agent."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from accelwatch.agent.feed import Feed
from accelwatch.agent.rules.detected import RunsOnNode
from accelwatch.agent.rules.facts import facts_of
from accelwatch.agent.rules.rule_evaluator import NodeRuleEvaluator, node_rules
from accelwatch.agent.rules.wake import Wake
from accelwatch.alerting.evaluation.evaluator import IsNew
from accelwatch.alerting.evaluation.explanation import Explanation
from accelwatch.alerting.incidents.model.incident import Facts, Incident
from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.alerting.rules.alert_states import AlertStates
from accelwatch.alerting.rules.budget import Budgets
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.rule import Rule, RuleSet
from accelwatch.alerting.rules.verdict import Entity, VerdictChange
from accelwatch.base.clock import Clock
from accelwatch.base.errors import UnmetError
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.snapshot import Snapshot

logger = logging.getLogger(__name__)

# Share of an interval after a change in which the cycles of other backends join the tick.
_GATHER = 0.05
# Share of an interval after a tick in which there is no other, but for what cannot wait.
_REST = 0.5
# Share of an interval after a tick in which there is none at all.
_SPACING = 0.2


class NodeEvaluator:
    """Works rules out on one node; the loop's thread only."""

    def __init__(
        self, feed: Feed, clock: Clock, collect_s: float, folder: Path | None = None
    ) -> None:
        """`collect_s` is how often devices are read; a detector keeps what it knows in `folder`."""
        self._folder = folder
        self._feed = feed
        # The agent's.
        self.clock = clock
        self.collect_s = collect_s
        self._loaded = RuleSet(rules={})
        self._is_new: IsNew = lambda _node, _event: True
        self._interval_s = collect_s
        self._snapshot: Snapshot | None = None
        self._last_state: object = None
        # What rules may cost.
        self.budgets = Budgets()
        # Windows of maintenance that are announced here.
        self.windows: Callable[[], Iterable[Maintenance]] = tuple
        # None unless a rule uses its findings.
        self._detector: RunsOnNode | None = None
        # Events before this process that an open incident rests on; the kernel reports them once.
        self._recalled: Sequence[ErrorEvent] = ()
        self._rule_evaluator = NodeRuleEvaluator({}, collect_s, budgets=self.budgets)
        # What a change does now.
        self._change_callback: Callable[[], None] = _nothing
        self._unsubscribe: Callable[[], None] | None = None

    @property
    def rules(self) -> Mapping[str, Rule]:
        """Those of devices and of the node; jobs and racks are judged by a hub."""
        return self._rule_evaluator.rules

    @property
    def alert_states(self) -> AlertStates:
        """How far each rule has come on each entity."""
        return self._rule_evaluator.engine.alert_states

    def pace(self, requested_s: float) -> float:
        """Evaluate as often as rules require, but no more often than devices are read."""
        before, self._interval_s = self._interval_s, max(requested_s, self.collect_s)
        if self._interval_s != before:
            self._pace_detector()
            self._replace_rule_evaluator()
        return self._interval_s

    def set_rules(self, loaded: RuleSet, is_new: IsNew) -> None:
        """Other rules from now on."""
        evaluated_here = node_rules(loaded.rules)
        elsewhere = len(loaded.rules) - len(evaluated_here)
        if elsewhere:
            logger.info("only a hub evaluates rules of jobs and racks count=%d", elsewhere)
        self._loaded, self._is_new = loaded, is_new
        self._detect_if(any(rule.needs_detector for rule in evaluated_here.values()))
        self._replace_rule_evaluator()

    def _detect_if(self, needed: bool) -> None:
        """Have a detector from now on, or none. It goes on through a change of rules."""
        if not needed:
            self._close_detector()
        elif self._detector is None:
            # Only an agent whose rules need it loads numpy and the detector.
            from accelwatch.base.single_thread import load_numpy

            load_numpy()
            from accelwatch.agent.detection.node_detector import NodeDetector

            self._detector = NodeDetector(self._announced, self._folder)
            self._pace_detector()

    def _announced(self) -> Iterable[Maintenance]:
        return self.windows()

    def _close_detector(self) -> None:
        detector, self._detector = self._detector, None
        if detector is not None:
            detector.close()

    def _pace_detector(self) -> None:
        if self._detector is not None:
            self._detector.pace(self._interval_s)

    def _replace_rule_evaluator(self) -> None:
        before = self._rule_evaluator
        self._rule_evaluator = NodeRuleEvaluator(
            self._loaded.rules,
            self._interval_s,
            is_new=self._is_new_event,
            budgets=self.budgets,
            recalled=self._recalled,
            findings=self._detector,
        )
        self._rule_evaluator.adopt(before)

    def recall(self, events: Sequence[ErrorEvent]) -> None:
        """Restore events that an earlier process received."""
        self._recalled = events
        self._replace_rule_evaluator()

    def _is_new_event(self, event: ErrorEvent) -> bool:
        return self._is_new("" if self._snapshot is None else self._snapshot.host, event)

    async def wait(self) -> None:
        """Return soon after the next change of what is read, or when it is time without one.

        A device in another state, and an event, do not wait for the end of the interval.
        """
        if self._unsubscribe is None:
            self._unsubscribe = self._feed.subscribe(self._on_change)
        elif await self._wait_until(self._interval_s - self.collect_s * (1 - _REST)):
            return
        loop = asyncio.get_running_loop()
        # A change that comes late must not be missed by a tick just before it, time after time.
        end, gather_s = loop.time() + self.collect_s, self.collect_s * _GATHER
        wake = Wake(end)
        self._change_callback = lambda: wake.wake_at(min(loop.time() + gather_s, end))
        await wake.over()

    async def _wait_until(self, rest_s: float) -> bool:
        """Rest for so long, or until something has changed that does not wait; whether it has."""
        loop = asyncio.get_running_loop()
        started, gather_s = loop.time(), self.collect_s * _GATHER
        spaced = started + min(self.collect_s * _SPACING, rest_s)
        wake = Wake(started + rest_s)

        def wake_if_changed() -> None:
            if self._stands_otherwise():
                wake.wake_at(max(loop.time(), spaced) + gather_s)

        self._change_callback = wake_if_changed
        wake_if_changed()
        return await wake.over()

    def _on_change(self) -> None:
        self._change_callback()

    def _stands_otherwise(self) -> bool:
        """Whether a device is in another state than at the last tick, or an event has come."""
        return self._feed.state_key() != self._last_state

    async def evaluate(self) -> list[VerdictChange]:
        """What has changed since the tick before."""
        if self._detector is not None:
            await self._detector.detect(self._feed.snapshot(), self.clock.monotonic())
        self._snapshot, self._last_state = self._feed.snapshot(), self._feed.state_key()
        return self._rule_evaluator.tick(self._snapshot, self.clock.monotonic())

    def facts(self, entity: Entity) -> Facts:
        """What is known of an entity now."""
        return Facts() if self._snapshot is None else facts_of(self._snapshot, entity)

    def suspects(self, _incident: Incident) -> Sequence[str]:
        """None: jobs are judged by a hub."""
        return ()

    def explain(self, rule: str, entity: str) -> Explanation:
        """A rule on an entity (`n12/nvidia3`, `nvidia3`, `n12`) now. Raises UnmetError."""
        from accelwatch.alerting.evaluation.explaining import explained, no_such_rule, wrong_scope

        configured_rule = self._rule_evaluator.rules.get(rule)
        if configured_rule is None:
            raise no_such_rule(rule, self._rule_evaluator.rules)
        requested = self._named(entity)
        for subject in self._rule_evaluator.evaluated.get(configured_rule.scope, ()):
            if subject.entity == requested:
                return explained(configured_rule, requested, self.alert_states, subject.environment)
        raise wrong_scope(configured_rule, requested)

    def _named(self, text: str) -> Entity:
        host = "" if self._snapshot is None else self._snapshot.host
        if text == host:
            return Entity(scope=Scope.NODE, node=host)
        name = text.removeprefix(f"{host}/")
        for view in () if self._snapshot is None else self._snapshot.devices:
            if name in (view.device.name, view.device.id):
                return Entity(scope=Scope.DEVICE, node=host, device=view.device.id)
        raise UnmetError(f"no device {name[:100]!r} on {host}")

    def close(self) -> None:
        """Listen no more, and write down what a detector knows."""
        self._close_detector()
        self._change_callback = _nothing
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None


def _nothing() -> None:
    """Nobody waits."""
