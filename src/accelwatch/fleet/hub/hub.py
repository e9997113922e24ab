"""A running hub without its server: what a dashboard embeds and the server serves."""

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from accelwatch.alerting.incidents.journal.location import JournalLocation
from accelwatch.base.clock import Clock
from accelwatch.base.errors import AccelwatchError
from accelwatch.base.slices import LongWork
from accelwatch.exposition.histogram import Histogram
from accelwatch.fleet.archive.recording import Recording
from accelwatch.fleet.detection.suspects import Suspects
from accelwatch.fleet.evidence.intake import EvidenceIntake
from accelwatch.fleet.evidence.sources import EvidenceSources
from accelwatch.fleet.hub.following import FollowedTargets, MakeForeignReader
from accelwatch.fleet.hub.leadership.hub_status import HubStatus
from accelwatch.fleet.hub.leadership.leader import Leader
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.hub.sampling import Sampling
from accelwatch.fleet.hub.slurm_maintenance import SlurmMaintenance
from accelwatch.fleet.hub.usage.fleet_usage import FleetUsage
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.transitions import Transitions
from accelwatch.fleet.targets.discovery import static_targets
from accelwatch.fleet.tsdb.peers import Peers
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

if TYPE_CHECKING:
    from accelwatch.alerting.evaluation.incident_reader import IncidentReader
    from accelwatch.alerting.evaluation.runner import RuleRunner
    from accelwatch.fleet.approval.approvals import Approvals
    from accelwatch.fleet.detection.running import FleetDetector
    from accelwatch.fleet.remedies.runner import RemedyRunner

logger = logging.getLogger(__name__)

_FLUSH_EVERY_S = 1.0
_SWEEP_EVERY = 5
# Turns between two tries to keep an inventory that could not be kept.
_OPEN_AGAIN_EVERY = 10


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
        static = static_targets(settings.targets, settings.scrape)
        self.fleet = Fleet(clock, settings.thresholds, state_dir)
        # Configured, discovered, and known by the store.
        self.targets = FollowedTargets(self.fleet, clock, settings, static, make_reader)
        self._transitions = Transitions(self.fleet)
        # What others push, and what they keep in clusters that are read.
        self.evidence = EvidenceIntake(self.fleet)
        self._sources = EvidenceSources(self.evidence, lambda: self.settings.evidence)
        # The store that the fleet is read from and the receivers that it is written to.
        self.peers = Peers(
            settings.prometheus, settings.remote_write, settings.otlp, self.targets, clock
        )
        # Rules, the detector and remedies, while this hub writes the journal.
        self.leader = Leader(self.fleet, lambda: self.settings, state_dir, lambda: self.incidents)
        self.lease = self.leader.lease
        # Which of the hubs with the same journal leads.
        self.status = HubStatus(self.leader, lambda: self.settings, state_dir, clock)
        self.faults = self.leader.faults
        self._recording = Recording(settings.history, self.fleet, clock, self.leader.maintenance)
        # Who uses the devices.
        self.usage = FleetUsage(self.fleet, lambda: self.settings.usage, state_dir)
        self._slurm = SlurmMaintenance(
            lambda: self.settings.targets.slurm,
            lambda: None if self.rules is None else self.rules.incident_store,
        )
        # A history of what rules and the detector read, for the graphs of incidents.
        self._sampling = Sampling(self.fleet, lambda: self.rules is not None)
        self.fleet.finding_of = Suspects(self.fleet, lambda: self.leader.findings).of
        self._tasks: list[asyncio.Task[None]] = []
        self._complaint = ""

    async def start(self) -> None:
        """Begin to follow."""
        await self._recording.start()
        self.fleet.lacking = self._lacking
        self.fleet.leader_note = lambda: self.status.leader_note
        self.targets.start()
        self.peers.start()
        await self.lease.try_start()
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(self.targets.run(), name="targets"),
            loop.create_task(self._run_housekeeping(), name="inventory"),
            loop.create_task(self._slurm.run(), name="maintenance"),
            loop.create_task(self._sources.run(), name="evidence"),
            loop.create_task(self.usage.run(), name="usage"),
            loop.create_task(self.faults.run(), name="lemons"),
            loop.create_task(self._sampling.run(), name="samples"),
            loop.create_task(self.lease.run(), name="journal"),
        ]
        if self.status.is_shared:
            self._tasks += [
                loop.create_task(self.status.watch.run(), name="shared journal"),
                loop.create_task(self.status.run(), name="hubs"),
                loop.create_task(self.status.cut_off.run(), name="lease"),
            ]

    async def reload(self, settings: HubSettings) -> None:
        """Other targets, thresholds, precedence, and ways to read; what is known stays.

        Raises UsageError for targets that make no sense, and then nothing has changed.
        """
        static = static_targets(settings.targets, settings.scrape)
        await self.leader.reload(settings)
        self.settings = settings
        self.fleet.thresholds = settings.thresholds
        await self.targets.reload(settings, static)
        await self.peers.reload(settings.prometheus, settings.remote_write, settings.otlp)
        await self._recording.reload(settings.history)

    async def stop(self) -> None:
        """Follow nothing any more and write down what is known."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.usage.save()
        await self.leader.stop()
        await self.status.watch.stop()
        await self.peers.stop()
        await self._recording.stop()
        await self.targets.stop()
        with contextlib.suppress(AccelwatchError):
            await self.fleet.flush()
        self.fleet.close()

    @property
    def rules(self) -> "RuleRunner | None":
        """Evaluates the rules, where some are configured and this hub leads."""
        return self.leader.rules

    @property
    def incidents(self) -> "IncidentReader | None":
        """Incidents, of the rules here or of the hub that leads; None where there are none."""
        return self.rules or self.status.incidents

    @property
    def detector(self) -> "FleetDetector | None":
        """Evaluates all signals together, where rules need its findings."""
        return self.leader.detector

    @property
    def remedies(self) -> "RemedyRunner | None":
        """Acts on incidents, where actions are configured and this hub leads."""
        return self.leader.remedies

    @property
    def approvals(self) -> "Approvals | None":
        """Receives approvals and denials from people with a browser, where the hub acts."""
        return self.leader.approvals

    @property
    def journal(self) -> JournalLocation | None:
        """Where incidents are written to, here or by the hub that leads; None where they are not."""
        return self.leader.journal

    @property
    def alive(self) -> bool:
        """Whether targets and inventory are being looked after."""
        well = bool(self._tasks) and not any(task.done() for task in self._tasks)
        return well and self.peers.alive and self.leader.alive and self._recording.alive

    @property
    def ready(self) -> bool:
        """Whether the targets are known."""
        return self.targets.listed and self.peers.ready

    def own(self) -> dict[Series, Number]:
        """How the discoveries, the rules and the remedies do."""
        return {**self.targets.series(), **self.leader.series(), **self.status.series()}

    def own_histograms(self) -> Mapping[Series, Histogram]:
        """The durations of the steps of remedies."""
        return self.leader.histograms()

    def _lacking(self) -> tuple[str, ...]:
        """Why targets or evidence may be lacking."""
        return (*self.targets.problems, *self._sources.problems, *self.status.problems)

    async def _run_housekeeping(self) -> None:
        """Every second: report changes, write the inventory, check silent sources."""
        turn = 0
        while True:
            await asyncio.sleep(_FLUSH_EVERY_S)
            turn += 1
            if turn % _SWEEP_EVERY == 0:
                self.fleet.sweep()
            if turn % _OPEN_AGAIN_EVERY == 0:
                await self.fleet.reopen_inventory()
            await self._transitions.poll(LongWork().yield_control)
            try:
                await self.fleet.flush()
            except AccelwatchError as error:
                if self._complaint != str(error):
                    logger.error("%s", error)
                    self._complaint = str(error)
            else:
                self._complaint = ""
