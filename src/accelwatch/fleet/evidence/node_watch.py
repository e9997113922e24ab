"""Watches the nodes of one Kubernetes cluster and makes evidence of what other tools say of them.

Nodes are read and nothing else, least of all events: what a condition says now counts.
"""

import asyncio
import os
import time
from collections.abc import Mapping

from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.collection import Collection
from accelwatch.api_client.kubernetes.mirror import Mirror, unchanged
from accelwatch.api_client.kubernetes.server import Server, ServerOptions, server_of
from accelwatch.fleet.evidence.node_conditions import Tools, report_of
from accelwatch.fleet.evidence.node_objects import ConditionedNode
from accelwatch.fleet.evidence.problem import NodeReport
from accelwatch.fleet.evidence.reconciler import Reconciler
from accelwatch.fleet.evidence.tools import CONDITIONS, TAINTS, ConditionRow, TaintRow
from accelwatch.fleet.evidence_settings import KubernetesEvidence

NODES = "/api/v1/nodes"
# Changes within this time are processed together: a plug-in sets the conditions of many nodes at once.
_SETTLE_S = 0.5
# Between two evaluations without a change: what is held back may count by then.
_AGAIN_S = 5.0
# A watch is reopened every four minutes, and confirms by bookmarks in between: a copy that was not
# confirmed for longer than this is no state any more, and evidence from it runs out.
_CONFIRMED_WITHIN_S = 600.0


class NodeWatch:
    """One cluster; `run` until cancelled."""

    def __init__(
        self,
        settings: KubernetesEvidence,
        reconciler: Reconciler,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Raises ConfigError for a server that makes no sense."""
        self._server = api_server_of(settings, environ)
        self._query = {"labelSelector": settings.label_selector} if settings.label_selector else {}
        self._tools = tools_of(settings)
        self._reconciler = reconciler
        self._changed = asyncio.Event()
        # Nodes of which something is said.
        self._reports: dict[str, NodeReport] = {}
        # Why the cluster is not known; empty when all is well.
        self.problem = ""

    async def run(self) -> None:
        """Watch until cancelled."""
        client = KubernetesClient(self._server)
        mirror = Mirror(
            Collection(client, NODES),
            self._query,
            ConditionedNode,
            compact=unchanged,
            changed=self._on_change,
            replaced=self._replaced,
        )
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(mirror.run())
                while True:
                    await self._wait_for_change()
                    if mirror.listed and _is_confirmed(mirror.confirmed_at):
                        await self._reconciler.reconcile(self._reports.values())
                    await asyncio.sleep(_SETTLE_S)
        finally:
            await client.close()

    async def _wait_for_change(self) -> None:
        try:
            async with asyncio.timeout(_AGAIN_S):
                await self._changed.wait()
        except TimeoutError:
            return
        self._changed.clear()

    def _on_change(self, complaint: str) -> None:
        self.problem = complaint
        self._changed.set()

    def _replaced(self, before: ConditionedNode | None, after: ConditionedNode | None) -> None:
        """Only nodes that have changed are looked into: heartbeats of thousands are no work."""
        if before is not None:
            self._reports.pop(before.key, None)
        if after is not None:
            report = report_of(after, self._tools)
            if report.problems or report.undecided:
                self._reports[after.key] = report


def api_server_of(settings: KubernetesEvidence, environ: Mapping[str, str]) -> Server:
    """Raises ConfigError."""
    options = ServerOptions(
        api_server=settings.api_server,
        token_file=settings.token_file or "",
        ca_file=settings.ca_file or "",
        cert_file=settings.cert_file or "",
        key_file=settings.key_file or "",
    )
    return server_of(options, environ)


def tools_of(settings: KubernetesEvidence) -> Tools:
    """Our table and the site's rows behind it."""
    conditions = [
        ConditionRow(type=row.type, source=row.source, bad=row.bad, severity=row.severity)
        for row in settings.conditions
    ]
    taints = [
        TaintRow(key=row.key, source=row.source, value=row.value, severity=row.severity)
        for row in settings.taints
    ]
    return Tools(
        conditions=(*CONDITIONS, *conditions),
        # The site's first: one key may stand for several tools, by its value.
        taints=(*taints, *TAINTS),
        ignored=frozenset(settings.ignore),
    )


def _is_confirmed(confirmed_at: float | None) -> bool:
    return confirmed_at is not None and time.monotonic() - confirmed_at < _CONFIRMED_WITHIN_S
