"""Which path of the hub gives which page."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from accelwatch.agent.negotiation import choose
from accelwatch.agent.page import JSON, Page, Query, ask_again, many, plain
from accelwatch.agent.routes import STREAM, Headers
from accelwatch.errors import UnmetError, UsageError
from accelwatch.fleet.api.documents import (
    Acknowledged,
    GroupRow,
    GroupsPage,
    HistoryDocument,
)
from accelwatch.fleet.api.events import begin_of, event_condition, events_page
from accelwatch.fleet.api.groups import check_grouping, groups
from accelwatch.fleet.api.names import columns, condition
from accelwatch.fleet.api.openapi import openapi
from accelwatch.fleet.api.own import RenderOwn, own_series
from accelwatch.fleet.api.packing import packed
from accelwatch.fleet.api.rows import Totals, cursor_of, page, place_of, totals
from accelwatch.fleet.api.summaries import (
    fleet_document,
    history_document,
    node_snapshot,
    node_summary,
)
from accelwatch.fleet.api.turns import Turns
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.inventory import InventoryError
from accelwatch.fleet.state.liveness import NodeState
from accelwatch.fleet.state.node import Node
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

if TYPE_CHECKING:
    from accelwatch.fleet.prometheus.pages import PeerPages

NODE = "/v1/nodes/"
_HISTORY = "/history"
_ACKNOWLEDGE = "/acknowledge"
_HOLD_S = 0.5
"""How long sums over the fleet are kept; nobody can see a difference, and many may ask."""
_REST = 10
"""Groups are counted in a tenth of the time at most, whoever asks."""
_DEFAULT_LIMIT = 1000
_MAX_LIMIT = 20_000
_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_LARGE_BYTES = 1 << 20
_PIECE_ROWS = 500
_READ = ("GET", "HEAD")
_to_json = msgspec.json.Encoder().encode


class HubPages:
    """Pages by path; the loop's thread only."""

    def __init__(
        self,
        fleet: Fleet,
        render: RenderOwn,
        *,
        ready: Callable[[], bool],
        may_act: Callable[[], bool],
        peers: "PeerPages | None" = None,
    ) -> None:
        """`may_act`: whether those who can reach the hub may acknowledge."""
        self._peers = peers
        self._fleet = fleet
        self._render = render
        self._ready = ready
        self._may_act = may_act
        self._sums: tuple[float, Totals] | None = None
        self._grouped: dict[tuple[str, str], tuple[float, list[GroupRow]]] = {}
        self._order: tuple[frozenset[str], list[str]] = (frozenset(), [])
        self._turns = Turns()
        self._counting = asyncio.Lock()
        self._pages: dict[str, Callable[[Query, Headers], Page | Awaitable[Page]]] = {
            "/metrics": self._metrics,
            "/federate": self._federate,
            "/v1/fleet": self._fleet_page,
            "/v1/nodes": self._nodes,
            "/v1/devices": self._devices,
            "/v1/groups": self._groups,
            "/v1/events": self._events,
            "/v1/openapi.json": lambda query, _: _plain_json(query, openapi()),
            "/-/healthy": lambda _query, _: plain(200, "healthy"),
            "/-/ready": lambda _query, _: self._readiness(),
        }

    def methods(self, path: str) -> tuple[str, ...]:
        """The methods that a path takes; empty when there is no such path."""
        if path in self._pages or path == STREAM:
            return _READ
        if path.startswith(NODE) and len(path) > len(NODE):
            return ("POST",) if path.endswith(_ACKNOWLEDGE) else _READ
        return ()

    def page(self, path: str, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        """The page. Raises AccelwatchError for parameters and names that make no sense."""
        if path == STREAM:
            return plain(200, "")
        if path.startswith(NODE):
            return self._node(path.removeprefix(NODE), query, headers)
        return self._pages[path](query, headers)

    async def act(self, path: str, query: Query, headers: Headers) -> Page:
        """Acknowledge what is missing on a node. Raises AccelwatchError."""
        ask_again(query, ("device",))
        if not self._may_act():
            return plain(403, "the hub is open to all; acknowledging needs credentials")
        if headers.get("Origin") or headers.get("Sec-Fetch-Site", "none") != "none":
            return plain(403, "not from a page in a browser")
        name = path.removeprefix(NODE).removesuffix(_ACKNOWLEDGE)
        try:
            removed = await self._fleet.acknowledge(name, _one(query, "device"))
        except InventoryError as error:
            return plain(503, f"noted, but not written down yet: {error}", {"Retry-After": "10"})
        finally:
            self._sums = None
            self._grouped = {}
        return _json(Acknowledged(node=name, devices_removed=removed), headers)

    async def sums(self) -> Totals:
        """Sums over the fleet, at most half a second old; those who ask at once share one count."""
        async with self._counting:
            now = self._fleet.clock.monotonic()
            if self._sums is None or now - self._sums[0] >= _HOLD_S:
                async with self._turns.walk() as walk:
                    self._sums = now, await totals(self._fleet, walk)
            return self._sums[1]

    def names(self) -> list[str]:
        """Names of the nodes, sorted."""
        known = frozenset(self._fleet.nodes)
        if known != self._order[0]:
            self._order = known, sorted(known)
        return self._order[1]

    def labels(self) -> set[str]:
        """Names of all labels of targets."""
        return {name for node in self._fleet.nodes.values() for name in node.labels}

    async def _fleet_page(self, query: Query, headers: Headers) -> Page:
        ask_again(query, ())
        document = fleet_document(self._fleet, await self.sums())
        return _json(document, headers)

    def _federate(self, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        if self._peers is None:
            raise UnmetError("there is no federation here")
        return self._peers.federate(query, headers)

    async def _nodes(self, query: Query, headers: Headers) -> Page:
        ask_again(query, ("state", "limit", "cursor"))
        limit, after = _limit(query), _one(query, "cursor")
        states = _states(query)
        start = place_of(after)[0] if after else ""
        rows: list[bytes] = []
        last = ""
        async with self._turns.walk() as walk:
            for name in self.names():
                await walk.rest()
                node = self._fleet.nodes.get(name)
                if node is None or (after and name <= start):
                    continue
                if len(rows) >= limit:
                    return _listed("nodes", rows, _next(last), headers)
                summary = node_summary(self._fleet, node)
                if not states or summary.state in states:
                    rows.append(_to_json(summary))
                    last = name
        return _listed("nodes", rows, None, headers)

    def _node(self, rest: str, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        if rest.endswith(_HISTORY) and rest not in self._fleet.nodes:
            return self._history(rest.removesuffix(_HISTORY), query, headers)
        ask_again(query, ())
        node = self._named(rest)
        summary = msgspec.to_builtins(node_summary(self._fleet, node))
        return _json({**summary, "snapshot": node_snapshot(self._fleet, node)}, headers)

    def _history(self, name: str, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        ask_again(query, ("device", "range", "step"))
        node = self._named(name)
        device = _one(query, "device")
        if device is None or not (node.history(device) or device in node.devices):
            known = ", ".join(list(node.devices)[:16])
            told = f"device: name one of {known or 'none'}"
            raise UsageError(told) if device is None else UnmetError(told)
        held = node.devices.get(device)
        if self._peers is not None and held is not None:
            found = self._peers.history(name, held.device, query)
            if found is not None:
                return _later(found, headers)
        if len(query) > 1:
            raise UsageError("range and step need a store; see docs/fleet/prometheus.md")
        return _json(history_document(self._fleet, node, device), headers)

    def _named(self, name: str) -> Node:
        node = self._fleet.nodes.get(name)
        if node is None:
            raise UnmetError(f"no node {name[:100]!r}")
        return node

    async def _devices(self, query: Query, headers: Headers) -> Page:
        ask_again(query, ("filter", "fields", "limit", "cursor"))
        text, cursor = _one(query, "filter"), _one(query, "cursor")
        async with self._turns.walk() as walk:
            rows, following = await page(
                self._fleet,
                columns(many(query, "fields")),
                names=self.names(),
                wanted=condition(text, self.labels()) if text else None,
                after=place_of(cursor) if cursor else None,
                limit=_limit(query),
                walk=walk,
            )
        return _listed("devices", rows, following, headers)

    async def _groups(self, query: Query, headers: Headers) -> Page:
        ask_again(query, ("by", "filter", "limit", "cursor"))
        by, text, cursor = _one(query, "by"), _one(query, "filter"), _one(query, "cursor")
        if by is None:
            raise UsageError("by: say by what, such as rack, partition, job or user")
        check_grouping(by, self.labels())
        limit, after = _limit(query), place_of(cursor)[0] if cursor else None
        rows = await self._all_groups(by, text or "")
        left = [one for one in rows if after is None or one.group is None or one.group > after]
        shown = tuple(left[:limit])
        following = _next(shown[-1].group or "") if len(left) > limit else None
        return _json(GroupsPage(by=by, groups=shown, next=following), headers)

    async def _all_groups(self, by: str, text: str) -> list[GroupRow]:
        """The groups, half a second old or as much older as counting them takes long."""
        clock = self._fleet.clock
        async with self._counting:
            now = clock.monotonic()
            kept = {key: one for key, one in self._grouped.items() if now < one[0]}
            if (by, text) not in kept:
                wanted = condition(text, self.labels()) if text else None
                async with self._turns.walk() as walk:
                    rows = await groups(self._fleet, by, wanted, walk)
                took = clock.monotonic() - now
                kept[by, text] = now + max(_HOLD_S, _REST * took), rows
            self._grouped = kept
            return kept[by, text][1]

    def _events(self, query: Query, headers: Headers) -> Page:
        ask_again(query, ("since", "node", "filter", "limit", "cursor"))
        since, text = _one(query, "since"), _one(query, "filter")
        page_ = events_page(
            self._fleet,
            since=None if since is None else begin_of(since, self._fleet.clock.wall()),
            node=_one(query, "node"),
            wanted=event_condition(text, self.labels()) if text else None,
            cursor=_one(query, "cursor"),
            limit=_limit(query),
        )
        return _json(page_, headers)

    async def own(self) -> dict[Series, Number]:
        """What the hub says about itself and the fleet."""
        sums = await self.sums()
        async with self._turns.walk() as walk:
            found = await own_series(self._fleet, sums, walk)
        return found if self._peers is None else {**found, **self._peers.own()}

    async def _metrics(self, query: Query, headers: Headers) -> Page:
        ask_again(query, ())
        chosen = choose(headers.get("Accept", ""), (_TEXT, _OPENMETRICS)) or _TEXT
        series = await self.own()
        lines: list[str] = []
        async with self._turns.walk() as walk:
            for line in self._render(series, chosen == _OPENMETRICS):
                lines.append(line)
                await walk.rest()
        return packed("".join(lines).encode(), chosen, headers.get("Accept-Encoding", ""))

    def _readiness(self) -> Page:
        if self._ready():
            return plain(200, "ready")
        return plain(503, "the targets are not known yet")


def _next(name: str) -> str:
    return cursor_of((name, 0, ""))


def _limit(query: Query) -> int:
    text = _one(query, "limit")
    if text is None:
        return _DEFAULT_LIMIT
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:9]) <= _MAX_LIMIT:
        raise UsageError(f"limit: a number from 1 to {_MAX_LIMIT}")
    return int(text)


def _states(query: Query) -> set[str]:
    given = set(many(query, "state"))
    if unknown := given - set(NodeState):
        raise UsageError(f"state: {min(unknown)[:40]!r} is none of {', '.join(NodeState)}")
    return given


def _one(query: Query, name: str) -> str | None:
    given = query.get(name)
    if not given:
        return None
    if len(given) > 1:
        raise UsageError(f"{name} is given twice")
    return given[0]


def _plain_json(query: Query, document: dict[str, Any]) -> Page:
    ask_again(query, ())
    return _json(document, {})


def _listed(name: str, rows: list[bytes], following: str | None, headers: Headers) -> Page:
    """`NodesPage` or `DevicesPage` of rows that are JSON already; a large one goes out in pieces."""
    begin, end = b'{"%b":[' % name.encode(), b'],"next":%b}\n' % _to_json(following)
    if sum(map(len, rows)) <= _LARGE_BYTES:
        body = begin + b",".join(rows) + end
        return packed(body, JSON, headers.get("Accept-Encoding", ""))

    async def parts() -> AsyncIterator[bytes]:
        for at in range(0, len(rows), _PIECE_ROWS):
            yield (b"," if at else begin) + b",".join(rows[at : at + _PIECE_ROWS])
        yield end

    told = {"Content-Type": JSON, "Cache-Control": "no-store"}
    return Page(body=b"", headers=told, parts=parts)


def _json(document: object, headers: Headers) -> Page:
    return packed(_to_json(document) + b"\n", JSON, headers.get("Accept-Encoding", ""))


async def _later(found: "Awaitable[HistoryDocument | Page]", headers: Headers) -> Page:
    answer = await found
    return answer if isinstance(answer, Page) else _json(answer, headers)
