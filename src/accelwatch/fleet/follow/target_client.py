"""Requests to one target, one after the other, on a connection of its own that is kept."""

import asyncio
from collections.abc import Mapping
from typing import Protocol

from accelwatch.fleet.follow.access import Ticket
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.follow.failures.texts import USER_AGENT, check_code
from accelwatch.fleet.follow.http.body import OpenBody
from accelwatch.fleet.follow.http.link import Link
from accelwatch.fleet.follow.http.request import Request, path_of
from accelwatch.fleet.follow.http.server import server_of
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.target import Target

_OK = 200
# Requests that are kept. A target has a stream and a page; of an API server's lists and watches each has
# a URL of its own, and none is sent twice.
_MOST_REQUESTS = 8


class TargetClient(Protocol):
    """Requests one page or stream at a time from one target."""

    async def get(
        self, url: str, headers: Mapping[str, str], open_body: OpenBody, timeout_s: float
    ) -> bytes:
        """What is kept of the body, once all of it has come. Raises TargetFault."""
        ...

    def prolong(self, timeout_s: float) -> None:
        """Give the answer that is coming so long from now on."""
        ...

    def close(self) -> None:
        """Let go of the connection, if there is one."""
        ...


def target_client(client: Client, target: Target) -> TargetClient:
    """On a connection of its own."""
    return HttpClient(client, target)


class HttpClient:
    """On one connection, which is reopened when the target has closed it."""

    def __init__(self, client: Client, target: Target) -> None:
        self._client = client
        self._target = target
        # The port may be that of the scheme.
        self._server = server_of(f"{target.scheme}://{target.address}")
        self._link = Link(client.connector, self._server)
        self._ticket: Ticket | None = None
        # The requests with that ticket, by URL and headers.
        self._requests: dict[str, Request] = {}

    async def get(
        self, url: str, headers: Mapping[str, str], open_body: OpenBody, timeout_s: float
    ) -> bytes:
        """What is kept of the body, once all of it has come. Raises TargetFault."""
        ticket = await self._client.ticket(self._target)
        if ticket is not self._ticket:
            self._requests, self._ticket = {}, ticket
        request = self._requests.get(url)
        if request is None:
            if len(self._requests) == _MOST_REQUESTS:
                self._requests.clear()
            request = self._requests[url] = self._request(url, headers, ticket)
        until = asyncio.get_running_loop().time() + timeout_s
        try:
            answer = await self._link.fetch(
                request,
                ticket,
                lambda code, answered: open_body(answered) if code == _OK else None,
                until,
            )
            # No redirect is followed: it would carry the credentials to another server.
            check_code(answer.status, answer.headers.get("retry-after"))
            return answer.body()
        except TargetFault as fault:
            explained = self._client.explained(self._target, fault)
            if explained is fault:
                raise
            raise explained from fault

    def prolong(self, timeout_s: float) -> None:
        """Give the answer that is coming so long from now on."""
        self._link.prolong(timeout_s)

    def close(self) -> None:
        """Let go of the connection, if there is one."""
        self._link.close()

    def _request(self, url: str, requested: Mapping[str, str], ticket: Ticket) -> Request:
        headers = {**requested, **ticket.headers, "User-Agent": USER_AGENT}
        return Request("GET", path_of(url), self._server.authority, headers)
