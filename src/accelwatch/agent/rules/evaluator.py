"""The rules of one node worked out: by the scalar code, on the snapshots of the agent."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from accelwatch.agent.feed import Feed
from accelwatch.agent.rules.facts import facts_of
from accelwatch.agent.rules.judge import NodeJudge, judged_here
from accelwatch.agent.rules.wake import Wake
from accelwatch.alerting.evaluation.evaluator import IsNews
from accelwatch.alerting.evaluation.explanation import Explanation
from accelwatch.alerting.incidents.incident import Facts, Incident
from accelwatch.alerting.rules.budget import Budgets
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.rule import Rule, RuleSet
from accelwatch.alerting.rules.spells import Spells
from accelwatch.alerting.rules.verdict import Entity, VerdictChange
from accelwatch.base.clock import Clock
from accelwatch.base.errors import UnmetError
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.snapshot import Snapshot

logger = logging.getLogger(__name__)

_GATHER = 0.05
"""Share of an interval after a change in which the cycles of other backends join the tick."""
_REST = 0.5
"""Share of an interval after a tick in which there is no other, but for what cannot wait."""
_SPACING = 0.2
"""Share of an interval after a tick in which there is none at all."""


class NodeEvaluator:
    """Works rules out on one node; the loop's thread only."""

    def __init__(self, feed: Feed, clock: Clock, collect_s: float) -> None:
        """`collect_s` is how often devices are read."""
        self._feed = feed
        self.clock = clock
        """The agent's."""
        self.collect_s = collect_s
        self._loaded = RuleSet(rules={})
        self._is_news: IsNews = lambda _node, _event: True
        self._interval_s = collect_s
        self._snapshot: Snapshot | None = None
        self._standing: object = None
        self.budgets = Budgets()
        """What rules may cost."""
        self._recalled: Sequence[ErrorEvent] = ()
        """Events before this process that an open incident rests on; the kernel tells them once."""
        self._judge = NodeJudge({}, collect_s)
        self._heard: Callable[[], None] = _nothing
        """What a change does now."""
        self._unsubscribe: Callable[[], None] | None = None

    @property
    def rules(self) -> Mapping[str, Rule]:
        """Those of devices and of the node; jobs and racks are judged by a hub."""
        return self._judge.rules

    @property
    def spells(self) -> Spells:
        """How far each rule has come on each entity."""
        return self._judge.engine.spells

    def pace(self, wanted_s: float) -> float:
        """As often as rules ask for, but nothing is judged more often than it is read."""
        before, self._interval_s = self._interval_s, max(wanted_s, self.collect_s)
        if self._interval_s != before:
            self._begin()
        return self._interval_s

    def set_rules(self, loaded: RuleSet, is_news: IsNews) -> None:
        """Other rules from now on."""
        elsewhere = len(loaded.rules) - len(judged_here(loaded.rules))
        if elsewhere:
            logger.info("rules of jobs and racks are judged by a hub only count=%d", elsewhere)
        self._loaded, self._is_news = loaded, is_news
        self._begin()

    def _begin(self) -> None:
        before = self._judge
        self._judge = NodeJudge(
            self._loaded.rules,
            self._interval_s,
            is_news=self._news,
            budgets=self.budgets,
            recalled=self._recalled,
        )
        self._judge.take_over(before)

    def recall(self, events: Sequence[ErrorEvent]) -> None:
        """Take up events that an earlier process heard."""
        self._recalled = events
        self._begin()

    def _news(self, event: ErrorEvent) -> bool:
        return self._is_news("" if self._snapshot is None else self._snapshot.host, event)

    async def wait(self) -> None:
        """Return soon after the next change of what is read, or when it is time without one.

        A device in another state, and an event, do not wait for the end of the interval.
        """
        if self._unsubscribe is None:
            self._unsubscribe = self._feed.subscribe(self._on_change)
        elif await self._rest(self._interval_s - self.collect_s * (1 - _REST)):
            return
        loop = asyncio.get_running_loop()
        # A change that comes late must not be missed by a tick just before it, time after time.
        end, gather_s = loop.time() + self.collect_s, self.collect_s * _GATHER
        wake = Wake(end)
        self._heard = lambda: wake.bring(min(loop.time() + gather_s, end))
        await wake.over()

    async def _rest(self, rest_s: float) -> bool:
        """Rest for so long, or until something has changed that does not wait; whether it has."""
        loop = asyncio.get_running_loop()
        began, gather_s = loop.time(), self.collect_s * _GATHER
        spaced = began + min(self.collect_s * _SPACING, rest_s)
        wake = Wake(began + rest_s)

        def hear() -> None:
            if self._stands_otherwise():
                wake.bring(max(loop.time(), spaced) + gather_s)

        self._heard = hear
        hear()
        return await wake.over()

    def _on_change(self) -> None:
        self._heard()

    def _stands_otherwise(self) -> bool:
        """Whether a device is in another state than at the last tick, or an event has come."""
        return self._feed.standing() != self._standing

    async def evaluate(self) -> list[VerdictChange]:
        """What has changed since the tick before."""
        self._snapshot, self._standing = self._feed.snapshot(), self._feed.standing()
        return self._judge.tick(self._snapshot, self.clock.monotonic())

    def facts(self, entity: Entity) -> Facts:
        """What is known of an entity now."""
        return Facts() if self._snapshot is None else facts_of(self._snapshot, entity)

    def suspects(self, _incident: Incident) -> Sequence[str]:
        """None: jobs are judged by a hub."""
        return ()

    def explain(self, rule: str, entity: str) -> Explanation:
        """A rule on an entity (`n12/nvidia3`, `nvidia3`, `n12`) now. Raises UnmetError."""
        from accelwatch.alerting.evaluation.explaining import explained, no_such_rule, wrong_scope

        known = self._judge.rules.get(rule)
        if known is None:
            raise no_such_rule(rule, self._judge.rules)
        wanted = self._named(entity)
        for subject in self._judge.seen.get(known.scope, ()):
            if subject.entity == wanted:
                return explained(known, wanted, self.spells, subject.environment)
        raise wrong_scope(known, wanted)

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
        """Listen no more."""
        self._heard = _nothing
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None


def _nothing() -> None:
    """Nobody waits."""
