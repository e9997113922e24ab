"""What a server serves, pages and streams, and its bounds."""

from collections.abc import Awaitable
from typing import Protocol

import msgspec

from accelwatch.web.http.stream import Outlet
from accelwatch.web.pages.page import (
    Change,
    Headers,
    Page,
    Query,
)
from accelwatch.web.sockets.connections import Limits


class ServerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds on requests and streams; times in seconds."""

    requests: int = 40
    # A client that is slower to read its answer is dropped when there are too many requests.
    slow_s: float = 1.0
    streams: int = 32
    stall_s: float = 10.0
    connections: Limits = Limits()
    # Names in lower case, beyond this machine's own, that a Host header may have on loopback.
    allowed_hosts: frozenset[str] = frozenset()


class PageSource(Protocol):
    """Which path gives which page."""

    def methods(self, path: str) -> tuple[str, ...]:
        """The methods that a path allows; empty when there is no such path."""
        ...

    def page(self, path: str, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        """The page for GET and HEAD, at once or later.

        Raises AccelwatchError for parameters that make no sense.
        """
        ...

    async def act(self, change: Change) -> Page:
        """The answer to a request that changes something. Raises AccelwatchError."""
        ...


class StreamSource(Protocol):
    """What `/v1/stream` sends."""

    @property
    def offered(self) -> tuple[str, ...]:
        """Its media types, that of a client that does not say first."""
        ...

    async def run(self) -> None:
        """Keep time for the streams until cancelled."""
        ...

    def close(self) -> None:
        """Nothing will follow: streams end."""
        ...

    def check(self, query: Query) -> None:
        """Raise AccelwatchError for parameters that make no sense."""
        ...

    async def send(self, media: str, outlet: Outlet, query: Query, stall_s: float) -> None:
        """Send one stream until it ends. Raises Stalled, ConnectionError, TimeoutError."""
        ...
