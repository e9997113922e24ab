"""The pages of one target, asked for one after the other and read within bounds."""

import asyncio
import re

from yarl import URL

from accelwatch.fleet.follow.access import Ticket
from accelwatch.fleet.follow.answer import Answer
from accelwatch.fleet.follow.body import read_body
from accelwatch.fleet.follow.faults import Reason, TargetFault
from accelwatch.fleet.follow.kept import KeptConnection, connect
from accelwatch.fleet.follow.session import USER_AGENT, Client, check_code
from accelwatch.fleet.target import Target

_ACCEPT = "text/plain;version=0.0.4;q=1,*/*;q=0.1"
_ZONE = re.compile(r"%[^\]]*")
"""Of an IPv6 address: it says which way to go, and the other side has no use for it."""


class Pages:
    """Over http on a connection of their own, over https by the session of the client."""

    def __init__(self, client: Client, target: Target) -> None:
        self._client = client
        self._target = target
        self._headers = {
            "Accept": _ACCEPT,
            "Accept-Encoding": "gzip",
            "X-Prometheus-Scrape-Timeout-Seconds": f"{client.scrape.timeout_s:g}",
        }
        self._connection: KeptConnection | None = None
        self._ticket: Ticket | None = None
        self._request = b""
        """What was sent with that ticket."""

    async def next(self) -> bytes:
        """The page as it is now, unpacked. Raises TargetFault."""
        if self._target.scheme != "http":
            return await self._by_session()
        ticket = await self._client.ticket(self._target)
        if ticket is not self._ticket:
            self._request, self._ticket = self._asking(ticket), ticket
        try:
            answer = await self._answer()
            check_code(answer.status, answer.headers.get("retry-after"))
            return answer.body()
        except TargetFault as fault:
            explained = self._client.explained(self._target, fault)
            if explained is fault:
                raise
            raise explained from fault

    def close(self) -> None:
        """Let go of the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _by_session(self) -> bytes:
        scrape = self._client.scrape
        url = self._target.metrics_url
        try:
            async with asyncio.timeout(scrape.timeout_s):
                async with self._client.get(self._target, url, self._headers) as response:
                    return await read_body(response, scrape.body_size_limit_bytes)
        except TimeoutError as error:
            raise TargetFault(Reason.TIMEOUT, "no whole answer in time") from error

    async def _answer(self) -> Answer:
        """The answer on the connection of before, or on a new one."""
        until = asyncio.get_running_loop().time() + self._client.scrape.timeout_s
        kept = self._connection
        if kept is not None and kept.is_open:
            try:
                return await self._on(kept, until)
            except TargetFault as fault:
                # Nobody can tell a connection that has just been closed from one that is kept.
                if fault.reason is not Reason.CLOSED:
                    raise
        try:
            async with asyncio.timeout_at(until):
                self._connection = await self._connected()
        except TimeoutError as error:
            raise TargetFault(Reason.TIMEOUT, "no answer in time") from error
        return await self._on(self._connection, until)

    async def _on(self, connection: KeptConnection, until: float) -> Answer:
        left_s = until - asyncio.get_running_loop().time()
        limit = self._client.scrape.body_size_limit_bytes
        return await connection.ask(self._request, limit, left_s)

    async def _connected(self) -> KeptConnection:
        self.close()
        host, _, port = self._target.address.rpartition(":")
        client = self._client
        return await connect(host.strip("[]"), int(port), client.resolver, client.buffer)

    def _asking(self, ticket: Ticket) -> bytes:
        try:
            path = URL(self._target.metrics_url).raw_path_qs
        except ValueError as error:
            text = f"cannot be asked: {type(error).__name__}"
            raise TargetFault(Reason.GARBAGE, text) from error
        headers = {
            "Host": _ZONE.sub("", self._target.address),
            **self._headers,
            **ticket.headers,
            "User-Agent": USER_AGENT,
        }
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()
