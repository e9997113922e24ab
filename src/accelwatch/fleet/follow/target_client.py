"""Requests to one target, one after the other: over http on a connection of its own that is kept."""

import asyncio
from collections.abc import Mapping
from typing import Protocol

from accelwatch.fleet.follow.access import Ticket
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.failures.texts import USER_AGENT, check_code
from accelwatch.fleet.follow.http.body import OpenBody, fed
from accelwatch.fleet.follow.http.kept import KeptConnection, connect
from accelwatch.fleet.follow.http.link import Link
from accelwatch.fleet.follow.http.request import path_of, request
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.target import Target


class TargetClient(Protocol):
    """Asks one target for one page or stream at a time."""

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
    """Over http on a connection of its own, over https by the session of the client."""
    return PlainClient(client, target) if target.scheme == "http" else SessionClient(client, target)


class SessionClient:
    """By the session of the client, which keeps connections for all targets."""

    def __init__(self, client: Client, target: Target) -> None:
        self._client = client
        self._target = target
        self._deadline: asyncio.Timeout | None = None

    async def get(
        self, url: str, headers: Mapping[str, str], open_body: OpenBody, timeout_s: float
    ) -> bytes:
        """What is kept of the body, once all of it has come. Raises TargetFault."""
        try:
            async with asyncio.timeout(timeout_s) as self._deadline:
                async with self._client.get(self._target, url, dict(headers)) as response:
                    return await fed(response, open_body(response.headers))
        except TimeoutError as error:
            raise TargetFault(Reason.TIMEOUT, "no complete answer in time") from error

    def prolong(self, timeout_s: float) -> None:
        """Give the answer that is coming so long from now on."""
        if self._deadline is not None:
            self._deadline.reschedule(asyncio.get_running_loop().time() + timeout_s)

    def close(self) -> None:
        """Nothing: the connections are the session's."""


class PlainClient:
    """On one connection, which is made anew when the target has closed it."""

    def __init__(self, client: Client, target: Target) -> None:
        self._client = client
        self._target = target
        self._link = Link(self._connected)
        self._ticket: Ticket | None = None
        # What is sent with that ticket, by what is asked for.
        self._requests: dict[str, bytes] = {}

    async def get(
        self, url: str, headers: Mapping[str, str], open_body: OpenBody, timeout_s: float
    ) -> bytes:
        """What is kept of the body, once all of it has come. Raises TargetFault."""
        ticket = await self._client.ticket(self._target)
        if ticket is not self._ticket:
            self._requests, self._ticket = {}, ticket
        encoded = self._requests.get(url)
        if encoded is None:
            encoded = self._requests[url] = self._request(url, headers, ticket)
        until = asyncio.get_running_loop().time() + timeout_s
        try:
            answer = await self._link.fetch(encoded, open_body, until)
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

    async def _connected(self) -> KeptConnection:
        host, _, port = self._target.address.rpartition(":")
        client = self._client
        return await connect(
            host.strip("[]"), int(port), client.resolver, client.buffer, client.families
        )

    def _request(self, url: str, requested: Mapping[str, str], ticket: Ticket) -> bytes:
        headers = {**requested, **ticket.headers, "User-Agent": USER_AGENT}
        try:
            return request("GET", path_of(url), self._target.address, headers)
        except ValueError as error:
            text = f"request failed: {type(error).__name__}"
            raise TargetFault(Reason.GARBAGE, text) from error
