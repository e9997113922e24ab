"""The server of the agent: its pages and its stream over the HTTP server.

A request only ever looks at the store; nothing here waits for a device.
"""

import socket
from collections.abc import Callable, Iterable, Sequence

from accelwatch.agent.feed import Feed
from accelwatch.agent.own_metrics import OwnMetrics
from accelwatch.agent.routes import Pages
from accelwatch.agent.scrape import Scrape
from accelwatch.agent.stream import Pulse, send_stream
from accelwatch.clock import Clock
from accelwatch.exporter import Exporter
from accelwatch.web.http_server import HttpServer, ServerLimits
from accelwatch.web.page import Query, ask_again
from accelwatch.web.stream import OFFERED, PACKED, Outlet
from accelwatch.web.web_config import Protection

__all__ = ["AgentServer", "ServerLimits"]

SCRAPE = "/metrics"


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
        interval_s: float = 1.0,
        limits: ServerLimits | None = None,
        protection: Protection | None = None,
    ) -> None:
        self.pulse = Pulse(feed, interval_s)

        def answered(path: str, code: int, seconds: float) -> None:
            if path == SCRAPE:
                own.scraped(code, seconds)

        self._server = HttpServer(
            Pages(feed, scrape, own, document=document, ready=ready, workloads=workloads),
            AgentStreams(feed, self.pulse, clock),
            clock,
            answered=answered,
            limits=limits,
            protection=protection,
        )

    @property
    def protection(self) -> Protection:
        """What is asked of clients; may be exchanged at any time."""
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

    def __init__(self, feed: Feed, pulse: Pulse, clock: Clock) -> None:
        self._feed = feed
        self._pulse = pulse
        self._clock = clock

    async def run(self) -> None:
        """Keep time for the streams until cancelled."""
        await self._pulse.run()

    def end(self) -> None:
        """Nothing will follow: streams end."""
        self._pulse.end()

    def check(self, query: Query) -> None:
        """Raise UsageError for any parameter: there is none."""
        ask_again(query, ())

    async def send(self, media: str, outlet: Outlet, _query: Query, stall_s: float) -> None:
        """Send the present state, then tick by tick until the pulse ends. Raises Stalled."""
        await send_stream(
            self._feed, self._pulse, media, outlet, clock=self._clock, stall_s=stall_s
        )
