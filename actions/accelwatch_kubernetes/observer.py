"""How things stand for an intent: its node, and what its kind needs besides."""

from collections.abc import Mapping, Sequence

import msgspec

from accelwatch.action.intent import Intent, IntentKind, JobKey
from accelwatch.action.observed import HoldState, NodeObservation, Observed
from accelwatch_kubernetes.answers import unavailable_if_unread
from accelwatch_kubernetes.marks.hold_state import observed_node
from accelwatch_kubernetes.objects.node import Node, node_of
from accelwatch_kubernetes.rows import Access, Read
from accelwatch_kubernetes.scene import NODE

_PAGE = "500"


class _ListMeta(msgspec.Struct, frozen=True):
    continue_: str = msgspec.field(default="", name="continue")


class _NodeList(msgspec.Struct, frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: tuple[Node, ...] | None = ()


class Observer:
    """The read side; for one event loop."""

    def __init__(self, access: Access, readings: Mapping[IntentKind, Read]) -> None:
        self._access = access
        self._readings = readings

    async def observe_all(self) -> Sequence[NodeObservation]:
        """All nodes, read now. Raises ActionUnavailableError."""
        return [observed_node(node, self._access.options) for node in await self._nodes()]

    async def _nodes(self) -> list[Node]:
        nodes: list[Node] = []
        query = {"limit": _PAGE}
        while True:
            with unavailable_if_unread():
                body = await self._access.client.get("/api/v1/nodes", query)
            page = msgspec.json.decode(body, type=_NodeList)
            nodes.extend(page.items or ())
            if not page.metadata.continue_:
                return nodes
            query["continue"] = page.metadata.continue_

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
