"""Where evidence is read, as the settings in force say: a task for each cluster."""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from typing import Protocol

from accelwatch.base.errors import ConfigError
from accelwatch.fleet.evidence.intake import EvidenceIntake
from accelwatch.fleet.evidence.reconciler import KUBERNETES, SLURM, Reconciler, left_over
from accelwatch.fleet.evidence.slurm_polling import SlurmPolling
from accelwatch.fleet.evidence_settings import Evidence, KubernetesEvidence, SlurmEvidence

logger = logging.getLogger(__name__)

# Between two checks of which clusters do not answer.
_POLL_S = 5.0


class EvidenceSource(Protocol):
    """A cluster."""

    problem: str

    async def run(self) -> None:
        """Read until cancelled."""
        ...


class Refused:
    """A cluster that cannot be polled as it is configured here."""

    def __init__(self, problem: str) -> None:
        self.problem = problem

    async def run(self) -> None:
        """Wait for other settings."""
        await asyncio.Event().wait()


class EvidenceSources:
    """All clusters of the settings; the loop's thread only."""

    def __init__(
        self,
        intake: EvidenceIntake,
        settings: Callable[[], Evidence],
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._intake = intake
        self._settings = settings
        self._environ = environ
        self._running: dict[KubernetesEvidence | SlurmEvidence, asyncio.Task[None]] = {}
        self._sources: dict[KubernetesEvidence | SlurmEvidence, EvidenceSource] = {}
        self._complaints: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """Which clusters are not known now, and why."""
        return tuple(
            f"evidence of {settings.name}: {source.problem}"
            for settings, source in self._sources.items()
            if source.problem
        )

    async def run(self) -> None:
        """Follow the settings in force until cancelled."""
        try:
            while True:
                await self._follow_settings()
                self._complain()
                await asyncio.sleep(_POLL_S)
        finally:
            await self._stop(list(self._running))

    async def _follow_settings(self) -> None:
        """Clusters that are configured no more are left, and their evidence with them."""
        settings = self._settings()
        configured: list[KubernetesEvidence | SlurmEvidence] = [
            *settings.kubernetes,
            *settings.slurm,
        ]
        await self._stop([each for each in self._running if each not in configured])
        for each in configured:
            task = self._running.get(each)
            if task is not None and task.done():
                logger.error("evidence of %s: restarted: %r", each.name, task.exception())
            if task is None or task.done():
                self._start(each)
        names = [(KUBERNETES, each.name) for each in settings.kubernetes]
        names += [(SLURM, each.name) for each in settings.slurm]
        left = list(left_over(self._intake.fleet.evidence.all(), names))
        for key in left:
            self._intake.resolve(key)
        if left:
            await self._intake.written()

    def _start(self, settings: KubernetesEvidence | SlurmEvidence) -> None:
        try:
            source = self._source_of(settings)
        except ConfigError as error:
            source = Refused(str(error))
        self._sources[settings] = source
        name = f"evidence {settings.name}"
        self._running[settings] = asyncio.create_task(source.run(), name=name)

    def _source_of(self, settings: KubernetesEvidence | SlurmEvidence) -> EvidenceSource:
        """Raises ConfigError."""
        if isinstance(settings, KubernetesEvidence):
            # Its client is loaded by those only who have a cluster.
            from accelwatch.fleet.evidence.node_watch import NodeWatch

            reconciler = Reconciler(self._intake, self._settings, KUBERNETES, settings.name)
            return NodeWatch(settings, reconciler, self._environ)
        reconciler = Reconciler(self._intake, self._settings, SLURM, settings.name)
        return SlurmPolling(settings, reconciler)

    async def _stop(self, removed: list[KubernetesEvidence | SlurmEvidence]) -> None:
        tasks = [self._running.pop(settings) for settings in removed]
        for settings in removed:
            del self._sources[settings]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _complain(self) -> None:
        if self.problems and self.problems != self._complaints:
            logger.warning("%s", "; ".join(self.problems))
        self._complaints = self.problems
