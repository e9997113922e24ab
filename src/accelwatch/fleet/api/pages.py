"""Which path of the hub gives which page."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from accelwatch.alerting.evaluation.pages import IncidentPages
from accelwatch.alerting.evaluation.silences.pages import SilencePages
from accelwatch.alerting.incidents.model.muting import Muting
from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.base.slices import Turns
from accelwatch.exposition.text import OPENMETRICS, TEXT
from accelwatch.fleet.api.evidence.evidence_pages import EvidencePages
from accelwatch.fleet.api.fleet_history import KeptTotals
from accelwatch.fleet.api.http import index_page, listed
from accelwatch.fleet.api.incidents.audit_pages import AuditPages
from accelwatch.fleet.api.incidents.graph_pages import GraphPages
from accelwatch.fleet.api.incidents.past_incidents import PastIncidents
from accelwatch.fleet.api.incidents.remedy_pages import RemedyPages
from accelwatch.fleet.api.muted_targets import MutedTargets, muted_series
from accelwatch.fleet.api.node_pages import NodePages
from accelwatch.fleet.api.own import RenderOwn, own_series
from accelwatch.fleet.api.query.events import SINCE, event_condition, events_page, parse_start
from accelwatch.fleet.api.query.groups import check_grouping, groups
from accelwatch.fleet.api.query.names import columns, condition, target_labels
from accelwatch.fleet.api.query.rows import cursor_of, page, position_of
from accelwatch.fleet.api.query.totals import Totals, counted
from accelwatch.fleet.api.summaries import (
    fleet_document,
)
from accelwatch.fleet.api.target_outages import TargetOutages
from accelwatch.fleet.avoid.page import AvoidPages
from accelwatch.fleet.detection.pages import DetectorPages
from accelwatch.fleet.documents.fleet import (
    FLEET_HISTORY,
    DevicesPage,
    EventsPage,
    FleetHistory,
    GroupRow,
    GroupsPage,
)
from accelwatch.fleet.evidence_settings import Evidence
from accelwatch.fleet.lemons.page import LemonPages
from accelwatch.fleet.odd.page import OddPages
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.wire import FleetDocument
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.web.http.stream import INCIDENT_LINES, OFFERED, STREAM
from accelwatch.web.http.stream import INCIDENTS as INCIDENT_STREAM
from accelwatch.web.pages.json_page import json_page, packed
from accelwatch.web.pages.negotiation import choose
from accelwatch.web.pages.page import (
    Change,
    Headers,
    Page,
    Query,
    limit_of,
    many,
    only,
    plain,
)
from accelwatch.web.pages.routes import (
    CURSOR,
    LIMIT,
    Parameter,
    Route,
    RouteTable,
)
from accelwatch.web.pages.usage_page import usage_route

if TYPE_CHECKING:
    from accelwatch.alerting.evaluation.runner import RuleRunner
    from accelwatch.fleet.api.store_pages import PeerPages

_FILTER = Parameter("filter", "A condition (docs/expressions.md).")
_FIELDS = Parameter("fields", "Quantities, separated by commas.")
_SCRAPED = ("text/plain", "application/openmetrics-text")
# How long sums over the fleet are kept; nobody can see a difference, and many may ask.
_CACHE_S = 0.5
# Groups are counted in a tenth of the time at most, whoever asks.
_REST = 10
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
        lemons: LemonPages | None = None,
        detector: DetectorPages | None = None,
        muting: Callable[[], Muting | None] = lambda: None,
        rules: "Callable[[], RuleRunner | None]" = lambda: None,
    ) -> None:
        """`may_act`: whether those who can reach the hub may change something; `usage`: the page of
        who uses the devices; `muting`: silences and maintenance, None without rules; `rules`: whoever
        judges now."""
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
        # By grouping and filter, with the time until which it is served. Expensive ones live
        # longer, so that requests cannot keep the loop busy.
        self._grouped: dict[tuple[str, str], tuple[float, list[GroupRow]]] = {}
        self._order: tuple[frozenset[str], list[str]] = (frozenset(), [])
        # Of all walks over the fleet for somebody who looks.
        self.turns = Turns()
        self._graphs = GraphPages(fleet, self.turns, rules)
        self._node_pages = NodePages(fleet, self.turns, self.names, self.invalidate_sums, peers)
        self._muted = MutedTargets(fleet, muting)
        self._target_outages = TargetOutages(fleet)
        # Requests that come together wait for one walk over the fleet and share its result.
        self._counting = asyncio.Lock()
        self.kept_totals = KeptTotals(fleet.clock, self._count)
        self._odd = OddPages(fleet)
        self._avoid = avoid or AvoidPages(fleet)
        self._lemons = lemons or LemonPages(fleet)
        self._detector = detector or DetectorPages(fleet, lambda: None, lambda: None)
        self._usage = usage
        self._table = RouteTable(self._routes())

    def _routes(self) -> Iterator[Route]:
        yield Route(
            "GET", "/", "Where everything is, for a browser", self._index, media=("text/html",)
        )
        yield Route(
            "GET", "/v1/fleet", "The fleet in numbers", self._fleet_page, answer=FleetDocument
        )
        yield Route(
            "GET",
            FLEET_HISTORY,
            "The fleet in numbers over the last hour",
            self.kept_totals.page,
            answer=FleetHistory,
        )
        yield from self._node_pages.routes()
        yield Route(
            "GET",
            "/v1/devices",
            "Devices",
            self._devices,
            parameters=(_FILTER, _FIELDS, LIMIT, CURSOR),
            answer=DevicesPage,
        )
        yield Route(
            "GET",
            "/v1/groups",
            "The fleet in numbers by what devices share",
            self._groups,
            parameters=(
                Parameter(
                    "by", "rack, partition, job, user, a label, or another name.", required=True
                ),
                _FILTER,
                LIMIT,
                CURSOR,
            ),
            answer=GroupsPage,
        )
        if self._usage is not None:
            yield usage_route(self._usage)
        yield Route(
            "GET",
            "/v1/events",
            "Error events, newest first",
            self._events,
            parameters=(
                SINCE,
                Parameter("node", "Only events of this node."),
                Parameter("filter", "A condition over events (docs/fleet/hub.md)."),
                LIMIT,
                CURSOR,
            ),
            answer=EventsPage,
        )
        yield from self._incidents.routes(self._listed_incidents)
        yield from self._graphs.routes()
        yield from self._silences.routes()
        yield from self._evidence.routes()
        yield from self._remedies.routes()
        yield from self._audit.routes()
        yield from self._avoid.routes()
        yield from self._odd.routes()
        yield from self._lemons.routes()
        yield from self._detector.routes()
        yield Route(
            "GET",
            STREAM,
            "The fleet, tick by tick",
            lambda _query, _headers: plain(200, ""),
            media=(*OFFERED, INCIDENT_LINES, INCIDENT_STREAM),
            parameters=(_FILTER, _FIELDS),
            errors={"406": "Accept has none of the media types; the text names them."},
        )
        yield Route("GET", "/v1/openapi.json", "This document", self._openapi)
        yield Route("GET", "/metrics", "Aggregates, for Prometheus", self._metrics, media=_SCRAPED)
        yield Route(
            "GET",
            "/federate",
            "All devices' families, for Prometheus; where it is enabled",
            self._federate,
            media=_SCRAPED,
            parameters=(
                Parameter("profile", "default or minimal."),
                Parameter("groups", "Opt-in groups, separated by commas."),
            ),
        )
        yield Route(
            "GET",
            "/-/healthy",
            "Whether the hub lives",
            lambda _query, _headers: plain(200, "healthy"),
            media=("text/plain",),
        )
        yield Route(
            "GET",
            "/-/ready",
            "Whether the targets are known",
            lambda _query, _headers: self._readiness(),
            media=("text/plain",),
        )

    def methods(self, path: str) -> tuple[str, ...]:
        """The methods that a path takes; empty when there is no such path."""
        return self._table.methods(path)

    def page(self, path: str, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        """The page. Raises AccelwatchError for parameters and names that make no sense."""
        return self._table.page(path, query, headers)

    async def act(self, change: Change) -> Page:
        """What changes something, for those who may. Raises AccelwatchError."""
        return await self._table.act(change, self._may_act())

    def _openapi(self, _query: Query, _headers: Headers) -> Page:
        return self._openapi_page

    # Made once, when it is first requested: it walks all structs of all pages.
    @cached_property
    def _openapi_page(self) -> Page:
        from accelwatch.fleet.api.openapi import openapi

        return json_page(openapi(self._table.routes), {})

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
        async with self.turns.walk() as walk:
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

    async def _index(self, _query: Query, _headers: Headers) -> Page:
        return index_page(fleet_document(self._fleet, await self.sums()))

    async def _fleet_page(self, _query: Query, headers: Headers) -> Page:
        document = fleet_document(self._fleet, await self.sums())
        return json_page(document, headers)

    def _federate(self, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        if self._peers is None:
            raise UnmetError("federation is not enabled")
        return self._peers.federate(query, headers)

    async def _devices(self, query: Query, headers: Headers) -> Page:
        text, cursor = only(query, "filter"), only(query, "cursor")
        async with self.turns.walk() as walk:
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
                async with self.turns.walk() as walk:
                    rows = await groups(self._fleet, by, expression, walk)
                duration = clock.monotonic() - now
                kept[by, text] = now + max(_CACHE_S, _REST * duration), rows
            self._grouped = kept
            return kept[by, text][1]

    def _events(self, query: Query, headers: Headers) -> Page:
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
        async with self.turns.walk() as walk:
            series = await own_series(self._fleet, sums, walk)
            muted = await self._muted.names(walk)
        peers = {} if self._peers is None else self._peers.own()
        return {**series, **muted_series(muted), **self._target_outages.series(muted), **peers}

    async def _metrics(self, _query: Query, headers: Headers) -> Page:
        chosen = choose(headers.get("Accept", ""), (TEXT, OPENMETRICS)) or TEXT
        series = await self.own()
        lines: list[str] = []
        async with self.turns.walk() as walk:
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
