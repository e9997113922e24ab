"""Pages of nodes: the list of them, one with its snapshot, the history of a device, acknowledging."""

import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from accelwatch.alerting.evaluation.silences.requests import for_whom
from accelwatch.alerting.incidents.model.silence import named
from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.base.slices import Turns
from accelwatch.fleet.api.http import listed, states_of
from accelwatch.fleet.api.query.rows import cursor_of, position_of
from accelwatch.fleet.api.summaries import history_document, node_page, node_summary
from accelwatch.fleet.documents.fleet import (
    Acknowledged,
    HistoryDocument,
    NodePage,
    NodesPage,
)
from accelwatch.fleet.names import NodeState
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.inventory.file import InventoryError
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import (
    Change,
    Headers,
    Page,
    Query,
    check_parameters,
    limit_of,
    only,
    plain,
)
from accelwatch.web.pages.routes import CURSOR, LIMIT, ON_BEHALF_OF, Parameter, Route, choice
from accelwatch.web.protection.roles import Role

if TYPE_CHECKING:
    from accelwatch.fleet.api.store_pages import PeerPages

logger = logging.getLogger(__name__)

_HISTORY = "/history"
# (node, what was done, by whom), for the audit log. What is wrong with the journal; empty when it is
# written.
JournalNote = Callable[[str, str, str], Awaitable[str]]
_to_json = msgspec.json.Encoder().encode


class NodePages:
    """For the hub's event loop."""

    def __init__(
        self,
        fleet: Fleet,
        turns: Turns,
        names: Callable[[], list[str]],
        on_removed: Callable[[], None],
        peers: "PeerPages | None",
        *,
        journal_note: JournalNote,
    ) -> None:
        """`names` gives all nodes, sorted; `on_removed` is called when devices may have gone;
        `journal_note` writes down what somebody did to a node."""
        self._fleet = fleet
        self._turns = turns
        self._names = names
        self._on_removed = on_removed
        self._peers = peers
        self._journal_note = journal_note

    def routes(self) -> Iterator[Route]:
        """The routes."""
        yield Route(
            "GET",
            "/v1/nodes",
            "Nodes, by name",
            self._nodes,
            parameters=(
                Parameter("state", "Only nodes of this state.", choice(NodeState)),
                LIMIT,
                CURSOR,
            ),
            answer=NodesPage,
        )
        yield Route(
            "GET",
            "/v1/nodes/{node:path}",
            "A node with `snapshot`, the document that its own agent answers",
            self._node,
            answer=NodePage,
        )
        yield Route(
            "GET",
            f"/v1/nodes/{{node:path}}{_HISTORY}",
            "The last fifteen minutes of a device, or more from a store",
            self._history,
            parameters=(
                Parameter("device", "Id of a device.", required=True),
                Parameter("range", "How far back, such as 6h; needs a store."),
                Parameter("step", "Between two values, such as 1m; needs a store."),
            ),
            answer=HistoryDocument,
        )
        yield Route(
            "POST",
            "/v1/nodes/{node:path}/acknowledge",
            "Acknowledge missing devices",
            self._acknowledge,
            parameters=(Parameter("device", "Id of a device."), ON_BEHALF_OF),
            answer=Acknowledged,
            role=Role.ACT,
        )

    async def _nodes(self, query: Query, headers: Headers) -> Page:
        limit, after = limit_of(query), only(query, "cursor")
        states = states_of(query)
        start = position_of(after)[0] if after else ""
        rows: list[bytes] = []
        last = ""
        async with self._turns.walk() as walk:
            await self._fleet.odd.refresh(walk)
            for name in self._names():
                await walk.yield_control()
                node = self._fleet.nodes.get(name)
                if node is None or (after and name <= start):
                    continue
                if len(rows) >= limit:
                    return listed("nodes", rows, cursor_of((last, 0, "")), headers)
                summary = node_summary(self._fleet, node)
                if not states or summary.state in states:
                    rows.append(_to_json(summary))
                    last = name
        return listed("nodes", rows, None, headers)

    async def _node(self, name: str, _query: Query, headers: Headers) -> Page:
        self._named(name)
        async with self._turns.walk() as walk:
            await self._fleet.odd.refresh(walk)
        node = self._named(name)
        return json_page(node_page(self._fleet, node), headers)

    def _history(self, name: str, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        # A node may be called so itself.
        if name + _HISTORY in self._fleet.nodes:
            check_parameters(query, ())
            return self._node(name + _HISTORY, query, headers)
        node = self._named(name)
        device = only(query, "device")
        if device is None or not (
            device in node.devices or self._fleet.history.of_device(node, device)
        ):
            device_names = ", ".join(list(node.devices)[:16])
            complaint = f"device: name one of {device_names or 'none'}"
            raise UsageError(complaint) if device is None else UnmetError(complaint)
        device_state = node.devices.get(device)
        if self._peers is not None and device_state is not None:
            stored = self._peers.history(name, device_state.device, query)
            if stored is not None:
                return _later(stored, headers)
        if len(query) > 1:
            raise UsageError("range and step need a store; see docs/fleet/prometheus.md")
        return json_page(history_document(self._fleet, node, device), headers)

    def _named(self, name: str) -> Node:
        node = self._fleet.nodes.get(name)
        if node is None:
            raise UnmetError(f"no node {name[:100]!r}")
        return node

    async def _acknowledge(self, name: str, change: Change) -> Page:
        """Acknowledge what is missing on a node."""
        device = only(change.query, "device")
        actor = for_whom(named(change.user, bool(change.user)), change)
        try:
            removed = await self._fleet.acknowledge(name, device)
        except InventoryError as error:
            return plain(503, f"noted, but not written down yet: {error}", {"Retry-After": "10"})
        finally:
            self._on_removed()
        logger.info("acknowledged node=%s device=%s by=%s", name, device or "all", actor)
        what = device or "what is missing"
        removal = f"{removed} device{'' if removed == 1 else 's'} no longer expected"
        problem = await self._journal_note(name, f"acknowledged {what}: {removal}", actor)
        if problem:
            logger.warning("not in the audit log node=%s by=%s: %s", name, actor, problem)
        acknowledged = Acknowledged(node=name, devices_removed=removed, problem=problem)
        return json_page(acknowledged, change.headers)


async def _later(coming: "Awaitable[HistoryDocument | Page]", headers: Headers) -> Page:
    answer = await coming
    return answer if isinstance(answer, Page) else json_page(answer, headers)
