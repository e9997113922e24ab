"""Requests to one hub: documents, acknowledgements, and the response of a stream."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from urllib.parse import quote, urlencode

import aiohttp
from yarl import URL

from accelwatch.backoff import retry_after
from accelwatch.errors import ConfigError
from accelwatch.fleet.follow.access import Access, Ticket
from accelwatch.fleet.follow.body import read_body
from accelwatch.fleet.follow.faults import Reason, TargetFault
from accelwatch.fleet.follow.resolver import Resolver
from accelwatch.fleet.follow.session import faults, open_session
from accelwatch.fleet.hub_client.place import HubPlace

TIMEOUT_S = 5.0
_MAX_BODY = 256 << 20
_MAX_TOLD = 2000
"""Bytes of a refusal that are shown."""


class HubSession:
    """One HTTP session with a hub; made and used on the loop."""

    def __init__(self, place: HubPlace, timeout_s: float = TIMEOUT_S) -> None:
        """`timeout_s` is for connecting and for a whole document. Raises ConfigError."""
        self.place = place
        self.timeout_s = timeout_s
        self._access = Access(place.access)
        self._secure = place.base.startswith("https:")
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    async def close(self) -> None:
        """Close every connection; nothing is asked any more."""
        self._closed = True
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def document(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """The body of a page. Raises TargetFault."""
        return await self._whole("GET", path, query)

    async def post(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """The body of the answer to a POST without a body. Raises TargetFault."""
        return await self._whole("POST", path, query)

    async def change(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None
    ) -> bytes:
        """The body of the answer to a POST or DELETE; `body` is JSON. Raises TargetFault."""
        return await self._whole(method, path, query, body)

    async def _whole(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None = None
    ) -> bytes:
        headers = {"Accept-Encoding": "gzip"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            async with asyncio.timeout(self.timeout_s):
                async with self.open(method, path, query, headers, body) as response:
                    return await read_body(response, _MAX_BODY)
        except TimeoutError as error:
            raise TargetFault(Reason.TIMEOUT, "no whole answer in time") from error

    @contextlib.asynccontextmanager
    async def open(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer with code 200; the caller's own deadline applies. Raises TargetFault."""
        if self._closed:
            raise TargetFault(Reason.CLOSED, "nothing is asked any more")
        try:
            ticket = await self._access.ticket(secure=self._secure)
        except ConfigError as error:
            raise TargetFault(Reason.CREDENTIALS, str(error)) from error
        with faults(self.place.base.partition(":")[0]):
            async with self._request(method, path, query, headers, ticket, body=body) as response:
                await _check(response)
                yield response

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str],
        ticket: Ticket,
        *,
        body: bytes | None,
    ) -> "contextlib.AbstractAsyncContextManager[aiohttp.ClientResponse]":
        if self._session is None:
            self._session = open_session(self._connector())
        asked = f"?{urlencode(query)}" if query else ""
        secure = self._secure
        return self._session.request(
            method,
            URL(f"{self.place.base}{path}{asked}", encoded=True),
            headers={**headers, **ticket.headers},
            data=body,
            allow_redirects=False,
            ssl=ticket.tls if secure else True,
            server_hostname=ticket.server_name if secure else None,
        )

    def _connector(self) -> aiohttp.BaseConnector:
        if self.place.unix_socket is not None:
            return aiohttp.UnixConnector(self.place.unix_socket)
        return aiohttp.TCPConnector(ttl_dns_cache=30, resolver=Resolver())


def node_path(node: str, page: str = "") -> str:
    """The path of a node's page; a name may hold slashes and colons."""
    return f"/v1/nodes/{quote(node, safe='')}{page}"


async def _check(response: aiohttp.ClientResponse) -> None:
    """Raise TargetFault for any code but 200, with what the hub says about it."""
    code = response.status
    if code == 200:
        return
    reason_given = await _reason_given(response)
    if 300 <= code < 400:
        text = f"answered {code}; redirects are not followed"
        raise TargetFault(Reason.REDIRECT, text, code=code)
    if code in (401, 403):
        text = f"answered {code}: {reason_given or 'check the credentials'}"
        raise TargetFault(Reason.CREDENTIALS, text, code=code)
    wait = retry_after(response.headers.get("Retry-After"), time.time())
    reason = Reason.BUSY if code in (429, 503) else Reason.STATUS
    raise TargetFault(reason, reason_given or f"answered {code}", code=code, retry_after_s=wait)


async def _reason_given(response: aiohttp.ClientResponse) -> str:
    """The sentence of a refusal; nothing when it is no plain text."""
    if response.content_type != "text/plain" or "Content-Encoding" in response.headers:
        return ""
    head = await response.content.read(_MAX_TOLD)
    return head.decode("utf-8", "replace").strip()
