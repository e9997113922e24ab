"""Which path of the hub gives which page."""

from collections.abc import Awaitable, Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from accelwatch.alerting.evaluation.incident_reader import IncidentReader
from accelwatch.alerting.evaluation.pages import IncidentPages
from accelwatch.alerting.evaluation.silences.pages import SilencePages
from accelwatch.alerting.incidents.model.muting import Muting
from accelwatch.fleet.api.device_pages import FIELDS, FILTER, DevicePages
from accelwatch.fleet.api.event_pages import EventPages
from accelwatch.fleet.api.evidence.evidence_pages import EvidencePages
from accelwatch.fleet.api.fleet_counts import FleetCounts
from accelwatch.fleet.api.fleet_history import KeptTotals
from accelwatch.fleet.api.hardware.lemons_page import LemonPages
from accelwatch.fleet.api.hardware.odd_page import OddPages
from accelwatch.fleet.api.http import index_page
from accelwatch.fleet.api.hub_pages import HubStatusPages
from accelwatch.fleet.api.incidents.audit_pages import AuditPages
from accelwatch.fleet.api.incidents.graph_pages import GraphPages
from accelwatch.fleet.api.incidents.incident_history import IncidentHistoryPage
from accelwatch.fleet.api.incidents.remedy_pages import RemedyPages
from accelwatch.fleet.api.metrics_pages import MetricsPages
from accelwatch.fleet.api.muted_targets import MutedTargets
from accelwatch.fleet.api.node_pages import JournalNote, NodePages
from accelwatch.fleet.api.own import RenderOwn
from accelwatch.fleet.api.summaries import (
    fleet_document,
)
from accelwatch.fleet.avoid.page import AvoidPages
from accelwatch.fleet.detection.pages import DetectorPages
from accelwatch.fleet.documents.fleet import (
    FLEET_HISTORY,
    FleetHistory,
)
from accelwatch.fleet.evidence_settings import Evidence
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.wire import FleetDocument
from accelwatch.web.http.stream import INCIDENT_LINES, OFFERED, STREAM
from accelwatch.web.http.stream import INCIDENTS as INCIDENT_STREAM
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import (
    Change,
    Headers,
    Page,
    Query,
    plain,
)
from accelwatch.web.pages.routes import (
    Route,
    RouteTable,
)
from accelwatch.web.pages.usage_page import usage_route

if TYPE_CHECKING:
    from accelwatch.fleet.api.store_pages import PeerPages


async def _no_journal(_node: str, _text: str, _actor: str) -> str:
    """Of a hub without rules."""
    return ""


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
        hubs: HubStatusPages | None = None,
        usage: Callable[[Query, Headers], Awaitable[Page]] | None = None,
        avoid: AvoidPages | None = None,
        incident_history: IncidentHistoryPage | None = None,
        lemons: LemonPages | None = None,
        detector: DetectorPages | None = None,
        muting: Callable[[], Muting | None] = lambda: None,
        rules: Callable[[], IncidentReader | None] = lambda: None,
        journal_note: JournalNote = _no_journal,
    ) -> None:
        """`may_act`: whether those who can reach the hub may change something; `usage`: the page of
        who uses the devices; `muting`: silences and maintenance, None without rules; `rules`: the
        incidents, None where there are none; `journal_note`: what somebody did to a node, for the
        audit log."""
        self._silences = silences or SilencePages(lambda: None, fleet.clock, lambda: fleet.nodes)
        self._remedies = remedies or RemedyPages(lambda: None, fleet.clock, lambda: fleet.nodes)
        self._evidence = evidence or EvidencePages(fleet, Evidence)
        self._incidents = incidents or IncidentPages(lambda: None)
        self._hubs = hubs
        self._audit = audit or AuditPages(lambda: None, fleet.clock)
        self._incident_history = incident_history or IncidentHistoryPage(
            lambda: None, lambda: None, fleet.clock
        )
        self._fleet = fleet
        self._ready = ready
        self._may_act = may_act
        self.counts = counts = FleetCounts(fleet)
        self._devices = DevicePages(fleet, counts)
        self._events = EventPages(fleet, counts.labels)
        self._nodes = NodePages(
            fleet,
            counts.turns,
            counts.names,
            counts.invalidate,
            peers,
            journal_note=journal_note,
        )
        self._graphs = GraphPages(fleet, counts.turns, rules)
        self._metrics = MetricsPages(fleet, counts, render, MutedTargets(fleet, muting), peers)
        self.own = self._metrics.own
        self.kept_totals = KeptTotals(fleet.clock, counts.count)
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
        yield from self._nodes.routes()
        yield from self._devices.routes()
        if self._usage is not None:
            yield usage_route(self._usage)
        yield from self._events.routes()
        yield from self._incidents.routes(self._listed_incidents)
        yield from self._graphs.routes()
        yield from self._silences.routes()
        yield from self._evidence.routes()
        yield from self._remedies.routes()
        yield from self._audit.routes()
        if self._hubs is not None:
            yield from self._hubs.routes()
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
            parameters=(FILTER, FIELDS),
            errors={"406": "Accept has none of the media types; the text names them."},
        )
        yield Route("GET", "/v1/openapi.json", "This document", self._openapi)
        yield from self._metrics.routes()
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

    @property
    def routes(self) -> tuple[Route, ...]:
        """All of them, with parameters and roles."""
        return self._table.routes

    def methods(self, path: str) -> tuple[str, ...]:
        """The methods that a path allows; empty when there is no such path."""
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

    def _listed_incidents(self, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        pages = self._incident_history.page if "since" in query else self._incidents.incidents
        return pages(query, headers)

    async def _index(self, _query: Query, _headers: Headers) -> Page:
        return index_page(fleet_document(self._fleet, await self.counts.sums()))

    async def _fleet_page(self, _query: Query, headers: Headers) -> Page:
        document = fleet_document(self._fleet, await self.counts.sums())
        return json_page(document, headers)

    def _readiness(self) -> Page:
        if self._ready():
            return plain(200, "ready")
        return plain(503, "the targets are not known yet")
