"""What only the hub runs that leads: it holds the lease of the journal (journal_lease.py)."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.location import JournalLocation
from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.alerting.rules.document import Mode
from accelwatch.exposition.histogram import Histogram
from accelwatch.fleet.detection.fault_history import FaultHistory
from accelwatch.fleet.hub.leadership.journal_lease import JournalLease, location_of
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

if TYPE_CHECKING:
    from accelwatch.alerting.evaluation.incident_reader import IncidentReader
    from accelwatch.alerting.evaluation.runner import RuleRunner
    from accelwatch.alerting.incidents.journal.patient import OpenJournal
    from accelwatch.detection.findings.finding import Finding
    from accelwatch.fleet.approval.approvals import Approvals
    from accelwatch.fleet.detection.running import FleetDetector
    from accelwatch.fleet.remedies.runner import RemedyRunner
    from accelwatch.fleet.rules.evaluator import FleetEvaluator

logger = logging.getLogger(__name__)


class _BuiltRules(NamedTuple):
    """Rules that are read, and not evaluated yet."""

    runner: "RuleRunner"
    evaluator: "FleetEvaluator"
    detector: "FleetDetector | None"


class Leader:
    """Rules, the detector, remedies and approvals of a hub; the loop's thread only."""

    def __init__(
        self,
        fleet: Fleet,
        settings: Callable[[], HubSettings],
        state_dir: Path | None,
        incidents: "Callable[[], IncidentReader | None]",
    ) -> None:
        """`settings` gives those in force, `state_dir` is the hub's folder of state.

        `incidents` are those of the rules here, or of another hub that leads.
        """
        self._fleet = fleet
        self._settings = settings
        self._state_dir = state_dir
        # One change at a time: a reload, and a lease that is won or lost.
        self._changing = asyncio.Lock()
        self.lease = JournalLease(
            self._start_leading,
            self._stop_leading,
            lambda: None if self.rules is None else self.rules.incident_store.lost,
        )
        # Evaluates the rules, where some are configured.
        self.rules: RuleRunner | None = None
        # Evaluates all signals together, where rules need its findings.
        self.detector: FleetDetector | None = None
        # Acts on incidents, where actions are configured.
        self.remedies: RemedyRunner | None = None
        # Receives approvals and denials from people with a browser, where the hub acts.
        self.approvals: Approvals | None = None
        # Which hardware has failed again and again, by what rules found.
        self.faults = FaultHistory(fleet, incidents, lambda: self.journal)

    async def reload(self, settings: HubSettings) -> None:
        """Other rules, alerts and remedies. Raises ConfigError, WindowsError, and nothing changes."""
        async with self._changing:
            # A hub that waits for the lease starts with the settings of then.
            if not self.lease.waiting:
                await self._set_rules(settings)

    async def stop(self) -> None:
        """Evaluate and do nothing any more."""
        if self.remedies is not None:
            await self.remedies.stop()
        if self.rules is not None:
            await self.rules.stop()
        if self.detector is not None:
            await self.detector.stop()
        self.rules = self.remedies = self.detector = self.approvals = None

    @property
    def alive(self) -> bool:
        """Whether the rules are evaluated, where there are any."""
        return self.rules is None or self.rules.alive

    @property
    def problems(self) -> tuple[str, ...]:
        """Why no rules are evaluated here, while another hub leads."""
        waiting = self.lease.waiting
        return (f"no rules are evaluated here: {waiting}",) if waiting else ()

    @property
    def findings(self) -> "tuple[Finding, ...]":
        """What the detector found."""
        return () if self.detector is None else self.detector.facts.findings

    def maintenance(self) -> list[Maintenance] | None:
        """The windows that are not over; None where nobody announces any."""
        return None if self.rules is None else self.rules.incident_store.muting.windows

    @property
    def journal(self) -> JournalLocation | None:
        """Where incidents are written to, here or by the hub that leads; None where they are not."""
        settings = self._settings().journal
        follows = bool(self.lease.waiting) and settings.in_postgresql
        keeps = self.rules is not None and self.rules.incident_store.writer is not None
        return location_of(settings, self._state_dir) if keeps or follows else None

    def series(self) -> dict[Series, Number]:
        """How the rules and the remedies do."""
        series = {} if self.rules is None else _of_rules(self.rules)
        if self.remedies is not None:
            series.update(self.remedies.series())
        return series

    def histograms(self) -> Mapping[Series, Histogram]:
        """The durations of the steps of remedies."""
        return {} if self.remedies is None else self.remedies.histograms()

    async def _start_leading(self) -> None:
        """Raises JournalError while another hub holds the lease, ConfigError, WindowsError."""
        async with self._changing:
            if self.rules is None:
                await self._set_rules(self._settings())

    async def _stop_leading(self) -> None:
        async with self._changing:
            await self.stop()

    async def _set_rules(self, settings: HubSettings) -> None:
        """Raises ConfigError, JournalError, WindowsError; then what was in force stays."""
        if not settings.rules_in_force.any:
            await self.stop()
            if settings.remedy.actions:
                logger.warning(
                    "no rules are configured, so nothing is ever done key=remedy.actions"
                )
        elif self.rules is None:
            await self._start_rules(settings)
        else:
            await self.rules.reload(settings.rules_in_force, settings.alerts)
            if self.remedies is not None:
                self.remedies.change(settings.remedy)
            elif settings.remedy.actions:
                logger.warning("a change takes a restart key=remedy.actions")

    async def _start_rules(self, settings: HubSettings) -> None:
        """Raises ConfigError, JournalError, WindowsError."""
        from accelwatch.alerting.incidents.journal.patient import open_patiently

        # The lease before the rules: a hub that waits for it tries each second.
        try:
            location = location_of(settings.journal, self._state_dir)
            journal = await open_patiently(location, self._fleet.clock.wall())
        except JournalError:
            if not self.lease.waiting:
                # An error in the rules is reported at the start, not when this hub is needed.
                await self._build_rules(settings, None).runner.stop()
            raise
        try:
            built = self._build_rules(settings, journal)
        except BaseException:
            # Open, it would hold the lease against the next try, here and elsewhere.
            await journal.journal.close()
            raise
        runner = built.runner
        try:
            await runner.start()
            self.rules, self.detector = runner, built.detector
            if settings.remedy.actions:
                await self._start_remedies(built.evaluator, runner, settings)
        except BaseException:
            await runner.stop()  # it closes the journal too
            self.rules = self.detector = self.approvals = None
            raise

    def _build_rules(self, settings: HubSettings, journal: "OpenJournal | None") -> "_BuiltRules":
        """Raises ConfigError, WindowsError."""
        # numpy's share of the rules is loaded by those only who have some.
        from accelwatch.alerting.evaluation.runner import RuleRunner
        from accelwatch.fleet.detection.hub import detector_of
        from accelwatch.fleet.incident_page.approval_requests import HubApprovalRequests
        from accelwatch.fleet.rules.evaluator import FleetEvaluator

        detector = detector_of(
            self._fleet,
            self.maintenance,
            lambda: self.faults.faults,
            self._state_dir if self._fleet.owns_folder else None,
        )
        evaluator = FleetEvaluator(self._fleet, detector)
        runner = RuleRunner(
            evaluator,
            settings.rules_in_force,
            self._state_dir,
            alerts=settings.alerts,
            journal=journal,
            approval_requests=HubApprovalRequests(
                lambda: self.remedies,
                lambda: self.approvals,
                lambda: self._settings().alerts.external_url,
                self._rule_acts,
            ),
        )
        runner.health.unread = self._unread_state
        return _BuiltRules(runner, evaluator, detector)

    async def _start_remedies(
        self, evaluator: "FleetEvaluator", rules: "RuleRunner", settings: HubSettings
    ) -> None:
        """Begin to act. Raises ConfigError."""
        from accelwatch.fleet.approval.approvals import Approvals
        from accelwatch.fleet.approval.links import Signer
        from accelwatch.fleet.approval.secret import signing_key
        from accelwatch.fleet.approval.shown import ShownPlans
        from accelwatch.fleet.approval.used import UsedLinks
        from accelwatch.fleet.hub.fitting import misfits
        from accelwatch.fleet.remedies.runner import RemedyRunner

        writer, links = rules.incident_store.writer, settings.remedy.links
        file = Path(links.key_file) if links.key_file else None
        # Without links nothing that is signed outlives this process.
        key = signing_key(file, self._state_dir) if links.sinks else signing_key(None, None)
        self.approvals = Approvals(
            Signer(key),
            UsedLinks(None if writer is None else writer.commit, self._fleet.clock, rules.states),
            ShownPlans(),
        )
        remedies = RemedyRunner(self._fleet, evaluator, rules, settings.remedy)
        await remedies.start()
        self.remedies = remedies
        rules.forward_changes = remedies.on_changes
        rules.health.remediation_problems = lambda: remedies.problems
        rules.health.stalled = lambda: remedies.stalled
        for complaint in misfits(settings, remedies.actions, {}):
            logger.warning("%s", complaint)

    def _rule_acts(self, rule: str) -> bool:
        """Whether a rule wants an action, with or without approval."""
        definition = None if self.rules is None else self.rules.rules.rules.get(rule)
        acts = definition is not None and definition.mode in (Mode.APPROVE, Mode.AUTO)
        return acts and definition is not None and definition.action is not None

    def _unread_state(self) -> tuple[str, ...]:
        """Which state cannot be kept or was not read, and why."""
        of_detector = "" if self.detector is None else self.detector.problem
        return (*self._fleet.unread, of_detector) if of_detector else self._fleet.unread


def _of_rules(rules: "RuleRunner") -> dict[Series, Number]:
    """How the evaluation of rules and the journal do; of a journal that nobody wants, nothing."""
    series: dict[Series, Number] = {("fleet_evaluation_late_seconds",): rules.late_s}
    if rules.incident_store.has_journal:
        series["fleet_journal_kept",] = int(not rules.incident_store.problems)
    for rule, count in rules.rule_states.blind().items():
        series["fleet_rule_blind", rule] = count
    return series
