"""How a hub is asked over TLS: by aiohttp, which is loaded for that only."""

import asyncio
import contextlib

import aiohttp
from yarl import URL

from accelwatch.fleet.follow.access import Ticket
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.http.body import OpenBody, fed
from accelwatch.fleet.follow.http.by_aiohttp import faults, open_session
from accelwatch.fleet.follow.http.resolver import Resolver
from accelwatch.fleet.hub_client.connection.refusal import MOST_REFUSAL_BYTES, refusal
from accelwatch.fleet.hub_client.connection.transport import HubRequest

_OK = 200


class SecureTransport:
    """Over https, by one session."""

    def __init__(self) -> None:
        self.session = open_session(Resolver())

    def link(self) -> "SecureLink":
        """Another link."""
        return SecureLink(self.session)

    async def close(self) -> None:
        """Close every connection."""
        await self.session.close()


class SecureLink:
    """On some connection of the session."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._deadline: asyncio.Timeout | None = None

    async def request(
        self, hub_request: HubRequest, ticket: Ticket, open_body: OpenBody, timeout_s: float
    ) -> bytes:
        """What is kept of the body, once all of it has come. Raises TargetFault."""
        try:
            async with asyncio.timeout(timeout_s) as self._deadline:
                with faults("https"):
                    async with self._request(hub_request, ticket) as response:
                        if response.status != _OK:
                            text = await _refusal_text(response)
                            raise refusal(response.status, response.headers, text)
                        return await fed(response, open_body(response.headers))
        except TimeoutError as error:
            raise TargetFault(Reason.TIMEOUT, "no complete answer in time") from error

    def prolong(self, timeout_s: float) -> None:
        """Give the answer that is coming so long from now on."""
        if self._deadline is not None:
            self._deadline.reschedule(asyncio.get_running_loop().time() + timeout_s)

    def close(self) -> None:
        """Nothing: the connections are the session's."""

    def _request(
        self, hub_request: HubRequest, ticket: Ticket
    ) -> "contextlib.AbstractAsyncContextManager[aiohttp.ClientResponse]":
        return self._session.request(
            hub_request.method,
            URL(hub_request.url, encoded=True),
            headers={**hub_request.headers, **ticket.headers},
            data=hub_request.body,
            allow_redirects=False,
            ssl=ticket.tls,
            server_hostname=ticket.server_name,
        )


async def _refusal_text(response: aiohttp.ClientResponse) -> bytes:
    """The beginning of a refusal; nothing when it is no plain text."""
    if response.content_type != "text/plain" or "Content-Encoding" in response.headers:
        return b""
    return await response.content.read(MOST_REFUSAL_BYTES)
