"""The jobs on all nodes, by the copy of the pods: worked out again only where pods have changed."""

import asyncio
from collections.abc import Mapping
from itertools import islice

from accelwatch_kubernetes.cache.cluster_cache import ClusterCache
from accelwatch_kubernetes.readings.owners import resolve_owners
from accelwatch_kubernetes.rows import Access
from accelwatch_kubernetes.workloads.owner_index import NodeJobs

# Nodes of one turn of the loop: with twenty pods each that is 5 ms.
_SLICE = 50


class JobsOfNodes:
    """For one event loop."""

    def __init__(self, access: Access, cache: ClusterCache) -> None:
        self._access = access
        self._cache = cache
        self._jobs: dict[str, NodeJobs] = {}
        # Nodes whose pods have changed since.
        self._changed: set[str] = set()
        # Nodes with pods whose owners could not be read.
        self._unread: set[str] = set()

    async def by_node(self) -> Mapping[str, NodeJobs]:
        """Of the nodes that have any. Raises ActionUnavailableError."""
        pods_by_node = await self._cache.pods_by_node()
        self._changed |= self._cache.pop_changed_nodes()
        if self._access.owners.again_at <= self._access.clock.monotonic():
            self._changed |= self._unread
        while self._changed:
            names = list(islice(self._changed, _SLICE))
            pods = [pod for name in names for pod in pods_by_node.get(name, {}).values()]
            # One kind that the server cannot show must not make all nodes unknown.
            await resolve_owners(self._access, pods, as_far_as_answered=True)
            jobs = self._access.owners.jobs_by_node(pods)
            for name in names:
                self._jobs.pop(name, None)
            self._jobs |= jobs
            self._unread.difference_update(names)
            self._unread |= {pod.node for pod in pods if self._access.owners.is_unread(pod)}
            # Those that have changed meanwhile are in the cache's list again.
            self._changed.difference_update(names)
            await asyncio.sleep(0)
        return self._jobs
