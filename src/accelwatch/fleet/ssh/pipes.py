"""What comes out of an ssh: answers on its standard output, complaints on its standard error."""

import asyncio
from collections.abc import Callable

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault

_TAIL = slice(-4096, None)


class Output(asyncio.Protocol):
    """Standard output of ssh: bytes up to what an answer ends with, within a bound."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.closed = False
        self._until = b""
        self._limit = 0
        self._searched = 0
        self._waiting: asyncio.Future[bytes] | None = None
        self._receive: Callable[[bytes], None] | None = None

    def expect(self, until: bytes, limit_bytes: int) -> "asyncio.Future[bytes]":
        """The bytes up to and with `until`; raises TargetFault when there are too many."""
        self._until, self._limit, self._searched = until, limit_bytes, 0
        self._waiting = asyncio.get_running_loop().create_future()
        self._search()
        return self._waiting

    def divert(self, receive: Callable[[bytes], None]) -> "asyncio.Future[bytes]":
        """Hand over all that comes from now on; raises what `receive` does, and EOFError at the end."""
        remaining, self.data = bytes(self.data), bytearray()
        self._receive = receive
        self._waiting = asyncio.get_running_loop().create_future()
        self._hand_over(remaining)
        if self.closed and not self._waiting.done():
            self._waiting.set_exception(EOFError())
        return self._waiting

    def forget(self) -> None:
        """Nobody waits any more."""
        if self._waiting is not None:
            self._waiting.cancel()

    def data_received(self, data: bytes) -> None:
        """More of it. What nobody waits for is kept within the same bound, then not at all."""
        if self._receive is not None:
            self._hand_over(data)
            return
        if len(self.data) <= self._limit:
            self.data += data
        self._search()

    def _hand_over(self, data: bytes) -> None:
        waiting = self._waiting
        if self._receive is None or waiting is None or waiting.done():
            return
        try:
            self._receive(data)
        except TargetFault as fault:
            waiting.set_exception(fault)

    def connection_lost(self, _error: Exception | None) -> None:
        """No more will come."""
        self.closed = True
        self._search()

    def _search(self) -> None:
        waiting = self._waiting
        if waiting is None or waiting.done():
            return
        at = self.data.find(self._until, max(0, self._searched - len(self._until)))
        if at >= 0:
            end = at + len(self._until)
            body = bytes(self.data[:end])
            del self.data[:end]
            waiting.set_result(body)
        elif len(self.data) > self._limit:
            text = f"it prints more than {self._limit} bytes where an answer is expected"
            waiting.set_exception(TargetFault(Reason.TOO_LARGE, text))
        elif self.closed:
            waiting.set_exception(EOFError())
        self._searched = len(self.data)


class StderrTail(asyncio.Protocol):
    """Standard error of ssh, the end of it."""

    def __init__(self) -> None:
        self.data = b""

    def data_received(self, data: bytes) -> None:
        """More of it."""
        self.data = (self.data + data)[_TAIL]
