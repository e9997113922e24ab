"""Requests to one hub: documents, changes, and streams."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol
from urllib.parse import quote, urlencode

from accelwatch.base.errors import ConfigError
from accelwatch.fleet.follow.access import Access, Ticket
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.http.body import Body, BodyReader
from accelwatch.fleet.follow.http.connector import Connector
from accelwatch.fleet.follow.http.server import server_of
from accelwatch.fleet.hub_client.connection.transport import HubLink, HubRequest
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint

TIMEOUT_S = 5.0
_MAX_BODY = 256 << 20
# Connections that are kept for the next document.
_MOST_IDLE = 4
# Gives the answer that is coming so many seconds from now on.
Prolong = Callable[[float], None]
# Makes the reader of a stream, by its headers in lower case. Raises TargetFault if it is no stream.
OpenStream = Callable[[Mapping[str, str], Prolong], BodyReader]


class Requests(Protocol):
    """A hub, or several as one, as a command queries them."""

    # By whose name people know it.
    endpoint: HubEndpoint

    async def document(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """The body of a page. Raises TargetFault."""
        ...

    async def change(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None
    ) -> bytes:
        """The body of the answer to a POST or DELETE; `body` is JSON. Raises TargetFault."""
        ...


class HubSession:
    """One HTTP session with a hub; made and used on the loop."""

    def __init__(
        self,
        endpoint: HubEndpoint,
        timeout_s: float = TIMEOUT_S,
        *,
        body_size_limit_bytes: int = _MAX_BODY,
    ) -> None:
        """`timeout_s` is for connecting and for a whole document. Raises ConfigError."""
        self.endpoint = endpoint
        self._body_size_limit = body_size_limit_bytes
        self.timeout_s = timeout_s
        self._access = Access(endpoint.access)
        self._server = server_of(endpoint.base, endpoint.unix_socket)
        self._connector = Connector()
        self._idle: list[HubLink] = []
        self._busy: set[HubLink] = set()
        self._closed = False

    async def close(self) -> None:
        """Close every connection; the session is closed."""
        self._closed = True
        for link in (*self._idle, *self._busy):
            link.close()
        self._idle.clear()
        self._busy.clear()

    async def document(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """The body of a page. Raises TargetFault."""
        return await self._read_document("GET", path, query)

    async def post(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """The body of the answer to a POST without a body. Raises TargetFault."""
        return await self._read_document("POST", path, query)

    async def change(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None
    ) -> bytes:
        """The body of the answer to a POST or DELETE; `body` is JSON. Raises TargetFault."""
        return await self._read_document(method, path, query, body)

    async def stream(
        self,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        open_stream: OpenStream,
    ) -> None:
        """Read a stream until it ends. Raises TargetFault, and what its reader raises.

        It begins within the session's timeout, and only its reader prolongs that.
        """
        hub_request = self._build_request("GET", path, query, headers)
        with self._link(again=False) as link:
            await link.request(
                *(hub_request, await self._ticket()),
                lambda answered: open_stream(answered, link.prolong),
                self.timeout_s,
            )

    async def _read_document(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None = None
    ) -> bytes:
        headers = {"Accept-Encoding": "gzip"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        hub_request = self._build_request(method, path, query, headers, body)
        try:
            async with asyncio.timeout(self.timeout_s):
                # Of a connection that has just been closed it is unknown whether a change was read.
                with self._link(again=method == "GET") as link:
                    return await link.request(
                        hub_request, await self._ticket(), self._open_body, self.timeout_s
                    )
        except TimeoutError as error:
            raise TargetFault(Reason.TIMEOUT, "no complete answer in time") from error

    def _build_request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> HubRequest:
        url = f"{self.endpoint.base}{path}" + (f"?{urlencode(query)}" if query else "")
        return HubRequest(method=method, url=url, headers={"Accept": "*/*", **headers}, body=body)

    @contextlib.contextmanager
    def _link(self, *, again: bool) -> Iterator[HubLink]:
        """A link of one's own; `again` for one that others have used, and will."""
        if self._closed:
            raise TargetFault(Reason.CLOSED, "the session is closed")
        spare = self._idle if again else []
        link = spare.pop() if spare else HubLink(self._connector, self._server)
        self._busy.add(link)
        try:
            yield link
        finally:
            keep = again and link in self._busy and len(self._idle) < _MOST_IDLE
            self._busy.discard(link)
            if keep:
                self._idle.append(link)
            else:
                link.close()

    def _open_body(self, headers: Mapping[str, str]) -> Body:
        return Body(headers.get("content-encoding"), self._body_size_limit)

    async def _ticket(self) -> Ticket:
        try:
            return await self._access.ticket(secure=self._server.secure)
        except ConfigError as error:
            raise TargetFault(Reason.CREDENTIALS, str(error)) from error


def node_path(node: str, page: str = "") -> str:
    """The path of a node's page; a name may hold slashes and colons."""
    return f"/v1/nodes/{quote(node, safe='')}{page}"
