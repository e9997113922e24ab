"""Sets windows of maintenance in a hub's incident store for nodes that Slurm has reserved."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.base.errors import UsageError
from accelwatch.fleet.targets.settings import SlurmSd
from accelwatch.fleet.targets.slurm.reservations import reservations

if TYPE_CHECKING:
    from accelwatch.alerting.incidents.incident_store import IncidentStore

logger = logging.getLogger(__name__)

# Command and configuration: several sections may find targets of one cluster.
_Cluster = tuple[str, str | None]
# Between two checks of whether there is a cluster to query.
_IDLE_S = 5.0


class SlurmMaintenance:
    """Queries the clusters that targets come from; one that does not answer keeps its windows."""

    def __init__(
        self,
        clusters: Callable[[], Sequence[SlurmSd]],
        incident_store: "Callable[[], IncidentStore | None]",
        query_reservations: Callable[[SlurmSd], list[Maintenance]] = reservations,
    ) -> None:
        """`clusters` gives the settings in force, `incident_store` the store, None without rules."""
        self._clusters = clusters
        self._incident_store = incident_store
        self._query_reservations = query_reservations
        self._answers: dict[_Cluster, list[Maintenance]] = {}
        self._complaint = ""

    async def run(self) -> None:
        """Query until cancelled."""
        while True:
            clusters = await self.poll()
            await asyncio.sleep(min((cluster.refresh_s for cluster in clusters), default=_IDLE_S))

    async def poll(self) -> list[SlurmSd]:
        """Query each cluster once; returns the queried ones."""
        incident_store = self._incident_store()
        clusters = [settings for settings in self._clusters() if settings.maintenance]
        if incident_store is None or not (clusters or self._answers):
            return []
        complaints = []
        answers: dict[_Cluster, list[Maintenance]] = {}
        for settings in clusters:
            cluster = settings.scontrol, settings.slurm_conf
            if cluster in answers:
                continue
            try:
                answers[cluster] = await asyncio.to_thread(self._query_reservations, settings)
            except (UsageError, OSError) as error:
                answers[cluster] = self._answers.get(cluster, [])
                complaints.append(str(error))
        self._answers = answers
        self._complain("; ".join(complaints))
        await incident_store.mutes.announce(
            [window for windows in answers.values() for window in windows]
        )
        return clusters

    def _complain(self, complaint: str) -> None:
        if complaint and complaint != self._complaint:
            logger.error("reservations for maintenance are not known: %s", complaint)
        self._complaint = complaint
