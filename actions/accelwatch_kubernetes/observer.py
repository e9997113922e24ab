"""How things stand for an intent: its node, and what its kind needs besides."""

from collections.abc import Mapping, Sequence

from accelwatch.action.intent import Intent, IntentKind, JobKey
from accelwatch.action.observed import HoldState, NodeObservation, Observed
from accelwatch_kubernetes.cache.cluster_cache import ClusterCache
from accelwatch_kubernetes.marks.hold_state import observed_node
from accelwatch_kubernetes.objects.node import Node, node_of
from accelwatch_kubernetes.rows import Access, Read
from accelwatch_kubernetes.scene import NODE


class Observer:
    """The read side; for one event loop."""

    def __init__(
        self, access: Access, cache: ClusterCache, readings: Mapping[IntentKind, Read]
    ) -> None:
        self._access = access
        self._cache = cache
        self._readings = readings

    async def observe_all(self) -> Sequence[NodeObservation]:
        """All nodes, as they are followed. Raises ActionUnavailableError."""
        return await self._cache.nodes()

    async def observe(self, intent: Intent) -> Observed:
        """How things stand for an intent, read now. Raises ActionUnavailableError."""
        text = await self._access.nodes.text(intent.node)
        own = {NODE: text}
        read = self._readings.get(intent.kind)
        node = self._observed_node(intent, node_of(text))
        if read is None:
            return Observed(time=self._access.clock.wall(), node=node, own=own)
        reading = await read(self._access, intent, own)
        return Observed(
            time=self._access.clock.wall(),
            node=node,
            job=reading.job,
            proven_dead=reading.proven_dead,
            own={**own, **reading.own},
        )

    def _observed_node(
        self, intent: Intent, node: Node | None, jobs: Sequence[JobKey] = ()
    ) -> NodeObservation:
        if node is None:
            return NodeObservation(name=intent.node, hold_state=HoldState.MISSING)
        return observed_node(node, self._access.options, jobs)
