"""Answers of one server, one after the other, on a connection that is kept."""

import asyncio

from accelwatch.fleet.follow.access import Ticket
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.http.connector import Connector
from accelwatch.fleet.follow.http.exchange import Exchange, OpenAnswer
from accelwatch.fleet.follow.http.kept import KeptConnection
from accelwatch.fleet.follow.http.request import Request
from accelwatch.fleet.follow.http.server import Server


class Link:
    """One connection, reopened when the other side has closed it or the credentials have changed."""

    def __init__(self, connector: Connector, server: Server) -> None:
        self._connector = connector
        self._server = server
        self._kept: KeptConnection | None = None
        self._ticket: Ticket | None = None

    async def fetch(
        self, request: Request, ticket: Ticket, open_answer: OpenAnswer, until: float
    ) -> Exchange:
        """The answer on the connection of before, or on a new one. Raises TargetFault.

        `until` is a time of the loop.
        """
        kept = self._kept
        if kept is not None and kept.is_open and ticket is self._ticket:
            try:
                return await kept.fetch(request, open_answer, until)
            except TargetFault as fault:
                # A connection that has just been closed looks like one that is kept.
                if fault.reason is not Reason.CLOSED or self._kept is not kept:
                    raise  # for another reason, or because we have let go of it
        self.close()
        try:
            async with asyncio.timeout_at(until):
                kept = self._kept = await self._connector.connect(self._server, ticket)
        except TimeoutError as error:
            raise TargetFault(Reason.TIMEOUT, "no answer in time") from error
        self._ticket = ticket
        return await kept.fetch(request, open_answer, until)

    def prolong(self, timeout_s: float) -> None:
        """Give the answer that is coming so long from now on."""
        if self._kept is not None:
            self._kept.prolong(asyncio.get_running_loop().time() + timeout_s)

    def close(self) -> None:
        """Let go of the connection, if there is one."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None
