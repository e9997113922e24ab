"""The nodes of a cluster and the pods on them, listed once and then watched.

For the poll of all nodes, every few seconds. A caller about to change something reads it from the
server, and puts what it read in here (`put_node`): a later poll must not show what was there before.
"""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.observed import NodeObservation
from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.collection import Collection
from accelwatch.api_client.kubernetes.mirror import Mirror
from accelwatch_kubernetes.cache.compact_pod import compact_pod
from accelwatch_kubernetes.cache.freshness import why_stale
from accelwatch_kubernetes.cache.node_row import NodeRow, is_older, node_row
from accelwatch_kubernetes.objects.node import Node
from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.settings.options import KubernetesOptions

logger = logging.getLogger(__name__)

# Pods that hold a node; the others are several times as many where Jobs are kept after their end.
_BOUND = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
# Of nodes 10 to 20 KB each, of pods 5 to 10: a page is decoded in about 15 ms.
_NODE_PAGE, _POD_PAGE = 200, 500
# Two watches of one hub: what comes back is followed again soon.
_MAX_BACKOFF_S = 5.0
# For the first lists; a slower poll is none (`remediation.execution.polling`).
_SYNC_S = 50.0
_NONE: Mapping[str, Pod] = MappingProxyType({})


class ClusterCache:
    """For one event loop; it begins with the first question."""

    def __init__(self, client: KubernetesClient, options: KubernetesOptions) -> None:
        self._by_node: dict[str, dict[str, Pod]] = {}
        self._changed_nodes: set[str] = set()
        self._complaints = {"nodes": "", "pods": ""}
        self._changed = asyncio.Event()
        self._nodes: Mirror[NodeRow] = Mirror(
            Collection(client, "/api/v1/nodes"),
            {},
            Node,
            compact=partial(node_row, options=options),
            changed=partial(self._note, "nodes"),
            is_older=is_older,
            page=_NODE_PAGE,
            max_backoff_s=_MAX_BACKOFF_S,
        )
        self._pods: Mirror[Pod] = Mirror(
            Collection(client, "/api/v1/pods"),
            {"fieldSelector": _BOUND},
            Pod,
            compact=compact_pod,
            changed=partial(self._note, "pods"),
            replaced=self._index,
            page=_POD_PAGE,
            max_backoff_s=_MAX_BACKOFF_S,
        )
        self._options = options
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def nodes(self) -> Sequence[NodeObservation]:
        """All nodes, without their jobs. Raises ActionUnavailableError."""
        await self._ready()
        return [row.observation for row in self._nodes.objects.values()]

    async def pods_by_node(self) -> Mapping[str, Mapping[str, Pod]]:
        """The pods of each node that has any, by their uids; not to be kept.

        Raises ActionUnavailableError.
        """
        await self._ready()
        return self._by_node

    async def pods_on(self, node: str) -> Sequence[Pod]:
        """The pods of a node. Raises ActionUnavailableError."""
        await self._ready()
        return list(self._by_node.get(node, _NONE).values())

    def pop_changed_nodes(self) -> set[str]:
        """Nodes whose pods have changed since this was last called."""
        changed, self._changed_nodes = self._changed_nodes, set()
        return changed

    def put_node(self, node: Node) -> None:
        """A node as it was read, or as a write has left it: no older version replaces it.

        Whether it is there at all the watch alone says: the answer to a read may come after the news
        that the node was deleted, or made again under its name, and nothing would ever remove it.
        """
        there = self._nodes.objects.get(node.name)
        if self._nodes.confirmed_at is None or there is None or there.uid != node.metadata.uid:
            return
        self._nodes.put(node_row(node, self._options))

    async def _ready(self) -> None:
        """Wait for the first lists; later only check them. Raises ActionUnavailableError."""
        mirrors: dict[str, Mirror[Any]] = {"nodes": self._nodes, "pods": self._pods}
        for name, mirror in mirrors.items():
            self._run(name, mirror)
        try:
            async with asyncio.timeout(_SYNC_S):
                while not all(map(self._is_settled, mirrors)):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            pass  # what is missing is reported below
        now = time.monotonic()
        for name, mirror in mirrors.items():
            stale = why_stale(
                name, mirror.confirmed_at, mirror.failing_since, self._complaints[name], now
            )
            if stale:
                raise ActionUnavailableError(stale)

    def _is_settled(self, name: str) -> bool:
        """Whether it was listed, or cannot be."""
        mirror = self._nodes if name == "nodes" else self._pods
        return mirror.confirmed_at is not None or mirror.failing_since is not None

    def _run(self, name: str, mirror: Mirror[Any]) -> None:
        task = self._tasks.get(name)
        if task is not None and not task.done():
            return
        if task is not None and not task.cancelled():
            # A bug of ours: one poll logs it, the next tries again.
            logger.error("a copy has stopped kind=%s", name, exc_info=task.exception())
        self._tasks[name] = asyncio.create_task(mirror.run(), name=f"kubernetes-{name}")

    def _note(self, name: str, complaint: str) -> None:
        self._complaints[name] = complaint
        self._changed.set()

    def _index(self, before: Pod | None, after: Pod | None) -> None:
        """Keep the pods of each node."""
        self._changed_nodes.update(pod.node for pod in (before, after) if pod is not None)
        if before is not None and (after is None or after.node != before.node):
            pods = self._by_node.get(before.node, {})
            pods.pop(before.uid, None)
            if not pods:
                self._by_node.pop(before.node, None)
        if after is not None:
            self._by_node.setdefault(after.node, {})[after.uid] = after

    def latest_pods_on(self, node: str) -> Sequence[Pod]:
        """The pods of a node as they were followed last; none where nothing was followed yet."""
        return list(self._by_node.get(node, _NONE).values())

    def is_out_of_service(self, node: str) -> bool:
        """Whether a node, as it was followed last, has our out-of-service taint."""
        row = self._nodes.objects.get(node)
        return row is not None and row.out_of_service

    async def close(self) -> None:
        """Stop watching; the client is closed by then."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
