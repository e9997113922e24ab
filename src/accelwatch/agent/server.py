"""The server of the agent: its pages and its stream over the HTTP server.

A request only reads the store; nothing here waits for a device.
"""

import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

from accelwatch.agent.documents import SNAPSHOT_PARAMETERS, capabilities_page, snapshot_page
from accelwatch.agent.feed import Feed
from accelwatch.agent.hub_presence import HubPresence
from accelwatch.agent.metrics.own_metrics import OwnMetrics
from accelwatch.agent.metrics.scrape import SCRAPE_PARAMETERS, Scrape
from accelwatch.agent.stream import Pulse, send_stream
from accelwatch.alerting.evaluation.paths import is_about_rules
from accelwatch.base.clock import Clock
from accelwatch.base.errors import UnmetError
from accelwatch.exposition.exporter import Exporter
from accelwatch.web.http.http_server import HttpServer
from accelwatch.web.http.sources import ServerLimits
from accelwatch.web.http.stream import OFFERED, PACKED, STREAM, Outlet
from accelwatch.web.pages.index import index_page
from accelwatch.web.pages.page import Change, Headers, Page, Query, check_parameters, plain
from accelwatch.web.pages.routes import Route, RouteTable
from accelwatch.web.pages.usage_page import usage_route
from accelwatch.web.protection.web_config import Protection

__all__ = ["AgentServer", "ServerLimits"]

SCRAPE = "/metrics"
_ANY = ("GET", "HEAD", "POST", "DELETE")
_NO_RULES = "no rules are configured here: rules.packs, rules.files"


class Pages:
    """Pages by path."""

    def __init__(
        self,
        feed: Feed,
        scrape: Scrape,
        own: OwnMetrics,
        *,
        document: Exporter,
        ready: Callable[[], bool],
        workloads: Callable[[], Sequence[object]],
        rules: Callable[[], RouteTable | None],
        may_change: Callable[[], bool],
        usage: Callable[[Query, Headers], Page] | None,
    ) -> None:
        """`rules` gives the pages about rules, None while there are no rules."""
        self._may_change = may_change
        self._feed = feed
        self._scrape = scrape
        self._own = own
        self._document = document
        self._ready = ready
        self._workloads = workloads
        self._usage = usage
        self._rules = rules
        self._table = RouteTable(self._routes())

    def _routes(self) -> Iterator[Route]:
        yield Route("GET", "/", "Links to the others", self._index)
        yield Route("GET", SCRAPE, "Exposition", self._metrics, parameters=SCRAPE_PARAMETERS)
        yield Route(
            "GET",
            "/v1/snapshot",
            "Everything as one document",
            lambda query, _: snapshot_page(self._feed, self._document, query),
            parameters=SNAPSHOT_PARAMETERS,
        )
        yield Route("GET", "/capabilities", "What each backend reads", self._capabilities)
        yield Route("GET", STREAM, "A tick after each cycle", lambda _query, _: plain(200, ""))
        yield Route(
            "GET", "/-/healthy", "Whether the agent lives", lambda _query, _: plain(200, "healthy")
        )
        yield Route("GET", "/-/ready", "Whether the first readings are complete", self._readiness)
        if self._usage is not None:
            yield usage_route(self._usage)

    def methods(self, path: str) -> tuple[str, ...]:
        """The methods that a path allows; empty when there is no such path."""
        table = self._table_of(path)
        return _ANY if table is None else table.methods(path)

    def page(self, path: str, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        """The page. Raises AccelwatchError for parameters that make no sense."""
        return self._required_table(path).page(path, query, headers)

    async def act(self, change: Change) -> Page:
        """Set or end silences, or close an incident, for those who may. Raises AccelwatchError."""
        return await self._required_table(change.path).act(change, self._may_change())

    def _table_of(self, path: str) -> RouteTable | None:
        """The table that a path is in; None for pages about rules while there are no rules."""
        return self._rules() if is_about_rules(path) else self._table

    def _required_table(self, path: str) -> RouteTable:
        table = self._table_of(path)
        if table is None:
            raise UnmetError(_NO_RULES)
        return table

    def _metrics(self, query: Query, headers: Headers) -> Page:
        accept, encoding = headers.get("Accept", ""), headers.get("Accept-Encoding", "")
        return self._scrape.page(query, accept, encoding)

    def _capabilities(self, _query: Query, _headers: Headers) -> Page:
        return capabilities_page(self._feed, self._own.reloads, self._workloads())

    def _readiness(self, _query: Query, _headers: Headers) -> Page:
        if self._ready():
            return plain(200, "ready")
        return plain(503, "the first readings are not complete")

    def _index(self, _query: Query, _headers: Headers) -> Page:
        return index_page(self._feed.snapshot())


class AgentServer:
    """One server over any number of listening sockets; the loop's thread only."""

    def __init__(
        self,
        feed: Feed,
        scrape: Scrape,
        own: OwnMetrics,
        clock: Clock,
        *,
        document: Exporter,
        ready: Callable[[], bool],
        workloads: Callable[[], Sequence[object]] = tuple,
        rules: Callable[[], RouteTable | None] = lambda: None,
        may_change: Callable[[], bool] = lambda: False,
        usage: Callable[[Query, Headers], Page] | None = None,
        presence: HubPresence | None = None,
        interval_s: float = 1.0,
        limits: ServerLimits | None = None,
        protection: Protection | None = None,
    ) -> None:
        """`rules` gives the pages about rules, None while there are no rules.

        `usage` gives the page of who uses the devices. `may_change` is whether those who can
        reach the agent may change something in it.
        """
        self.pulse = Pulse(feed, interval_s)
        # What is known of hubs that notify people of incidents.
        self.presence = presence or HubPresence(clock)

        def answered(path: str, code: int, seconds: float) -> None:
            if path == SCRAPE:
                own.scraped(code, seconds)

        self._server = HttpServer(
            Pages(
                feed,
                scrape,
                own,
                document=document,
                ready=ready,
                workloads=workloads,
                rules=rules,
                may_change=may_change,
                usage=usage,
            ),
            AgentStreams(feed, self.pulse, clock, self.presence),
            clock,
            answered=answered,
            limits=limits,
            protection=protection,
        )

    @property
    def protection(self) -> Protection:
        """What is required of clients; may be replaced at any time."""
        return self._server.protection

    @protection.setter
    def protection(self, protection: Protection) -> None:
        self._server.protection = protection

    @property
    def limits(self) -> ServerLimits:
        """The bounds in force."""
        return self._server.limits

    @property
    def connections(self) -> int:
        """Connections open now."""
        return self._server.connections

    @property
    def streams(self) -> int:
        """Streams open now."""
        return self._server.streams

    def set_limits(self, limits: ServerLimits) -> None:
        """Other bounds from now on."""
        self._server.set_limits(limits)

    def start(self, sockets: Iterable[socket.socket]) -> None:
        """Serve on listening sockets, which the server closes in the end."""
        self._server.start(sockets)

    async def stop(self, grace_s: float = 1.0) -> None:
        """Accept nothing more, let what is under way end within the grace, then abort the rest."""
        await self._server.stop(grace_s)


class AgentStreams:
    """The store as streams of the compact form."""

    offered = (*OFFERED, PACKED)

    def __init__(self, feed: Feed, pulse: Pulse, clock: Clock, presence: HubPresence) -> None:
        self._presence = presence
        self._feed = feed
        self._pulse = pulse
        self._clock = clock

    async def run(self) -> None:
        """Keep time for the streams until cancelled."""
        await self._pulse.run()

    def close(self) -> None:
        """Nothing will follow: streams end."""
        self._pulse.close()

    def check(self, query: Query) -> None:
        """Raise UsageError for any parameter: there is none."""
        check_parameters(query, ())

    async def send(self, media: str, outlet: Outlet, _query: Query, stall_s: float) -> None:
        """Send the present state, then tick by tick until the pulse ends. Raises Stalled."""
        with self._presence.stream(outlet.headers):
            await send_stream(
                self._feed, self._pulse, media, outlet, clock=self._clock, stall_s=stall_s
            )
