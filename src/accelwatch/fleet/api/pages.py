"""Which path of the hub gives which page."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from accelwatch.alerting.evaluation.pages import IncidentPages
from accelwatch.alerting.evaluation.paths import (
    EXPLAIN,
    INCIDENT,
    INCIDENTS,
    MAINTENANCE,
    RULES,
    SILENCES,
    methods_of_silences,
)
from accelwatch.alerting.evaluation.silence_pages import SilencePages
from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.base.slices import Turns
from accelwatch.exposition.text import OPENMETRICS, TEXT
from accelwatch.fleet.api.audit_pages import PATH as AUDIT
from accelwatch.fleet.api.audit_pages import AuditPages
from accelwatch.fleet.api.documents import (
    FLEET_HISTORY,
    Acknowledged,
    GroupRow,
    GroupsPage,
    HistoryDocument,
)
from accelwatch.fleet.api.events import event_condition, events_page, parse_start
from accelwatch.fleet.api.evidence_pages import PATH as EVIDENCE
from accelwatch.fleet.api.evidence_pages import EvidencePages
from accelwatch.fleet.api.fleet_history import KeptTotals
from accelwatch.fleet.api.groups import check_grouping, groups
from accelwatch.fleet.api.http import index_page, listed, states_of
from accelwatch.fleet.api.names import columns, condition, target_labels
from accelwatch.fleet.api.own import RenderOwn, own_series
from accelwatch.fleet.api.past_incidents import PastIncidents
from accelwatch.fleet.api.remedy_pages import RemedyPages
from accelwatch.fleet.api.rows import cursor_of, page, position_of
from accelwatch.fleet.api.summaries import (
    fleet_document,
    history_document,
    node_snapshot,
    node_summary,
)
from accelwatch.fleet.api.target_outages import TargetOutages
from accelwatch.fleet.api.totals import Totals, counted
from accelwatch.fleet.avoid.page import PATH as AVOID
from accelwatch.fleet.avoid.page import AvoidPages
from accelwatch.fleet.evidence_settings import Evidence
from accelwatch.fleet.odd.page import PATH as ODD
from accelwatch.fleet.odd.page import OddPages
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.inventory import InventoryError
from accelwatch.fleet.state.node import Node
from accelwatch.node.usage.queries import PATH as USAGE
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.web.http.stream import STREAM
from accelwatch.web.pages.changing import refusal_of_change
from accelwatch.web.pages.json_page import json_page, packed
from accelwatch.web.pages.negotiation import choose
from accelwatch.web.pages.page import (
    Change,
    Headers,
    Page,
    Query,
    check_parameters,
    limit_of,
    many,
    only,
    plain,
)
from accelwatch.web.protection.roles import Role

if TYPE_CHECKING:
    from accelwatch.fleet.api.store_pages import PeerPages

NODE = "/v1/nodes/"
_HISTORY = "/history"
_ACKNOWLEDGE = "/acknowledge"
_CACHE_S = 0.5
"""How long sums over the fleet are kept; nobody can see a difference, and many may ask."""
_REST = 10
"""Groups are counted in a tenth of the time at most, whoever asks."""
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
        incidents: IncidentPages | None = None,
        silences: SilencePages | None = None,
        evidence: EvidencePages | None = None,
        remedies: RemedyPages | None = None,
        audit: AuditPages | None = None,
        usage: Callable[[Query, Headers], Awaitable[Page]] | None = None,
        avoid: AvoidPages | None = None,
        past: PastIncidents | None = None,
    ) -> None:
        """`may_act`: whether those who can reach the hub may change something; `usage`: the page of
        who uses the devices."""
        self._silences = silences or SilencePages(lambda: None, fleet.clock, lambda: fleet.nodes)
        self._remedies = remedies or RemedyPages(lambda: None, fleet.clock, lambda: fleet.nodes)
        self._evidence = evidence or EvidencePages(fleet, Evidence)
        self._incidents = incidents or IncidentPages(lambda: None)
        self._audit = audit or AuditPages(lambda: None, fleet.clock)
        self._past = past or PastIncidents(lambda: None, lambda: None, fleet.clock)
        self._peers = peers
        self._fleet = fleet
        self._render = render
        self._ready = ready
        self._may_act = may_act
        # When counted, of which read of the store and which membership, and what.
        self._sums: tuple[float, tuple[str | float | None, int], Totals] | None = None
        self._grouped: dict[tuple[str, str], tuple[float, list[GroupRow]]] = {}
        self._order: tuple[frozenset[str], list[str]] = (frozenset(), [])
        self._turns = Turns()
        self._target_outages = TargetOutages(fleet)
        self._counting = asyncio.Lock()
        self.kept_totals = KeptTotals(fleet.clock, self._count)
        self._pages: dict[str, Callable[[Query, Headers], Page | Awaitable[Page]]] = {
            "/": self._index,
            "/metrics": self._metrics,
            "/federate": self._federate,
            "/v1/fleet": self._fleet_page,
            FLEET_HISTORY: self.kept_totals.page,
            "/v1/nodes": self._nodes,
            "/v1/devices": self._devices,
            "/v1/groups": self._groups,
            "/v1/events": self._events,
            INCIDENTS: self._listed_incidents,
            RULES: self._incidents.rules,
            AUDIT: self._audit.page,
            EXPLAIN: self._incidents.explanation,
            ODD: OddPages(fleet).page,
            AVOID: (avoid or AvoidPages(fleet)).page,
            "/v1/openapi.json": lambda query, _: _openapi(query),
            "/-/healthy": lambda _query, _: plain(200, "healthy"),
            "/-/ready": lambda _query, _: self._readiness(),
        }
        if usage is not None:
            self._pages[USAGE] = usage

    def methods(self, path: str) -> tuple[str, ...]:
        """The methods that a path takes; empty when there is no such path."""
        if path in self._pages or path == STREAM:
            return _READ
        if methods := (
            methods_of_silences(path)
            or self._evidence.methods(path)
            or self._remedies.methods(path)
        ):
            return methods
        if path.startswith(INCIDENT) and len(path) > len(INCIDENT):
            return _READ
        if path.startswith(NODE) and len(path) > len(NODE):
            return ("POST",) if path.endswith(_ACKNOWLEDGE) else _READ
        return ()

    def page(self, path: str, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        """The page. Raises AccelwatchError for parameters and names that make no sense."""
        if path == STREAM:
            return plain(200, "")
        if path in (SILENCES, MAINTENANCE):
            return self._silences.page(path, query, headers)
        if self._remedies.methods(path):
            return self._remedies.page(path, query, headers)
        if path == EVIDENCE:
            return self._evidence.page(query, headers)
        if path.startswith(INCIDENT):
            return self._incidents.incident(path.removeprefix(INCIDENT), headers)
        if path.startswith(NODE):
            return self._node(path.removeprefix(NODE), query, headers)
        return self._pages[path](query, headers)

    async def act(self, change: Change) -> Page:
        """What changes something, for those who may. Raises AccelwatchError."""
        remedy = bool(self._remedies.methods(change.path))
        needed = self._remedies.role(change.path) if remedy else Role.ACT
        refusal = refusal_of_change(change, self._may_act(), needed)
        if refusal is not None:
            return refusal
        if remedy:
            return await self._remedies.act(change)
        if methods_of_silences(change.path):
            return await self._silences.act(change)
        if self._evidence.methods(change.path):
            return await self._evidence.act(change)
        return await self._acknowledge(change.path, change.query, change.headers)

    async def _acknowledge(self, path: str, query: Query, headers: Headers) -> Page:
        """Take note of what is missing on a node."""
        check_parameters(query, ("device",))
        name = path.removeprefix(NODE).removesuffix(_ACKNOWLEDGE)
        try:
            removed = await self._fleet.acknowledge(name, only(query, "device"))
        except InventoryError as error:
            return plain(503, f"noted, but not written down yet: {error}", {"Retry-After": "10"})
        finally:
            self.invalidate_sums()
        return json_page(Acknowledged(node=name, devices_removed=removed), headers)

    def invalidate_sums(self) -> None:
        """Who asks next is told sums that nobody was told before."""
        self._sums, self._grouped = None, {}

    async def sums(self) -> Totals:
        """Sums over the fleet, at most half a second old; those who ask at once share one count.

        None is older than the store's last read or a node's first answer: a client that waits for
        these would find nodes without devices.
        """
        async with self._counting:
            now, cached = self._fleet.clock.monotonic(), self._sums
            read_at = None if self._fleet.store is None else self._fleet.store.read_at
            version = read_at, self._fleet.membership
            if cached is None or now - cached[0] >= _CACHE_S or cached[1] != version:
                cached = self._sums = now, version, await self._count()
            return cached[2]

    async def _count(self) -> Totals:
        async with self._turns.walk() as walk:
            return await counted(self._fleet, walk.rest)

    def names(self) -> list[str]:
        """Names of the nodes, sorted."""
        names = frozenset(self._fleet.nodes)
        if names != self._order[0]:
            self._order = names, sorted(names)
        return self._order[1]

    def labels(self) -> set[str]:
        """Names of all labels of targets."""
        return target_labels(self._fleet)

    def _listed_incidents(self, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        pages = self._past.page if "since" in query else self._incidents.incidents
        return pages(query, headers)

    async def _index(self, query: Query, _headers: Headers) -> Page:
        check_parameters(query, ())
        return index_page(fleet_document(self._fleet, await self.sums()))

    async def _fleet_page(self, query: Query, headers: Headers) -> Page:
        check_parameters(query, ())
        document = fleet_document(self._fleet, await self.sums())
        return json_page(document, headers)

    def _federate(self, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        if self._peers is None:
            raise UnmetError("there is no federation here")
        return self._peers.federate(query, headers)

    async def _nodes(self, query: Query, headers: Headers) -> Page:
        check_parameters(query, ("state", "limit", "cursor"))
        limit, after = limit_of(query), only(query, "cursor")
        states = states_of(query)
        start = position_of(after)[0] if after else ""
        rows: list[bytes] = []
        last = ""
        async with self._turns.walk() as walk:
            await self._fleet.odd.refresh(walk)
            for name in self.names():
                await walk.rest()
                node = self._fleet.nodes.get(name)
                if node is None or (after and name <= start):
                    continue
                if len(rows) >= limit:
                    return listed("nodes", rows, _next(last), headers)
                summary = node_summary(self._fleet, node)
                if not states or summary.state in states:
                    rows.append(_to_json(summary))
                    last = name
        return listed("nodes", rows, None, headers)

    def _node(self, rest: str, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        if rest.endswith(_HISTORY) and rest not in self._fleet.nodes:
            return self._history(rest.removesuffix(_HISTORY), query, headers)
        check_parameters(query, ())
        return self._summary(rest, headers)

    async def _summary(self, name: str, headers: Headers) -> Page:
        self._named(name)
        async with self._turns.walk() as walk:
            await self._fleet.odd.refresh(walk)
        node = self._named(name)
        summary = msgspec.to_builtins(node_summary(self._fleet, node))
        return json_page({**summary, "snapshot": node_snapshot(self._fleet, node)}, headers)

    def _history(self, name: str, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        check_parameters(query, ("device", "range", "step"))
        node = self._named(name)
        device = only(query, "device")
        if device is None or not (device in node.devices or self._fleet.history(node, device)):
            device_names = ", ".join(list(node.devices)[:16])
            choice = f"device: name one of {device_names or 'none'}"
            raise UsageError(choice) if device is None else UnmetError(choice)
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

    async def _devices(self, query: Query, headers: Headers) -> Page:
        check_parameters(query, ("filter", "fields", "limit", "cursor"))
        text, cursor = only(query, "filter"), only(query, "cursor")
        async with self._turns.walk() as walk:
            rows, following = await page(
                self._fleet,
                columns(many(query, "fields")),
                names=self.names(),
                expression=condition(text, self.labels()) if text else None,
                after=position_of(cursor) if cursor else None,
                limit=limit_of(query),
                walk=walk,
            )
        return listed("devices", rows, following, headers)

    async def _groups(self, query: Query, headers: Headers) -> Page:
        check_parameters(query, ("by", "filter", "limit", "cursor"))
        by, text, cursor = only(query, "by"), only(query, "filter"), only(query, "cursor")
        if by is None:
            raise UsageError("by: say by what, such as rack, partition, job or user")
        check_grouping(by, self.labels())
        limit, after = limit_of(query), position_of(cursor)[0] if cursor else None
        rows = await self._all_groups(by, text or "")
        left = [row for row in rows if after is None or row.group is None or row.group > after]
        shown = tuple(left[:limit])
        following = _next(shown[-1].group or "") if len(left) > limit else None
        return json_page(GroupsPage(by=by, groups=shown, next=following), headers)

    async def _all_groups(self, by: str, text: str) -> list[GroupRow]:
        """The groups, half a second old or as much older as counting them takes long."""
        clock = self._fleet.clock
        async with self._counting:
            now = clock.monotonic()
            kept = {key: cached for key, cached in self._grouped.items() if now < cached[0]}
            if (by, text) not in kept:
                expression = condition(text, self.labels()) if text else None
                async with self._turns.walk() as walk:
                    rows = await groups(self._fleet, by, expression, walk)
                duration = clock.monotonic() - now
                kept[by, text] = now + max(_CACHE_S, _REST * duration), rows
            self._grouped = kept
            return kept[by, text][1]

    def _events(self, query: Query, headers: Headers) -> Page:
        check_parameters(query, ("since", "node", "filter", "limit", "cursor"))
        since, text = only(query, "since"), only(query, "filter")
        page_ = events_page(
            self._fleet,
            since=None if since is None else parse_start(since, self._fleet.clock.wall()),
            node=only(query, "node"),
            expression=event_condition(text, self.labels()) if text else None,
            cursor=only(query, "cursor"),
            limit=limit_of(query),
        )
        return json_page(page_, headers)

    async def own(self) -> dict[Series, Number]:
        """What the hub says about itself and the fleet."""
        sums = await self.sums()
        async with self._turns.walk() as walk:
            series = await own_series(self._fleet, sums, walk)
        peers = {} if self._peers is None else self._peers.own()
        return {**series, **self._target_outages.series(), **peers}

    async def _metrics(self, query: Query, headers: Headers) -> Page:
        check_parameters(query, ())
        chosen = choose(headers.get("Accept", ""), (TEXT, OPENMETRICS)) or TEXT
        series = await self.own()
        lines: list[str] = []
        async with self._turns.walk() as walk:
            for line in self._render(series, chosen == OPENMETRICS):
                lines.append(line)
                await walk.rest()
        return packed("".join(lines).encode(), chosen, headers.get("Accept-Encoding", ""))

    def _readiness(self) -> Page:
        if self._ready():
            return plain(200, "ready")
        return plain(503, "the targets are not known yet")


def _next(name: str) -> str:
    return cursor_of((name, 0, ""))


def _openapi(query: Query) -> Page:
    from accelwatch.fleet.api.openapi import openapi

    check_parameters(query, ())
    return json_page(openapi(), {})


async def _later(coming: "Awaitable[HistoryDocument | Page]", headers: Headers) -> Page:
    answer = await coming
    return answer if isinstance(answer, Page) else json_page(answer, headers)
