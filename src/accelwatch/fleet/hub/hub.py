"""A running hub without its server: what a dashboard embeds and the server serves."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.location import JournalLocation
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.alerting.rules.document import Mode
from accelwatch.base.clock import Clock
from accelwatch.base.errors import AccelwatchError
from accelwatch.base.slices import LongWork
from accelwatch.exposition.histogram import Histogram
from accelwatch.fleet.archive.recording import Recording
from accelwatch.fleet.detection.suspects import Suspects
from accelwatch.fleet.dialects.base.precedence import precedence
from accelwatch.fleet.evidence.intake import EvidenceIntake
from accelwatch.fleet.evidence.sources import EvidenceSources
from accelwatch.fleet.follow.access import BoundAccess
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.follow.follow import MakeReader
from accelwatch.fleet.follow.followers import Followers
from accelwatch.fleet.follow.frames import RawTick, Received
from accelwatch.fleet.follow.poll import Exposed, ReadExposition
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.hub.by_ssh import by_ssh
from accelwatch.fleet.hub.journal_lease import JournalLease, location_of
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.hub.sampling import Sampling
from accelwatch.fleet.hub.slurm_maintenance import SlurmMaintenance
from accelwatch.fleet.hub.using import FleetUsing
from accelwatch.fleet.lemons.history import FaultHistory
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.transitions import Transitions
from accelwatch.fleet.target import Target
from accelwatch.fleet.targets.discovery import (
    MakeDiscoverer,
    discoverers,
    static_targets,
    without_credentials,
)
from accelwatch.fleet.targets.watch import TargetWatch
from accelwatch.fleet.tsdb.peers import Peers
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.web.http.stream import ALERTING, HUB_HEADER

if TYPE_CHECKING:
    from accelwatch.alerting.evaluation.runner import RuleRunner
    from accelwatch.detection.findings.finding import Finding
    from accelwatch.fleet.approval.approvals import Approvals
    from accelwatch.fleet.detection.running import FleetDetector
    from accelwatch.fleet.remedies.runner import RemedyRunner
    from accelwatch.fleet.rules.evaluator import FleetEvaluator

logger = logging.getLogger(__name__)

_FLUSH_EVERY_S = 1.0
_SWEEP_EVERY = 5
# Turns between two tries to keep an inventory that could not be kept.
_OPEN_AGAIN_EVERY = 10

# A reader of expositions of a target, given the precedence of dialects.
MakeForeignReader = Callable[[Target, Sequence[str]], ReadExposition]


class Hub:
    """Follows targets and keeps the fleet's state; the loop's thread only."""

    def __init__(
        self,
        settings: HubSettings,
        clock: Clock,
        make_reader: MakeForeignReader | None,
        state_dir: Path | None,
    ) -> None:
        """Raises AccelwatchError for targets that make no sense and an unreadable inventory."""
        self.settings = settings
        self._clock = clock
        self._make_reader = make_reader
        self._static = static_targets(settings.targets, settings.scrape)
        self.fleet = Fleet(clock, settings.thresholds, state_dir)
        self.fleet.believe(precedence(settings.merge.precedence))
        self.fleet.verify(not settings.scrape.tls_config.insecure_skip_verify)
        # What others push, and what they keep in clusters that are read.
        self.evidence = EvidenceIntake(self.fleet)
        self._sources = EvidenceSources(self.evidence, lambda: self.settings.evidence)
        self._transitions = Transitions(self.fleet)
        self._listed = False
        self._started_at: dict[str, float] = {}
        self._targets: dict[str, Target] = {}
        self._stored: dict[str, Target] = {}
        # The store that the fleet is read from and the receivers that it is written to.
        self.peers = Peers(settings.prometheus, settings.remote_write, settings.otlp, self, clock)
        self._recording = Recording(settings.history, self.fleet, clock, self._maintenance)
        # Who uses the devices.
        self.usage = FleetUsing(self.fleet, lambda: self.settings.usage, state_dir)
        self._watch: TargetWatch | None = None
        self._client: Client | None = None
        self._followers: Followers | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._complaint = ""
        # Rules and remedies run while this hub writes the journal.
        self.lease = JournalLease(
            self._start_leading,
            self._stop_leading,
            lambda: None if self.rules is None else self.rules.incident_store.lost,
        )
        self._setting_rules = asyncio.Lock()
        self._state_dir = state_dir
        self._slurm = SlurmMaintenance(
            lambda: self.settings.targets.slurm,
            lambda: None if self.rules is None else self.rules.incident_store,
        )
        # Judges the fleet, where rules are configured.
        self.rules: RuleRunner | None = None
        # A past of what rules and the detector read, for the graphs of incidents.
        self._sampling = Sampling(self.fleet, lambda: self.rules is not None)
        # Which hardware has failed again and again, by what rules found.
        self.faults = FaultHistory(self.fleet, lambda: self.rules, lambda: self.journal)
        # Looks at all signals together, where rules ask for what it finds.
        self.detector: FleetDetector | None = None
        self.fleet.finding_of = Suspects(self.fleet, self._findings).of
        # Acts on incidents, where actions are configured.
        self.remedies: RemedyRunner | None = None
        # Takes yes and no from people with a browser, where somebody acts.
        self.approvals: Approvals | None = None

    async def start(self) -> None:
        """Begin to follow."""
        await self._recording.start()
        self._start_following()
        self._watch = TargetWatch(self._set_targets)
        self.fleet.lacking = self._lacking
        self.fleet.discovering = self._watch.unanswered
        self._watch.set(self._static, self._discoveries())
        self._warn()
        self.peers.start()
        await self.lease.try_start()
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(self._watch.run(), name="targets"),
            loop.create_task(self._run_housekeeping(), name="inventory"),
            loop.create_task(self._slurm.run(), name="maintenance"),
            loop.create_task(self._sources.run(), name="evidence"),
            loop.create_task(self.usage.run(), name="usage"),
            loop.create_task(self.faults.run(), name="lemons"),
            loop.create_task(self._sampling.run(), name="samples"),
            loop.create_task(self.lease.run(), name="journal"),
        ]

    async def reload(self, settings: HubSettings) -> None:
        """Other targets, thresholds, precedence, and ways to read; what is known stays.

        Raises UsageError for targets that make no sense, and then nothing has changed.
        """
        static = static_targets(settings.targets, settings.scrape)
        async with self._setting_rules:
            # A hub that waits for the lease starts with the settings of then.
            if not self.lease.waiting:
                await self._set_rules(settings)
        before, self.settings, self._static = self.settings, settings, static
        self.fleet.thresholds = settings.thresholds
        self.fleet.verify(not settings.scrape.tls_config.insecure_skip_verify)
        if settings.merge != before.merge:
            self.fleet.believe(precedence(settings.merge.precedence))
        same = _reading(settings) == _reading(before)
        if not same or _alerts(settings) is not _alerts(before):
            await self._stop_following()
            self._start_following()
        await self.peers.reload(settings.prometheus, settings.remote_write, settings.otlp)
        await self._recording.reload(settings.history)
        if self._watch is not None:
            self._watch.set(static, self._discoveries())
        self._warn()

    async def _set_rules(self, settings: HubSettings) -> None:
        """Raises ConfigError, WindowsError; then what was in force stays."""
        if not settings.rules_in_force.any:
            await self._stop_rules()
            if settings.remedy.actions:
                logger.warning(
                    "no rules are configured, so nothing is ever done key=remedy.actions"
                )
        elif self.rules is None:
            # numpy's share of the rules is loaded by those only who have some.
            from accelwatch.alerting.evaluation.runner import RuleRunner
            from accelwatch.fleet.approval.approval_requests import HubApprovalRequests
            from accelwatch.fleet.detection.hub import detector_of
            from accelwatch.fleet.rules.evaluator import FleetEvaluator

            self.detector = detector_of(
                self.fleet,
                self._maintenance,
                lambda: self.faults.faults,
                self._state_dir if self.fleet.owns_folder else None,
            )
            evaluator = FleetEvaluator(self.fleet, self.detector)
            runner = RuleRunner(
                evaluator,
                settings.rules_in_force,
                self._state_dir,
                self._on_incident_changes,
                alerts=settings.alerts,
                journal=location_of(settings.journal, self._state_dir),
                approval_requests=HubApprovalRequests(
                    lambda: self.remedies,
                    lambda: self.approvals,
                    lambda: self.settings.alerts.external_url,
                    self._rule_acts,
                ),
            )
            runner.unread = self._unread_state
            try:
                await runner.start()
            except JournalError:
                evaluator.close()
                self.detector = None
                raise
            self.rules = runner
            await self._act(evaluator, runner, settings)
        else:
            await self.rules.reload(settings.rules_in_force, settings.alerts)
            if self.remedies is not None:
                self.remedies.change(settings.remedy)
            elif settings.remedy.actions:
                logger.warning("a change takes a restart key=remedy.actions")

    async def _start_leading(self) -> None:
        """Raises JournalError while another hub holds the lease, ConfigError, WindowsError."""
        async with self._setting_rules:
            if self.rules is None:
                await self._set_rules(self.settings)

    async def _stop_leading(self) -> None:
        async with self._setting_rules:
            await self._stop_rules()

    async def _stop_rules(self) -> None:
        if self.remedies is not None:
            await self.remedies.stop()
        if self.rules is not None:
            await self.rules.stop()
        if self.detector is not None:
            await self.detector.stop()
        self.rules = self.remedies = self.detector = self.approvals = None

    def _findings(self) -> "tuple[Finding, ...]":
        return () if self.detector is None else self.detector.facts.findings

    def _lacking(self) -> tuple[str, ...]:
        """Why targets or evidence may be lacking."""
        of_targets = () if self._watch is None else self._watch.problems()
        waiting = f"no rules are evaluated here: {self.lease.waiting}" if self.lease.waiting else ""
        return (*of_targets, *self._sources.problems, *filter(None, (waiting,)))

    def _unread_state(self) -> tuple[str, ...]:
        """Which state cannot be kept or was not read, and why."""
        of_detector = "" if self.detector is None else self.detector.problem
        return (*self.fleet.unread, of_detector) if of_detector else self.fleet.unread

    def _rule_acts(self, rule: str) -> bool:
        """Whether a rule wants something done, whether or not it asks a person before."""
        definition = None if self.rules is None else self.rules.rules.rules.get(rule)
        acts = definition is not None and definition.mode in (Mode.APPROVE, Mode.AUTO)
        return acts and definition is not None and definition.action is not None

    def _on_incident_changes(self, incidents: Sequence[Incident]) -> None:
        if self.remedies is not None:
            self.remedies.on_changes(incidents)

    async def _act(
        self, evaluator: "FleetEvaluator", rules: "RuleRunner", hub_settings: HubSettings
    ) -> None:
        """Begin to act, where anything is configured to act by. Raises ConfigError."""
        settings = hub_settings.remedy
        if settings.actions:
            from accelwatch.fleet.approval.approvals import Approvals
            from accelwatch.fleet.approval.links import Signer
            from accelwatch.fleet.approval.secret import signing_key
            from accelwatch.fleet.approval.shown import ShownPlans
            from accelwatch.fleet.approval.used import UsedLinks
            from accelwatch.fleet.hub.fitting import misfits
            from accelwatch.fleet.remedies.runner import RemedyRunner

            writer, links = rules.incident_store.writer, settings.links
            file = Path(links.key_file) if links.key_file else None
            # Without links nothing that is signed outlives this process.
            key = signing_key(file, self._state_dir) if links.sinks else signing_key(None, None)
            self.approvals = Approvals(
                Signer(key),
                UsedLinks(None if writer is None else writer.commit, self._clock, rules.states),
                ShownPlans(),
            )
            remedies = RemedyRunner(self.fleet, evaluator, rules, settings)
            await remedies.start()
            self.remedies = remedies
            rules.beside = lambda: remedies.problems
            rules.stalled = lambda: remedies.stalled
            for complaint in misfits(hub_settings, remedies.actions, {}):
                logger.warning("%s", complaint)

    def _warn(self) -> None:
        for section in without_credentials(self.settings.targets, self.settings.scrape):
            logger.warning(
                "targets found here get no credentials, those of scrape are for static targets "
                "and files only key=targets.%s.scrape",
                section,
            )
        if not (self._static or self._discoveries() or self.settings.prometheus.url):
            logger.warning("nothing to follow: no targets, discovery or store is configured")

    def _discoveries(self) -> dict[str, MakeDiscoverer]:
        return discoverers(self.settings.targets, self.settings.scrape)

    def _start_following(self) -> None:
        scrape = self.settings.scrape
        hello = {HUB_HEADER: ALERTING} if _alerts(self.settings) else {}
        self._client = Client(scrape, BoundAccess(scrape), hello)
        otherwise = by_ssh(self.settings, self._client, self)
        self._followers = Followers(self._client, self, self._reader(), otherwise)
        self._followers.set_targets(self._targets)

    def _reader(self) -> MakeReader | None:
        make, order = self._make_reader, precedence(self.settings.merge.precedence)
        return None if make is None else lambda target: make(target, order)

    async def _stop_following(self) -> None:
        if self._followers is not None:
            await self._followers.close()

    async def stop(self) -> None:
        """Follow nothing any more and write down what is known."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.usage.save()
        await self._stop_rules()
        await self.peers.stop()
        await self._recording.stop()
        await self._stop_following()
        with contextlib.suppress(AccelwatchError):
            await self.fleet.flush()
        self.fleet.close()

    @property
    def alive(self) -> bool:
        """Whether targets and inventory are being looked after."""
        well = bool(self._tasks) and not any(task.done() for task in self._tasks)
        ruling = self.rules is None or self.rules.alive
        return well and self.peers.alive and ruling and self._recording.alive

    @property
    def ready(self) -> bool:
        """Whether the targets are known."""
        return self._listed and self.peers.ready

    def _maintenance(self) -> list[Maintenance] | None:
        """The windows that are not over; None where nobody announces any."""
        return None if self.rules is None else self.rules.incident_store.muting.windows

    @property
    def journal(self) -> JournalLocation | None:
        """Where incidents are written to; None where they are not."""
        keeps = self.rules is not None and self.rules.incident_store.writer is not None
        return location_of(self.settings.journal, self._state_dir) if keeps else None

    def own(self) -> dict[Series, Number]:
        """How the discoveries, the rules and the remedies do."""
        series: dict[Series, Number] = {}
        for kind, status in (self._watch.status() if self._watch is not None else {}).items():
            series["fleet_discovery_up", kind] = int(status.works)
            series["fleet_discovery_targets", kind] = status.targets
        if self.rules is not None:
            series.update(_of_rules(self.rules))
        if self.remedies is not None:
            series.update(self.remedies.series())
        return series

    def own_histograms(self) -> Mapping[Series, Histogram]:
        """How long the steps of remedies took."""
        return {} if self.remedies is None else self.remedies.histograms()

    def _set_targets(self, targets: dict[str, Target]) -> None:
        self._targets = targets
        self.fleet.set_targets((*targets.values(), *self._stored.values()))
        if self._followers is not None:
            self._followers.set_targets(targets)
        self._listed = True

    def set_store_targets(self, targets: dict[str, Target]) -> None:
        """The targets that a store knows; they are not followed, the store tells of them."""
        self._stored = targets
        self.fleet.set_targets((*self._targets.values(), *targets.values()))

    async def _run_housekeeping(self) -> None:
        """Every second: tell what has changed, write the inventory down, look after silent sources."""
        turn = 0
        while True:
            await asyncio.sleep(_FLUSH_EVERY_S)
            turn += 1
            if turn % _SWEEP_EVERY == 0:
                self.fleet.sweep()
            if turn % _OPEN_AGAIN_EVERY == 0:
                await self.fleet.reopen_inventory()
            await self._transitions.poll(LongWork().rest)
            try:
                await self.fleet.flush()
            except AccelwatchError as error:
                if self._complaint != str(error):
                    logger.error("%s", error)
                    self._complaint = str(error)
            else:
                self._complaint = ""

    def started(self, target: Target, mode: str) -> None:
        """A connection is being made."""
        source = self.fleet.source(target.key)
        if source is not None:
            source.mode = mode
            if mode == "stream":
                source.start_stream()
            self._started_at[target.key] = self._clock.monotonic()

    def message(self, target: Target, message: Received, size: int) -> None:
        """A message of a stream. Raises TargetFault."""
        key = target.key
        self.fleet.accept(key, message, size)
        if key in self._started_at and isinstance(message, RawTick):
            source = self.fleet.source(key)
            started = self._started_at.pop(key)
            if source is not None:
                source.read_s = self._clock.monotonic() - started

    def exposed(self, target: Target, exposed: Exposed, duration_s: float) -> None:
        """An exposition."""
        source = self.fleet.source(target.key)
        if source is None:
            return
        source.dialect, source.version = exposed.dialect, exposed.version[:64]
        source.read_s = duration_s
        for reason, count in exposed.rejected.items():
            source.rejected[reason] = source.rejected.get(reason, 0) + count
        interval_s = exposed.interval_s or self.settings.scrape.interval_s
        self.fleet.read(
            target.key, exposed.devices, exposed.time, interval_s, listing=exposed.listing
        )

    def failed(self, target: Target, fault: TargetFault) -> None:
        """An attempt failed."""
        self._started_at.pop(target.key, None)
        self.fleet.fail(target.key, fault)


def _reading(settings: HubSettings) -> tuple[object, ...]:
    """What decides how targets are read."""
    return settings.scrape, settings.ssh, settings.merge


def _alerts(settings: HubSettings) -> bool:
    """Whether a hub tells people of incidents, so that the agents it follows need not."""
    return settings.rules.any and bool(settings.alerts.sinks)


def _of_rules(rules: "RuleRunner") -> dict[Series, Number]:
    """How the evaluation of rules and the journal do; of a journal that nobody wants, nothing."""
    series: dict[Series, Number] = {("fleet_evaluation_late_seconds",): rules.late_s}
    if rules.incident_store.has_journal:
        series["fleet_journal_kept",] = int(not rules.incident_store.problems)
    for rule, count in rules.blind().items():
        series["fleet_rule_blind", rule] = count
    return series
