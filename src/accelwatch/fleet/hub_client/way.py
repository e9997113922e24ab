"""How a hub is asked over plain HTTP or a socket: on several links, each for one request at a time."""

import asyncio
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from accelwatch.fleet.follow.access import Ticket
from accelwatch.fleet.follow.body import OpenBody
from accelwatch.fleet.follow.failures import USER_AGENT, os_text
from accelwatch.fleet.follow.faults import Reason, TargetFault
from accelwatch.fleet.follow.kept import KeptConnection, connect
from accelwatch.fleet.follow.link import Link
from accelwatch.fleet.follow.request import path_of, request
from accelwatch.fleet.follow.resolver import Resolver
from accelwatch.fleet.hub_client.place import HubPlace
from accelwatch.fleet.hub_client.refusal import MOST_TOLD, refusal

_OK = 200
_READ_BUFFER = 64 << 10


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request, but for the credentials."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None


class HubLink(Protocol):
    """Answers of a hub, one after the other."""

    async def ask(
        self, asked: Asked, ticket: Ticket, open_body: OpenBody, timeout_s: float
    ) -> bytes:
        """What is kept of the body, once all of it has come. Raises TargetFault."""
        ...

    def prolong(self, timeout_s: float) -> None:
        """Give the answer that is coming so long from now on."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


class Way(Protocol):
    """To one hub."""

    def link(self) -> HubLink:
        """Another link."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


class PlainWay:
    """Over http, or to a Unix socket."""

    def __init__(self, place: HubPlace) -> None:
        self.place = place
        self.resolver = Resolver()
        self.buffer = memoryview(bytearray(_READ_BUFFER))
        """What all links read into, one after the other."""
        self.families: dict[str, int] = {}
        """Of which family the address was that answered last, by name."""

    def link(self) -> "PlainLink":
        """Another link."""
        return PlainLink(self)

    async def close(self) -> None:
        """Nothing: a connection is its link's."""


class PlainLink:
    """On one connection, which is made anew when the hub has closed it."""

    def __init__(self, way: PlainWay) -> None:
        self._way = way
        self._link = Link(self._connected)

    async def ask(
        self, asked: Asked, ticket: Ticket, open_body: OpenBody, timeout_s: float
    ) -> bytes:
        """What is kept of the body, once all of it has come. Raises TargetFault."""
        until = asyncio.get_running_loop().time() + timeout_s
        answer = await self._link.ask(self._request(asked, ticket), open_body, until, MOST_TOLD)
        if answer.status != _OK:
            raise refusal(answer.status, answer.headers, answer.body())
        return answer.body()

    def prolong(self, timeout_s: float) -> None:
        """Give the answer that is coming so long from now on."""
        self._link.prolong(timeout_s)

    def close(self) -> None:
        """Let go of the connection, if there is one."""
        self._link.close()

    def _request(self, asked: Asked, ticket: Ticket) -> bytes:
        headers = {**asked.headers, **ticket.headers, "User-Agent": USER_AGENT}
        try:
            authority = urlsplit(asked.url).netloc
            if not authority.isascii():
                authority = authority.encode("idna").decode()
            return request(asked.method, path_of(asked.url), authority, headers, asked.body)
        except ValueError as error:
            text = f"request failed: {type(error).__name__}"
            raise TargetFault(Reason.GARBAGE, text) from error

    async def _connected(self) -> KeptConnection:
        way = self._way
        if way.place.unix_socket is not None:
            return await _to_socket(way.place.unix_socket, way.buffer)
        parts = urlsplit(way.place.base)
        assert parts.hostname is not None  # as `hub_place` has seen to
        assert parts.port is not None
        host = parts.hostname
        if ":" in host:
            host = host.replace("%25", "%", 1)  # a zone as URLs write it (RFC 6874)
        return await connect(host, parts.port, way.resolver, way.buffer, way.families)


async def _to_socket(path: str, buffer: memoryview) -> KeptConnection:
    loop = asyncio.get_running_loop()
    try:
        _, connection = await loop.create_unix_connection(lambda: KeptConnection(buffer), path)
    except OSError as error:
        raise TargetFault(Reason.CONNECT, f"cannot connect: {os_text(error)}") from error
    return connection
