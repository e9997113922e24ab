"""The rules of a running hub: tick by tick, verdicts become incidents, and incidents are written down.

Nothing acts. A hub whose journal cannot be kept goes on in memory and says so.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from accelwatch.config.alerts import Alerts
from accelwatch.config.model import RuleSettings
from accelwatch.errors import AccelwatchError
from accelwatch.fleet.rules.alerting import Alerting
from accelwatch.fleet.rules.explaining import entity_named, explained
from accelwatch.fleet.rules.explanation import Explanation
from accelwatch.fleet.rules.facts import facts_of
from accelwatch.fleet.rules.fleet_ground import FleetGround
from accelwatch.fleet.rules.judge import FleetJudge
from accelwatch.fleet.rules.news import News
from accelwatch.fleet.slices import LongWork
from accelwatch.fleet.state.events import Noted
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.incidents.incident import Facts, Incident
from accelwatch.incidents.register import Heard, Register, take_up
from accelwatch.rules.configured import Marks, loaded_rules, marks
from accelwatch.rules.rule import RuleSet
from accelwatch.rules.spells import Spells
from accelwatch.rules.verdict import Entity

logger = logging.getLogger(__name__)

_LOOK_EVERY_S = 5.0
"""How often rule files are looked at again."""
_LATE_TICKS = 10.0
_LATE_S = 30.0
"""A tick that is later than both is none that a dead man's ping should vouch for."""


class RuleRunner:
    """Judges the fleet once in a while; the loop's thread only."""

    def __init__(
        self,
        fleet: Fleet,
        settings: RuleSettings,
        folder: Path | None,
        heard: Heard = lambda _: None,
        alerts: Alerts | None = None,
    ) -> None:
        """Raises ConfigError for rules that cannot be loaded, WindowsError for those too dear."""
        self._fleet = fleet
        self._settings = settings
        self._folder = folder
        self._also_heard = heard
        self._alerting = Alerting(alerts or Alerts(), fleet.clock, self._well)
        self._ticked_at = 0.0
        self.rules: RuleSet = loaded_rules(settings)
        self._marks: Marks = ()
        """Of the rule files when they were looked at last."""
        self._spells = Spells(self.rules.rules)
        self._news = News({}, self._has_open)
        self._judge = self._judging(self.rules)
        self._register = Register(self.rules.rules, self._facts, self._heard)
        self._broken = ""
        self._refused = ""
        self._task: asyncio.Task[None] | None = None
        self.ticked_s: float | None = None
        """Processor and waiting time of the last tick, in seconds."""

    async def start(self) -> None:
        """Open the journal, take up what was open, and begin to judge."""
        wall, now = self._fleet.clock.wall(), self._fleet.clock.monotonic()
        loaded = await self._register.begin(self._folder, self.rules, wall)
        self._news = News(loaded.seen, self._has_open)
        take_up(loaded.incidents, self._spells, wall, now)
        self._ticked_at = now
        await self._alerting.start(self._register.writer, loaded.outbox, loaded.incidents)
        self._task = asyncio.get_running_loop().create_task(self._run(), name="rules")

    def _judging(self, rules: RuleSet) -> FleetJudge:
        ground = FleetGround(self._fleet, self._is_news)
        return FleetJudge(ground, rules.rules, self._spells)

    def _is_news(self, noted: Noted) -> bool:
        return self._news.is_news(noted)

    def _has_open(self, node: str, device: str) -> bool:
        return any(
            one.entity.node == node and one.entity.device in (device, "") for one in self.open
        )

    def _heard(self, incidents: Sequence[Incident]) -> None:
        self._also_heard(incidents)
        self._alerting.heard(incidents)

    async def stop(self) -> None:
        """Judge no more, and write what waits."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._alerting.stop()
        await self._register.end()
        self._judge.close()

    async def reload(self, settings: RuleSettings, alerts: Alerts | None = None) -> None:
        """Read the rules again. Raises ConfigError, WindowsError; then those before stay in force."""
        # Many rules take a second to load, in which streams and pages go on.
        rules = await asyncio.to_thread(loaded_rules, settings)
        await self._alerting.reload(alerts or Alerts(), self.open)
        if rules.digest != self.rules.digest:
            await self._replace(rules)
        self._settings, self._refused = settings, ""

    async def _replace(self, rules: RuleSet) -> None:
        before = self._judge
        before.close()
        try:
            judge = self._judging(rules)
        except AccelwatchError:
            self._judge = self._judging(self.rules)
            raise
        self.rules, self._judge = rules, judge
        await self._register.set_rules(rules.rules, rules, self._fleet.clock.wall())

    async def _run(self) -> None:
        looked = self._fleet.clock.monotonic()
        while True:
            await asyncio.sleep(self._settings.interval_s)
            await self.tick_safely()
            if self._fleet.clock.monotonic() - looked >= _LOOK_EVERY_S:
                await self.look_again()
                looked = self._fleet.clock.monotonic()

    async def look_again(self) -> None:
        """Take up rule files that have changed; what cannot be loaded is told once, no more."""
        try:
            now = await asyncio.to_thread(marks, self._settings)
            if now == self._marks:
                return
            self._marks = now
            rules = await asyncio.to_thread(loaded_rules, self._settings)
            if rules.digest != self.rules.digest:
                await self._replace(rules)
                logger.info("rules read again count=%d", len(rules.rules))
        except (AccelwatchError, OSError) as error:
            if str(error) != self._refused:
                logger.error("rules refused, those before stay in force: %s", error)
            self._refused = str(error)
        else:
            self._refused = ""

    async def tick_safely(self) -> None:
        """Whatever a rule meets, the hub goes on and the next tick is tried."""
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
        judge, work = self._judge, LongWork()
        changes = await judge.tick(work)
        self.ticked_s = work.end()
        self._ticked_at = self._fleet.clock.monotonic()
        if judge is self._judge:  # else other rules came meanwhile
            now = self._fleet.clock.wall()
            await self._register.step(changes, now)
            await self._register.remember(self._news.to_write(now), now)

    def _facts(self, entity: Entity) -> Facts:
        return facts_of(self._fleet, entity)

    @property
    def alive(self) -> bool:
        """Whether the fleet is being judged."""
        return self._task is not None and not self._task.done()

    def _well(self) -> bool:
        """Whether the fleet is being judged and what comes of it written down."""
        late_s = self._fleet.clock.monotonic() - self._ticked_at
        in_time = late_s <= max(_LATE_TICKS * self._settings.interval_s, _LATE_S)
        return self.alive and in_time and not (self._broken or self._register.problems)

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the journal and with rules; empty when all is well."""
        off = [f"rule {rule} is switched off: {why}" for rule, why in self.switched_off.items()]
        return tuple(
            one
            for one in (
                *self._register.problems,
                self._broken,
                self._refused,
                *self._alerting.problems,
                *off,
            )
            if one
        )

    @property
    def switched_off(self) -> Mapping[str, str]:
        """Rules that are not judged any more, and why."""
        return self._judge.switched_off

    @property
    def open(self) -> list[Incident]:
        """What is going on, in the order in which it was opened."""
        return self._register.open

    @property
    def closed(self) -> list[Incident]:
        """What is over, the latest first."""
        return self._register.closed

    def explain(self, rule: str, entity: str) -> Explanation:
        """A rule on an entity (`n12/nvidia3`, `n12`, `job:4711`, `rack:r7`) now. Raises UnmetError."""
        return explained(self._judge, rule, entity_named(entity, self._judge))

    def incident(self, id_: str) -> Incident | None:
        """One incident, if it is known here."""
        return self._register.incident(id_)
