"""The rules of a running process: tick by tick, verdicts become incidents, and incidents are told.

Nothing acts. A process whose journal cannot be kept goes on in memory and says so.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from accelwatch.alerting.delivery.approval_requests import ApprovalRequests
from accelwatch.alerting.delivery.formatting.person_call import call_of, entity_of
from accelwatch.alerting.delivery.stages.resolve_wait import resolve_wait_s
from accelwatch.alerting.delivery.transport.blocking import Blocking, StillBusyError
from accelwatch.alerting.evaluation.alerting import Alerting
from accelwatch.alerting.evaluation.evaluator import Evaluator
from accelwatch.alerting.evaluation.event_deduplicator import EventDeduplicator
from accelwatch.alerting.evaluation.explanation import Explanation
from accelwatch.alerting.evaluation.notifier_owner import NotifiedBy, NotifierOwner
from accelwatch.alerting.evaluation.own_problems import (
    OwnProblems,
    configuration_problem,
    evaluation_problem,
    journal_problem,
    rules_problem,
    state_problem,
)
from accelwatch.alerting.evaluation.switched_off import SWITCHED_OFF, SwitchedOffRules
from accelwatch.alerting.incidents.incident_store import IncidentStore, OnChanges, restore_firing
from accelwatch.alerting.incidents.journal.records import StateRecord
from accelwatch.alerting.incidents.model.incident import Facts, Incident
from accelwatch.alerting.incidents.model.muting import Mute
from accelwatch.alerting.rules.loading.configured import FileStamps, file_stamps, loaded_rules
from accelwatch.alerting.rules.rule import Rule, RuleSet
from accelwatch.base.errors import AccelwatchError
from accelwatch.config.alerts import Alerts
from accelwatch.config.model import RuleSettings
from accelwatch.files.damaged import damaged_files
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.reading import Number

logger = logging.getLogger(__name__)

# How often rule files, and whether this process itself is well, are looked at again.
CHECK_EVERY_S = 5.0
# For the state folder, which may be on a file system that hangs.
_FILES_WAIT_S = 30.0
LATE_INTERVALS = 10.0
# A tick that is later than both is none that a dead man's ping should vouch for.
LATE_S = 30.0


class RuleRunner:
    """Judges once in a while; the loop's thread only."""

    def __init__(
        self,
        evaluator: Evaluator,
        settings: RuleSettings,
        folder: Path | None,
        on_changes: OnChanges = lambda _: None,
        *,
        alerts: Alerts | None = None,
        notifier_owner: NotifierOwner | None = None,
        approval_requests: ApprovalRequests | None = None,
    ) -> None:
        """`notifier_owner` knows whether a hub tells people instead, `approval_requests` what they are
        asked.

        Raises ConfigError for rules that cannot be loaded, WindowsError for those too dear.
        """
        self._evaluator = evaluator
        self._clock = evaluator.clock
        self._settings = settings
        self._folder = folder
        self._forward_changes = on_changes
        self._notifier_owner = notifier_owner
        self._notified_by = NotifiedBy.HERE
        self._alerting = Alerting(
            alerts or Alerts(), self._clock, self._well, self._is_untold, self._resolve_wait_s
        )
        if approval_requests is not None:
            self._alerting.approval_requests = approval_requests
        # One at a time: a tick rests now and then, and goes on with the moment that it began at.
        self._ticking = asyncio.Lock()
        self._ticked_at: float | None = None
        self._started_at = self._clock.monotonic()
        # Of the rule files when they were looked at last.
        self._file_stamps: FileStamps = file_stamps(settings)
        self.rules: RuleSet = loaded_rules(settings)
        self._deduplicator = EventDeduplicator({}, self._has_open, self._clock.wall)
        # Between two ticks.
        self.interval_s = evaluator.pace(settings.interval_s)
        evaluator.budgets.allow(settings.budget_s)
        self._switched_off = SwitchedOffRules()
        evaluator.set_rules(self.rules, self._is_new)
        self._incident_store = IncidentStore(
            self._incident_rules(),
            evaluator.facts,
            self._on_changes,
            self._clock.wall,
            evaluator.suspects,
        )
        # What is wrong with those who act on what is judged here.
        self.beside: Callable[[], tuple[str, ...]] = tuple
        # Why those who act begin nothing new; None where nobody acts.
        self.stalled: Callable[[], str] | None = None
        # Which state is kept but could not be read, and why; without what was set aside.
        self.unread: Callable[[], tuple[str, ...]] = tuple
        # Why the configuration that was read last is refused; empty when it is in force.
        self.refused = ""
        self._own_problems = OwnProblems(self._alerting.own)
        # What the journal knew of the remedies when it was opened.
        self.states: list[StateRecord] = []
        self._broken = ""
        self._refused = ""
        self._task: asyncio.Task[None] | None = None
        self._own_check: asyncio.Task[None] | None = None
        self._files_check: asyncio.Task[None] | None = None
        self._listing: Blocking[tuple[Path, ...]] = Blocking("state folder")
        # State files that were set aside, as of the last look that the file system answered.
        self._damaged: tuple[Path, ...] = ()
        # Grows whenever incidents have changed.
        self.version = 0
        # Nodes and devices of open incidents, and at which version.
        self._open_at: tuple[int, set[tuple[str, str]]] = (-1, set())

    async def start(self) -> None:
        """Open the journal, take up what was open, and begin to judge."""
        wall, now = self._clock.wall(), self._clock.monotonic()
        loaded = await self._incident_store.start(self._folder, self.rules, wall)
        self.states = loaded.states
        self._deduplicator = EventDeduplicator(
            loaded.fingerprints, self._has_open, self._clock.wall
        )
        restore_firing(self.open, self._evaluator.alert_states, wall, now)
        rested_on = (shown.event for incident in self.open for shown in incident.evidence)
        self._evaluator.recall([event for event in rested_on if event is not None])
        self._started_at = now
        if self._notifier_owner is not None:
            self._notifier_owner.remember(loaded.fingerprints, wall)
        self._notified_by = self.notified_by
        incidents = (*self.open, *self.closed)
        await self._alerting.start(self._incident_store.writer, loaded.outbox, incidents)
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._run(), name="rules")
        self._own_check = loop.create_task(self._check_itself(), name="own problems")
        self._files_check = loop.create_task(self._check_files(), name="state folder")

    def _is_new(self, node: str, event: ErrorEvent) -> bool:
        return self._deduplicator.is_new(node, event)

    def _has_open(self, node: str, device: str) -> bool:
        if self._open_at[0] != self.version:
            self._open_at = (
                self.version,
                {(incident.entity.node, incident.entity.device) for incident in self.open},
            )
        entities = self._open_at[1]
        return (node, device) in entities or (node, "") in entities

    def _on_changes(self, incidents: Sequence[Incident]) -> None:
        self.version += 1
        self._forward_changes(incidents)
        self._alerting.on_changes(incidents)

    async def stop(self) -> None:
        """Judge no more, and write what waits."""
        started = (self._task, self._own_check, self._files_check)
        tasks = [task for task in started if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._alerting.stop()
        await self._incident_store.stop()
        self._evaluator.close()

    async def reload(self, settings: RuleSettings, alerts: Alerts | None = None) -> None:
        """Read the rules again. Raises ConfigError, WindowsError; then those before stay in force."""
        # Many rules take a second to load, in which streams and pages go on.
        stamps = await asyncio.to_thread(file_stamps, settings)
        try:
            rules = await asyncio.to_thread(loaded_rules, settings)
        except AccelwatchError as error:
            self._refuse(error, settings, stamps)
            raise
        await self._alerting.reload(alerts or Alerts(), self.open)
        try:
            if rules.digest != self.rules.digest:
                await self._replace(rules)
        except AccelwatchError as error:
            self._refuse(error, settings, stamps)
            raise
        self.interval_s = self._evaluator.pace(settings.interval_s)
        self._evaluator.budgets.allow(settings.budget_s)
        self._settings, self._file_stamps, self._refused = settings, stamps, ""

    def _refuse(self, error: AccelwatchError, settings: RuleSettings, stamps: FileStamps) -> None:
        if settings == self._settings:
            # Who asked for it tells of it; the next look at the files is no second telling.
            self._file_stamps, self._refused = stamps, _refusal(error)

    async def _replace(self, rules: RuleSet) -> None:
        self._evaluator.set_rules(rules, self._is_new)
        self.rules = rules
        wall, now = self._clock.wall(), self._clock.monotonic()
        await self._incident_store.set_rules(self._incident_rules(), rules, wall)
        restore_firing(self.open, self._evaluator.alert_states, wall, now)
        logger.info("rules in force count=%d", len(rules.rules))

    def _incident_rules(self) -> dict[str, Rule]:
        """The rules that incidents may rest on."""
        return {**self._evaluator.rules, SWITCHED_OFF.id: SWITCHED_OFF}

    async def _run(self) -> None:
        checked_at = self._clock.monotonic()
        while True:
            await self._evaluator.wait()
            await self.tick_safely()
            if self._clock.monotonic() - checked_at >= CHECK_EVERY_S:
                await self.reload_changed_files()
                checked_at = self._clock.monotonic()

    async def reload_changed_files(self) -> None:
        """Take up rule files that have changed; what cannot be loaded is told once, no more."""
        try:
            now = await asyncio.to_thread(file_stamps, self._settings)
            if now == self._file_stamps:
                return
            self._file_stamps = now
            rules = await asyncio.to_thread(loaded_rules, self._settings)
            if self._refused:
                self.refused = ""  # which was because of them
            if rules.digest != self.rules.digest:
                await self._replace(rules)
            elif self._refused:
                logger.info("rule files are valid again count=%d", len(rules.rules))
        except (AccelwatchError, OSError) as error:
            refused = _refusal(error)
            if refused != self._refused:
                logger.error("%s", refused)
            self._refused = refused
        else:
            self._refused = ""

    async def tick_safely(self) -> None:
        """Whatever a rule meets, the process goes on and the next tick is tried."""
        try:
            await self.tick()
        except Exception as error:
            if not self._broken:
                logger.exception("a tick of the rules failed")
            self._broken = f"a tick of the rules failed: {error!r}"
        else:
            self._broken = ""

    async def tick(self) -> None:
        """Judge once; while that is being done already, afterwards."""
        async with self._ticking:
            await self._evaluate()

    async def _evaluate(self) -> None:
        changes = await self._evaluator.evaluate()
        self._ticked_at = self._clock.monotonic()
        await asyncio.sleep(0)
        now = self._clock.wall()
        off = self._evaluator.budgets.switched_off
        changes = [*changes, *self._switched_off.changes(off, now)]
        await self._incident_store.step(changes, now, self._ticked_at)
        await self._incident_store.refresh_mutes()
        self._update_notifier()
        fingerprints = self._deduplicator.to_write(now)
        if self._notifier_owner is not None:
            fingerprints.update(self._notifier_owner.to_write(now))
        await self._incident_store.remember(fingerprints, now)

    def call(self, text: str, node: str = "") -> None:
        """Call a person for what no incident is about: an alert like any other, told once."""
        entity = entity_of(node)
        facts = self._evaluator.facts(entity) if node else Facts()
        call = call_of(text, entity, facts, self._clock.wall())
        if self._incident_store.muting.muted_now(call) is None:
            self._alerting.call(call)

    async def _check_itself(self) -> None:
        """See every few seconds whether this process can do its work, however often rules are judged."""
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            try:
                await self._incident_store.check_journal(self._clock.wall())
                self._notify_of_itself()
            except Exception:
                logger.exception("the check of this process itself failed")

    async def _check_files(self) -> None:
        """See which state files were set aside; nothing else waits for a file system that hangs."""
        while True:
            try:
                with contextlib.suppress(TimeoutError, StillBusyError):
                    self._damaged = await self._listing.run(
                        lambda: damaged_files(self._folder), _FILES_WAIT_S
                    )
            except Exception:
                logger.exception("the check of the state folder failed")
            await asyncio.sleep(CHECK_EVERY_S)

    def _notify_of_itself(self) -> None:
        """Notify people of what is wrong with this process itself, once, and of its end."""
        stalled = "" if self.stalled is None else self.stalled()
        unkept = (
            next(iter(self._incident_store.problems), "")
            if self._incident_store.has_journal
            else ""
        )
        problems = [journal_problem(stalled, unkept)]
        # Of what is wrong on each of a thousand nodes alike people are notified where nobody else is.
        if self.notified_by is not NotifiedBy.HUB:
            # Where rule files are broken the configuration is refused because of them.
            refused = "" if self._refused else self.refused
            problems += [
                rules_problem(self._refused),
                configuration_problem(refused),
                evaluation_problem(self.late_s, acts=self.stalled is not None),
                state_problem(self._damaged, self.unread()),
            ]
        current = [problem for problem in problems if problem is not None]
        self._own_problems.update_problems(current, self._clock.wall(), self._clock.monotonic())

    @property
    def notified_by(self) -> NotifiedBy:
        """Who tells people of incidents."""
        return NotifiedBy.HERE if self._notifier_owner is None else self._notifier_owner.now

    def _update_notifier(self) -> None:
        before, self._notified_by = self._notified_by, self.notified_by
        if self._notified_by is not before:
            logger.info("notifications of incidents come from=%s", self._notified_by.value)
            self._alerting.on_changes(self.open)

    def _is_untold(self, incident: Incident) -> bool:
        """Whether nobody is to hear of an incident from here."""
        if self.mute_of(incident) is not None or self._notified_by is NotifiedBy.HUB:
            return True
        if self.is_covered_by_leader(incident):
            return True
        return self._notified_by is NotifiedBy.LOCAL and not any(
            map(self._is_local, incident.rules)
        )

    def _resolve_wait_s(self, id_: str, resolve_after_s: float) -> float:
        """For how many seconds the end of an incident waits until people are notified of it."""
        incident = self.incident(id_)
        if incident is None:
            return 0.0
        rule = self.rules.rules.get(incident.rule)
        return resolve_wait_s(
            incident,
            self._clock.wall(),
            resolve_after_s=resolve_after_s,
            cooldown_s=0.0 if rule is None else rule.cooldown_s,
            working=self._alerting.approval_requests.works_on(incident),
        )

    def _is_local(self, id_: str) -> bool:
        rule = self.rules.rules.get(id_)
        return rule is not None and rule.local

    @property
    def alive(self) -> bool:
        """Whether anything is being judged."""
        return self._task is not None and not self._task.done()

    @property
    def evaluated_age_s(self) -> float | None:
        """Seconds since the last tick; None before the first."""
        return None if self._ticked_at is None else self._clock.monotonic() - self._ticked_at

    @property
    def late_s(self) -> float:
        """Seconds without an evaluation, where that is too long to rely on what is known; else 0."""
        age_s = self.evaluated_age_s
        waited_s = self._clock.monotonic() - self._started_at if age_s is None else age_s
        return waited_s if waited_s > max(LATE_INTERVALS * self.interval_s, LATE_S) else 0.0

    def _well(self) -> bool:
        """Whether rules are judged and what comes of it is written down."""
        late = self.late_s > 0.0
        return self.alive and not (
            late or self._broken or self._incident_store.problems or self.beside()
        )

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with journal, rules and alerts; empty when all is well."""
        has_stopped = self._task is not None and self._task.done()
        off = self._evaluator.budgets.switched_off.items()
        texts = (
            *self._incident_store.problems,
            *self.beside(),
            "rules are no longer evaluated; see the log" if has_stopped else "",
            self._broken,
            self._refused,
            "" if self._notifier_owner is None else self._notifier_owner.problem,
            *self._alerting.problems,
            *(f"rule {rule} is switched off: {why}" for rule, why in off),
        )
        return tuple(text for text in texts if text)

    def switched_off(self, rule: str) -> str:
        """Why a rule is not judged any more; empty if it is."""
        return self._evaluator.budgets.switched_off.get(rule, "")

    @property
    def open(self) -> list[Incident]:
        """What is going on, in the order in which it was opened."""
        return self._incident_store.open

    @property
    def closed(self) -> list[Incident]:
        """What is over, the latest first."""
        return self._incident_store.closed

    @property
    def incident_store(self) -> IncidentStore:
        """All incidents, and what mutes them."""
        return self._incident_store

    def mute_of(self, incident: Incident) -> Mute | None:
        """Why nobody is told of an incident; None when people are."""
        return self._incident_store.mute_of(incident)

    def is_covered_by_leader(self, incident: Incident) -> bool:
        """Whether people are told of what leads its cause instead."""
        return self._incident_store.is_covered_by_leader(incident)

    def incident(self, id_: str) -> Incident | None:
        """One incident, if it is known here."""
        return self._incident_store.incident(id_)

    def explain(self, rule: str, entity: str) -> Explanation:
        """A rule on an entity by its name, now. Raises UnmetError."""
        return self._evaluator.explain(rule, entity)

    def blind(self) -> dict[str, int]:
        """On how many entities each rule has begun and cannot see any more, whether it fires or not."""
        states = self._evaluator.alert_states
        return {id_: states.blind(rule) for id_, rule in sorted(self._evaluator.rules.items())}

    def series(self) -> dict[tuple[str, ...], Number]:
        """On how many entities each rule fires, and on how many it is blind."""
        states = self._evaluator.alert_states
        firing: dict[tuple[str, ...], Number] = {
            ("rule_firing", id_, rule.severity.value): sum(1 for _ in states.firing(id_))
            for id_, rule in sorted(self._evaluator.rules.items())
        }
        return {**firing, **{("rule_blind", id_): count for id_, count in self.blind().items()}}


def _refusal(error: Exception) -> str:
    return f"rules refused, the previous ones stay in force: {error}"
