"""What requests to targets share: credentials, the names of hosts, and a session for those over TLS."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from accelwatch.base.errors import ConfigError
from accelwatch.fleet.follow.access import Ticket, Tickets
from accelwatch.fleet.follow.failures.failure_log import FailureLog
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.first_request import FirstRequest
from accelwatch.fleet.follow.http.resolver import Resolver
from accelwatch.fleet.follow.turn import Turn
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.target import Target

if TYPE_CHECKING:
    import aiohttp

_READ_BUFFER = 64 << 10


class Client:
    """Asks all targets; who reads them over plain http has connections of his own."""

    def __init__(
        self, scrape: Scrape, access: Tickets, hello: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """`hello` are headers by which a hub says what it is to those whose streams it asks for."""
        self.scrape = scrape
        self.hello = hello
        # Of who reads a long page on a thread.
        self.reading = Turn()
        self.resolver = Resolver()
        self.first_request = FirstRequest()
        self.failures = FailureLog()
        # Of the addresses that answered last, by name: `kept.connect`.
        self.families: dict[str, int] = {}
        # What connections that are kept for polls read into, one after the other.
        self.buffer = memoryview(bytearray(_READ_BUFFER))
        self._access = access
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def ticket(self, target: Target) -> Ticket:
        """What a request to the target carries now. Raises TargetFault."""
        try:
            return await self._access.ticket(target)
        except ConfigError as error:
            raise TargetFault(Reason.CREDENTIALS, str(error)) from error

    def explained(self, target: Target, fault: TargetFault) -> TargetFault:
        """The fault of a request, with why the target was shown nothing; its files are read again."""
        # A rotated token or certificate shows up as a refusal before its file is checked again.
        if fault.reason in (Reason.CREDENTIALS, Reason.TLS):
            self._access.doubt(target)
        if fault.reason is Reason.CREDENTIALS and (hint := self._access.hint(target)):
            return TargetFault(fault.reason, f"{fault}{hint}", code=fault.code)
        return fault

    @contextlib.asynccontextmanager
    async def get(
        self, target: Target, url: str, headers: dict[str, str]
    ) -> "AsyncIterator[aiohttp.ClientResponse]":
        """The answer to GET with code 200; the caller's own deadline applies. Raises TargetFault."""
        from accelwatch.fleet.follow.http.by_aiohttp import check_status, faults, open_session

        ticket = await self.ticket(target)
        if self._session is None:
            self._session = open_session(self.resolver)
        try:
            with faults(target.scheme):
                async with _request(self._session, target, url, headers, ticket) as response:
                    check_status(response)
                    yield response
        except TargetFault as fault:
            explained = self.explained(target, fault)
            if explained is fault:
                raise
            raise explained from fault


def _request(
    session: "aiohttp.ClientSession",
    target: Target,
    url: str,
    headers: dict[str, str],
    ticket: Ticket,
) -> "contextlib.AbstractAsyncContextManager[aiohttp.ClientResponse]":
    secure = target.scheme == "https"
    return session.get(
        url,
        headers={**headers, **ticket.headers},
        # A redirect would carry the credentials to another server.
        allow_redirects=False,
        ssl=ticket.tls if secure else True,
        server_hostname=ticket.server_name if secure else None,
    )
