"""The rules of a running process: tick by tick, verdicts become incidents, and people are notified.

Nothing acts. A process whose journal cannot be kept goes on in memory and says so.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from accelwatch.alerting.delivery.approval_requests import ApprovalRequests
from accelwatch.alerting.delivery.formatting.person_call import call_of, entity_of
from accelwatch.alerting.evaluation.alerting import Alerting
from accelwatch.alerting.evaluation.evaluation_loop import EvaluationLoop
from accelwatch.alerting.evaluation.evaluator import Evaluator
from accelwatch.alerting.evaluation.event_deduplicator import EventDeduplicator
from accelwatch.alerting.evaluation.in_force.rule_states import RuleStates
from accelwatch.alerting.evaluation.in_force.rules_in_force import RulesInForce
from accelwatch.alerting.evaluation.in_force.switched_off import SWITCHED_OFF, SwitchedOffRules
from accelwatch.alerting.evaluation.notifier_owner import NotifiedBy, NotifierOwner
from accelwatch.alerting.evaluation.notifying import Notifying
from accelwatch.alerting.evaluation.restored_alerts import restore_firing
from accelwatch.alerting.evaluation.self_check.checks import SelfCheck
from accelwatch.alerting.evaluation.self_check.health import Health
from accelwatch.alerting.evaluation.self_check.lateness import Lateness
from accelwatch.alerting.incidents.incident_store import IncidentStore, OnChanges
from accelwatch.alerting.incidents.journal.patient import OpenJournal
from accelwatch.alerting.incidents.journal.records import StateRecord
from accelwatch.alerting.incidents.model.incident import Facts, Incident
from accelwatch.alerting.incidents.model.muting import Mute, Muting
from accelwatch.alerting.rules.rule import Rule, RuleSet
from accelwatch.config.alerts import Alerts
from accelwatch.config.model import RuleSettings
from accelwatch.schema.event import ErrorEvent


class RuleRunner:
    """Evaluates rules and keeps what comes of it; the loop's thread only."""

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
        journal: OpenJournal | None = None,
    ) -> None:
        """`journal` is one that is open already; else `start` opens that of the `folder` of all state.

        `notifier_owner` knows whether a hub notifies people instead, `approval_requests` what needs
        their approval.

        Raises ConfigError for rules that cannot be loaded, WindowsError for those too dear.
        """
        self._evaluator = evaluator
        self._clock = evaluator.clock
        self._folder = folder
        # Who acts on incidents; a hub sets it once its remediation has started.
        self.forward_changes = on_changes
        # One at a time: a tick rests now and then, and goes on with the moment that it began at.
        self._ticking = asyncio.Lock()
        self._lateness = Lateness(self._clock)
        self._deduplicator = EventDeduplicator({}, self._has_open, self._clock.wall)
        self._in_force = RulesInForce(
            evaluator, settings, self._is_new, self._on_replaced, self._ticking
        )
        self._switched_off = SwitchedOffRules()
        self._incident_store = IncidentStore(
            self._incident_rules(),
            evaluator.facts,
            self._on_changes,
            self._clock.wall,
            evaluator.suspects,
            journal=journal,
        )
        self._notifying = Notifying(
            self._clock, self._incident_store, notifier_owner, lambda: self.rules.rules
        )
        self._loop = EvaluationLoop(evaluator.wait, self.tick, self.reload_changed_files)
        self.health = Health(
            self._loop, self._lateness, self._incident_store, self._in_force, self._notifying
        )
        self._alerting = Alerting(
            alerts or Alerts(),
            self._clock,
            self.health.is_well,
            self._notifying.is_silent_about,
            self._resolve_wait_s,
        )
        if approval_requests is not None:
            self._alerting.approval_requests = approval_requests
        self._self_check = SelfCheck(
            self._clock,
            folder,
            self._incident_store.check_journal,
            self.health.own_problems,
            self._alerting.own,
        )
        self.rule_states = RuleStates(evaluator)
        # What the journal knew of the remedies when it was opened.
        self.states: list[StateRecord] = []
        # Grows whenever incidents have changed.
        self.version = 0
        # Nodes and devices of open incidents, and at which version.
        self._open_at: tuple[int, set[tuple[str, str]]] = (-1, set())

    async def start(self) -> None:
        """Open the journal, unless it is open; restore what was open, and begin to evaluate.

        Raises JournalError for a database that cannot be written, or that another process writes.
        """
        wall, now = self._clock.wall(), self._clock.monotonic()
        loaded = await self._incident_store.start(self._folder, self.rules, wall)
        self.states = loaded.states
        self._deduplicator = EventDeduplicator(
            loaded.fingerprints, self._has_open, self._clock.wall
        )
        restore_firing(self.open, self._evaluator.alert_states, wall, now)
        rested_on = (shown.event for incident in self.open for shown in incident.evidence)
        self._evaluator.recall([event for event in rested_on if event is not None])
        self._lateness.start(now)
        self._notifying.remember(loaded.fingerprints, wall)
        incidents = (*self.open, *self.closed)
        await self._alerting.start(self._incident_store.writer, loaded.outbox, incidents)
        self._loop.start()
        self._self_check.start()

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
        self.forward_changes(incidents)
        self._alerting.on_changes(incidents)

    async def stop(self) -> None:
        """Evaluate no more, and write what waits."""
        await self._loop.stop()
        await self._self_check.stop()
        await self._alerting.stop()
        await self._incident_store.stop()
        self._evaluator.close()

    async def reload(self, settings: RuleSettings, alerts: Alerts | None = None) -> None:
        """Read the rules again. Raises ConfigError, WindowsError; then those before stay in force."""
        candidate = await self._in_force.load(settings)
        await self._alerting.reload(alerts or Alerts(), self.open)
        await self._in_force.apply(candidate)

    async def reload_changed_files(self) -> None:
        """Load rule files that have changed; an error in them is logged once."""
        await self._in_force.reload_changed_files()

    async def _on_replaced(self, rules: RuleSet) -> None:
        wall, now = self._clock.wall(), self._clock.monotonic()
        await self._incident_store.set_rules(self._incident_rules(), rules, wall)
        restore_firing(self.open, self._evaluator.alert_states, wall, now)

    @property
    def rules(self) -> RuleSet:
        """Those in force."""
        return self._in_force.rules

    @property
    def interval_s(self) -> float:
        """Between two ticks."""
        return self._in_force.interval_s

    def refuse(self, why: str) -> None:
        """The configuration that was read last is refused, and why; empty: it is in force."""
        self._in_force.configuration_refused = why

    def _incident_rules(self) -> dict[str, Rule]:
        """The rules that incidents may rest on."""
        return {**self._evaluator.rules, SWITCHED_OFF.id: SWITCHED_OFF}

    async def tick(self) -> None:
        """Evaluate once; while that is being done already, afterwards."""
        async with self._ticking:
            changes = await self._evaluator.evaluate()
            ticked_at = self._lateness.tick()
            await asyncio.sleep(0)
            now = self._clock.wall()
            off = self._evaluator.budgets.switched_off
            changes = [*changes, *self._switched_off.changes(off, now)]
            await self._incident_store.step(changes, now, ticked_at)
            await self._incident_store.mutes.refresh()
            if self._notifying.update():
                self._alerting.on_changes(self.open)
            fingerprints = self._deduplicator.to_write(now)
            fingerprints.update(self._notifying.to_write(now))
            await self._incident_store.remember(fingerprints, now)

    def call(self, text: str, node: str = "") -> None:
        """Notify a person of what no incident is about: an alert like any other, sent once."""
        entity = entity_of(node)
        facts = self._evaluator.facts(entity) if node else Facts()
        call = call_of(text, entity, facts, self._clock.wall())
        if self._incident_store.muting.muted_now(call) is None:
            self._alerting.call(call)

    @property
    def notified_by(self) -> NotifiedBy:
        """Who notifies people of incidents."""
        return self._notifying.by

    def _resolve_wait_s(self, id_: str, resolve_after_s: float) -> float:
        requests = self._alerting.approval_requests
        return self._notifying.resolve_wait_s(id_, resolve_after_s, requests)

    @property
    def alive(self) -> bool:
        """Whether anything is being evaluated."""
        return self._loop.alive

    @property
    def evaluated_age_s(self) -> float | None:
        """Seconds since the last tick; None before the first."""
        return self._lateness.evaluated_age_s

    @property
    def late_s(self) -> float:
        """Seconds without an evaluation, where that is too long to rely on what is known; else 0."""
        return self.health.late_s

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with journal, rules and alerts; empty when all is well."""
        return self.health.problems(self._alerting, self._evaluator.budgets.switched_off)

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

    @property
    def muting(self) -> Muting:
        """The silences and windows, and what they mute."""
        return self._incident_store.muting

    @property
    def rule_count(self) -> int:
        """How many rules are in force."""
        return len(self.rules.rules)

    @property
    def rules_digest(self) -> str:
        """SHA-256 of the rules in force."""
        return self.rules.digest

    def mute_of(self, incident: Incident) -> Mute | None:
        """What mutes an incident; None when nothing does."""
        return self._incident_store.mute_of(incident)

    def is_covered_by_leader(self, incident: Incident) -> bool:
        """Whether people are notified of the incident that leads its cause instead."""
        return self._incident_store.is_covered_by_leader(incident)

    def incident(self, id_: str) -> Incident | None:
        """One incident, if it is known here."""
        return self._incident_store.incident(id_)
