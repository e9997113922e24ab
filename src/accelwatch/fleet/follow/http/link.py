"""Answers of one server over plain HTTP, one after the other, on a connection that is kept."""

import asyncio
from collections.abc import Awaitable, Callable

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.http.answer import Answer
from accelwatch.fleet.follow.http.body import OpenBody
from accelwatch.fleet.follow.http.kept import KeptConnection


class Link:
    """One connection, made anew when the other side has closed it."""

    def __init__(self, connect: Callable[[], Awaitable[KeptConnection]]) -> None:
        """`connect` raises TargetFault."""
        self._connect = connect
        self._kept: KeptConnection | None = None

    async def fetch(
        self, request: bytes, open_body: OpenBody, until: float, refusal_bytes: int = 0
    ) -> Answer:
        """The answer on the connection of before, or on a new one. Raises TargetFault.

        `until` is a time of the loop; so many bytes are waited for of what a refusal tells.
        """
        kept = self._kept
        if kept is not None and kept.is_open:
            try:
                return await kept.fetch(request, open_body, until, refusal_bytes)
            except TargetFault as fault:
                # Nobody can tell a connection that has just been closed from one that is kept.
                if fault.reason is not Reason.CLOSED or self._kept is not kept:
                    raise  # for another reason, or because we have let go of it
        self.close()
        try:
            async with asyncio.timeout_at(until):
                kept = self._kept = await self._connect()
        except TimeoutError as error:
            raise TargetFault(Reason.TIMEOUT, "no answer in time") from error
        return await kept.fetch(request, open_body, until, refusal_bytes)

    def prolong(self, timeout_s: float) -> None:
        """Give the answer that is coming so long from now on."""
        if self._kept is not None:
            self._kept.prolong(asyncio.get_running_loop().time() + timeout_s)

    def close(self) -> None:
        """Let go of the connection, if there is one."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None
