"""How a hub is asked over plain HTTP or a socket: on several links, each for one request at a time."""

import asyncio
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from accelwatch.fleet.follow.access import Ticket
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.failures.texts import USER_AGENT, os_text
from accelwatch.fleet.follow.http.body import OpenBody
from accelwatch.fleet.follow.http.kept import KeptConnection, connect
from accelwatch.fleet.follow.http.link import Link
from accelwatch.fleet.follow.http.request import path_of, request
from accelwatch.fleet.follow.http.resolver import Resolver
from accelwatch.fleet.hub_client.connection.endpoint import HubEndpoint
from accelwatch.fleet.hub_client.connection.refusal import MOST_REFUSAL_BYTES, refusal

_OK = 200
_READ_BUFFER = 64 << 10


class HubRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request, but for the credentials."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None


class HubLink(Protocol):
    """Answers of a hub, one after the other."""

    async def request(
        self, hub_request: HubRequest, ticket: Ticket, open_body: OpenBody, timeout_s: float
    ) -> bytes:
        """What is kept of the body, once all of it has come. Raises TargetFault."""
        ...

    def prolong(self, timeout_s: float) -> None:
        """Give the answer that is coming so long from now on."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


class HubTransport(Protocol):
    """To one hub."""

    def link(self) -> HubLink:
        """Another link."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


class PlainTransport:
    """Over http, or to a Unix socket."""

    def __init__(self, endpoint: HubEndpoint) -> None:
        self.endpoint = endpoint
        self.resolver = Resolver()
        # What all links read into, one after the other.
        self.buffer = memoryview(bytearray(_READ_BUFFER))
        # Of which family the address was that answered last, by name.
        self.families: dict[str, int] = {}

    def link(self) -> "PlainLink":
        """Another link."""
        return PlainLink(self)

    async def close(self) -> None:
        """Nothing: a connection is its link's."""


class PlainLink:
    """On one connection, which is made anew when the hub has closed it."""

    def __init__(self, transport: PlainTransport) -> None:
        self._transport = transport
        self._link = Link(self._connected)

    async def request(
        self, hub_request: HubRequest, ticket: Ticket, open_body: OpenBody, timeout_s: float
    ) -> bytes:
        """What is kept of the body, once all of it has come. Raises TargetFault."""
        until = asyncio.get_running_loop().time() + timeout_s
        answer = await self._link.fetch(
            self._request(hub_request, ticket), open_body, until, MOST_REFUSAL_BYTES
        )
        if answer.status != _OK:
            raise refusal(answer.status, answer.headers, answer.body())
        return answer.body()

    def prolong(self, timeout_s: float) -> None:
        """Give the answer that is coming so long from now on."""
        self._link.prolong(timeout_s)

    def close(self) -> None:
        """Let go of the connection, if there is one."""
        self._link.close()

    def _request(self, hub_request: HubRequest, ticket: Ticket) -> bytes:
        headers = {**hub_request.headers, **ticket.headers, "User-Agent": USER_AGENT}
        try:
            authority = urlsplit(hub_request.url).netloc
            if not authority.isascii():
                authority = authority.encode("idna").decode()
            return request(
                hub_request.method, path_of(hub_request.url), authority, headers, hub_request.body
            )
        except ValueError as error:
            text = f"request failed: {type(error).__name__}"
            raise TargetFault(Reason.GARBAGE, text) from error

    async def _connected(self) -> KeptConnection:
        transport = self._transport
        if transport.endpoint.unix_socket is not None:
            return await _to_socket(transport.endpoint.unix_socket, transport.buffer)
        components = urlsplit(transport.endpoint.base)
        assert components.hostname is not None  # as `hub_place` has seen to
        assert components.port is not None
        host = components.hostname
        if ":" in host:
            host = host.replace("%25", "%", 1)  # a zone as URLs write it (RFC 6874)
        return await connect(
            host, components.port, transport.resolver, transport.buffer, transport.families
        )


async def _to_socket(path: str, buffer: memoryview) -> KeptConnection:
    loop = asyncio.get_running_loop()
    try:
        _, connection = await loop.create_unix_connection(lambda: KeptConnection(buffer), path)
    except OSError as error:
        raise TargetFault(Reason.CONNECT, f"cannot connect: {os_text(error)}") from error
    return connection
