"""The rules of a running agent: tick by tick, verdicts become incidents. Nothing acts."""

import asyncio
import contextlib
import logging
from pathlib import Path

from accelwatch.agent.feed import Feed
from accelwatch.agent.rules.facts import facts_of
from accelwatch.agent.rules.judge import NodeJudge, judged_here
from accelwatch.clock import Clock
from accelwatch.config.model import RuleSettings
from accelwatch.errors import AccelwatchError
from accelwatch.incidents.incident import Facts, Incident
from accelwatch.incidents.register import Heard, Register, take_up
from accelwatch.rules.configured import loaded_rules, marks
from accelwatch.rules.rule import RuleSet
from accelwatch.rules.verdict import Entity
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import Snapshot

logger = logging.getLogger(__name__)

EVENT_MAX_AGE_S = 600.0
"""Older events open no incident when they are told for the first time."""
LOOK_EVERY_S = 5.0
"""How often rule files are looked at."""
_GATHER = 0.1
"""Share of an interval after a change in which the cycles of other backends join the tick."""
_REST = 0.5
"""Share of an interval after a tick in which there is no other."""


class RuleRunner:
    """Judges the node once an interval; the loop's thread only."""

    def __init__(
        self,
        feed: Feed,
        settings: RuleSettings,
        clock: Clock,
        *,
        collect_s: float,
        heard: Heard = lambda _: None,
    ) -> None:
        """`collect_s` is how often devices are read. Raises ConfigError for rules that are wrong."""
        self._feed = feed
        self._clock = clock
        self._settings = settings
        self._collect_s = collect_s
        self._marks = marks(settings)
        self.loaded: RuleSet = loaded_rules(settings)
        self._snapshot: Snapshot | None = None
        self._judge = self._new_judge(self.loaded)
        self._register = Register(self._judge.rules, self._describe, heard)
        self._refused = ""
        self._broken = ""
        self._open_before: frozenset[str] = frozenset()
        self._task: asyncio.Task[None] | None = None
        self._judged_at: float | None = None

    @property
    def interval_s(self) -> float:
        """Between two ticks: nothing is judged more often than it is read."""
        return max(self._settings.interval_s, self._collect_s)

    def _new_judge(self, loaded: RuleSet) -> NodeJudge:
        elsewhere = len(loaded.rules) - len(judged_here(loaded.rules))
        if elsewhere:
            logger.info("rules of jobs and racks are judged by a hub only count=%d", elsewhere)
        return NodeJudge(loaded.rules, self.interval_s, is_news=self._is_news)

    async def start(self, folder: Path | None) -> None:
        """Open the journal, take up what was open, and begin to judge."""
        wall, now = self._clock.wall(), self._clock.monotonic()
        loaded = await self._register.begin(folder, self.loaded, wall)
        opened = [one for one in loaded.incidents if one.is_open]
        self._open_before = frozenset(one.entity.device for one in opened)
        take_up(opened, self._judge.engine.spells, wall, now)
        self._task = asyncio.get_running_loop().create_task(self._run(), name="rules")

    async def stop(self) -> None:
        """Judge no more, and write what waits."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await self._register.end()

    async def change(self, settings: RuleSettings, collect_s: float) -> None:
        """Other settings from now on, and files read again. Raises ConfigError; then all stays."""
        loaded = await asyncio.to_thread(loaded_rules, settings)
        before = self.interval_s
        self._settings, self._collect_s = settings, collect_s
        self._marks, self._refused = marks(settings), ""
        if loaded.digest != self.loaded.digest or before != self.interval_s:
            await self._replace(loaded)

    async def _replace(self, loaded: RuleSet) -> None:
        before = self._judge
        self.loaded, self._judge = loaded, self._new_judge(loaded)
        self._judge.take_over(before)
        await self._register.set_rules(self._judge.rules, loaded, self._clock.wall())
        logger.info("rules in force count=%d", len(loaded.rules))

    async def _run(self) -> None:
        changed = asyncio.Event()
        end = self._feed.subscribe(changed.set)
        looked = self._clock.monotonic()
        try:
            while True:
                changed.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._collect_s * (1 - _REST)):
                        await changed.wait()
                        await asyncio.sleep(self._collect_s * _GATHER)
                await self.tick_safely()
                if self._clock.monotonic() - looked >= LOOK_EVERY_S:
                    await self.look_again()
                    looked = self._clock.monotonic()
                await asyncio.sleep(self.interval_s - self._collect_s * (1 - _REST))
        finally:
            end()

    async def tick_safely(self) -> None:
        """Whatever a rule meets, the agent goes on and the next tick is tried."""
        try:
            await self.tick()
        except Exception as error:
            if not self._broken:
                logger.exception("a tick of the rules failed")
            self._broken = f"a tick of the rules failed: {error!r}"
        else:
            self._broken = ""

    async def tick(self) -> None:
        """Judge once."""
        snapshot = self._snapshot = self._feed.snapshot()
        self._judged_at = self._clock.monotonic()
        changes = self._judge.tick(snapshot, self._judged_at)
        if changes:
            await self._register.step(changes, snapshot.time)

    async def look_again(self) -> None:
        """Take up files that have changed; what cannot be loaded is told once and changes nothing."""
        seen = await asyncio.to_thread(marks, self._settings)
        if seen == self._marks:
            return
        self._marks = seen
        try:
            loaded = await asyncio.to_thread(loaded_rules, self._settings)
        except AccelwatchError as error:
            self._refused = f"rules refused, those before stay in force: {error}"
            logger.error("%s", self._refused)
        else:
            self._refused = ""
            if loaded.digest != self.loaded.digest:
                await self._replace(loaded)

    def _is_news(self, event: ErrorEvent) -> bool:
        """What is open since before may still rest on an old event."""
        recent = self._clock.wall() - event.time <= EVENT_MAX_AGE_S
        return recent or event.device_id in self._open_before

    def _describe(self, entity: Entity) -> Facts:
        return Facts() if self._snapshot is None else facts_of(self._snapshot, entity)

    @property
    def alive(self) -> bool:
        """Whether the node is being judged."""
        return self._task is not None and not self._task.done()

    @property
    def judged_age_s(self) -> float | None:
        """Seconds since the last tick; None before the first."""
        return None if self._judged_at is None else self._clock.monotonic() - self._judged_at

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with rules and journal; empty when all is well."""
        off = self._judge.engine.switched_off.items()
        told = (f"rule {rule} is switched off: {why}" for rule, why in off)
        ended = "rules are judged no more; see the log" if not self.alive else ""
        mine = (ended, self._broken, self._refused, *told)
        return (*self._register.problems, *(one for one in mine if one))

    @property
    def open(self) -> list[Incident]:
        """What is going on, in the order in which it was opened."""
        return self._register.open

    @property
    def closed(self) -> list[Incident]:
        """What is over, the latest first."""
        return self._register.closed

    def series(self) -> dict[tuple[str, ...], Number]:
        """How many entities each rule fires on."""
        spells = self._judge.engine.spells
        return {
            ("rule_firing", id_, rule.severity.value): sum(1 for _ in spells.firing(id_))
            for id_, rule in sorted(self._judge.rules.items())
        }
