"""Polls one Slurm cluster's nodes and makes evidence of why health checks drained them."""

import asyncio
from collections.abc import Callable

from accelwatch.base.errors import UsageError
from accelwatch.fleet.evidence.reconciler import Reconciler
from accelwatch.fleet.evidence.slurm_health import REASONS, reports_of
from accelwatch.fleet.evidence_settings import SlurmEvidence
from accelwatch.fleet.targets.settings import SlurmSd
from accelwatch.fleet.targets.slurm.listing import SlurmListing
from accelwatch.fleet.targets.slurm.nodes import SlurmNode
from accelwatch.fleet.targets.slurm.scontrol import Scontrol

ListNodes = Callable[[], list[SlurmNode]]


class SlurmPolling:
    """One cluster; `run` until cancelled. A cluster that does not answer changes nothing."""

    def __init__(
        self, settings: SlurmEvidence, reconciler: Reconciler, list_nodes: ListNodes | None = None
    ) -> None:
        self._every_s = settings.refresh_s
        self._reasons = (*settings.reasons, *REASONS)
        self._reconciler = reconciler
        self._list_nodes = list_nodes or _listing(settings).nodes
        # Why the cluster is not known; empty when all is well.
        self.problem = ""

    async def run(self) -> None:
        """Poll until cancelled."""
        while True:
            await self.poll()
            await asyncio.sleep(self._every_s)

    async def poll(self) -> None:
        """Poll once."""
        try:
            nodes = await asyncio.to_thread(self._list_nodes)
        except (UsageError, UnicodeDecodeError, OSError) as error:
            self.problem = str(error)
            return
        self.problem = ""
        await self._reconciler.reconcile(reports_of(nodes, self._reasons))


def _listing(settings: SlurmEvidence) -> SlurmListing:
    command = SlurmSd(
        scontrol=settings.scontrol, slurm_conf=settings.slurm_conf, timeout_s=settings.timeout_s
    )
    return SlurmListing(Scontrol(command))
