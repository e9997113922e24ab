"""A connection over plain HTTP/1.1 that is kept from one answer of a target to the next.

Polls and ticks are most of what a hub does, and a client that can do everything takes as long for one as
its numbers take to be read. This one asks for a page or a stream; TLS and everything else go by aiohttp.
"""

import asyncio
import math
import socket

import aiohappyeyeballs

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.failures.texts import SCHEME_HINTS, os_text
from accelwatch.fleet.follow.http.answer import Answer
from accelwatch.fleet.follow.http.body import OpenBody
from accelwatch.fleet.follow.http.resolver import Resolver, name_of

_NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
# RFC 8305, 5: the next address is tried beside the one before.
_OTHER_FAMILY_AFTER_S = 0.25


async def connect(
    host: str,
    port: int,
    resolver: Resolver,
    buffer: memoryview,
    families: dict[str, int],
) -> "KeptConnection":
    """A connection to a name or an address. Raises TargetFault; the caller's own deadline applies.

    `families` is by name of which family the address was that answered last, to try those first the
    next time (RFC 6555, 4.2): behind a name such as `localhost` are hundreds of targets.
    """
    addresses = await _addresses(host, port, resolver)
    if len(addresses) > 1:
        preferred = families.get(host)
        addresses.sort(key=lambda address: address[0] != preferred)
    try:
        sock = await aiohappyeyeballs.start_connection(
            addresses, happy_eyeballs_delay=_OTHER_FAMILY_AFTER_S, interleave=1
        )
        if len(addresses) > 1:
            families[host] = sock.family
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(lambda: KeptConnection(buffer), sock=sock)
    except OSError as error:
        raise TargetFault(Reason.CONNECT, f"cannot connect: {os_text(error)}") from error
    return connection


async def _addresses(
    host: str, port: int, resolver: Resolver
) -> "list[aiohappyeyeballs.AddrInfoType]":
    try:
        name = name_of(host)
        return [*socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=_NUMERIC)]
    except (OSError, UnicodeError):
        pass  # a name
    try:
        resolved = await resolver.resolve(host, port, socket.AF_UNSPEC)
        return [
            address
            for entry in resolved
            for address in socket.getaddrinfo(
                name_of(entry["host"]), port, type=socket.SOCK_STREAM, flags=_NUMERIC
            )
        ]
    except (OSError, UnicodeError) as error:
        raise TargetFault(Reason.DNS, f"the name does not resolve: {error}") from error


class KeptConnection(asyncio.BufferedProtocol):
    """One connection; one request at a time."""

    def __init__(self, buffer: memoryview) -> None:
        """`buffer` may be all connections' of a loop: what came is taken before the next one reads."""
        self._buffer = buffer
        self._transport: asyncio.Transport | None = None
        self._answer: Answer | None = None
        self._waiting: asyncio.Future[Answer] | None = None
        self._until = math.inf
        self._alarm: asyncio.TimerHandle | None = None
        # Whether another request may be sent.
        self.is_open = False

    async def fetch(
        self, request: bytes, open_body: OpenBody, until: float, refusal_bytes: int = 0
    ) -> Answer:
        """The complete answer; of one that is not 200 the head, and so much of what it tells.

        Raises TargetFault. `until` is a time of the loop. What `open_body` and the body raise is raised.
        """
        loop = asyncio.get_running_loop()
        if self._transport is None or not self.is_open:
            raise TargetFault(Reason.CLOSED, "the connection was closed")
        answer = self._answer = Answer(open_body, refusal_bytes)
        waiting = self._waiting = loop.create_future()
        self.is_open = False
        self._transport.write(request)
        self._until = until
        self._alarm = loop.call_at(until, self._late)
        try:
            await waiting
        finally:
            self._alarm.cancel()
            self._waiting = self._answer = None
            if not self.is_open:
                self.close()
        return answer

    def prolong(self, until: float) -> None:
        """Give the answer more time: it is one that goes on."""
        self._until = until

    def close(self) -> None:
        """Let go of the connection."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.is_open = True

    def get_buffer(self, _sizehint: int) -> memoryview:
        """Where the next bytes go."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes have come."""
        answer = self._answer
        if answer is None:  # nobody has asked
            self.close()
            return
        try:
            complete = answer.feed(bytes(self._buffer[:nbytes]))
        except Exception as error:  # noqa: BLE001 - whoever asked is told, whatever it is
            self._fail(error)
            return
        if complete:
            self._deliver(answer)

    def connection_lost(self, error: Exception | None) -> None:
        """The other side has ended it, or nothing reaches it any more."""
        self.is_open = False
        answer = self._answer
        if answer is None:
            return
        try:
            if isinstance(error, OSError) and not answer.status:
                raise TargetFault(Reason.CLOSED, f"the connection was closed: {os_text(error)}")
            if not answer.started:
                raise TargetFault(Reason.CLOSED, f"closed without an answer{SCHEME_HINTS['http']}")
            if error is not None:
                raise TargetFault(Reason.GARBAGE, "connection closed mid-response, or not HTTP")
            answer.finish()
        except TargetFault as fault:
            self._fail(fault)
        else:
            self._deliver(answer)

    def _deliver(self, answer: Answer) -> None:
        self._answer = None
        if self._waiting is not None and not self._waiting.done():
            self.is_open = answer.keeps
            self._waiting.set_result(answer)

    def _fail(self, error: Exception) -> None:
        self._answer = None
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)
        self.close()

    def _late(self) -> None:
        loop = asyncio.get_running_loop()
        # A stream gets more time with each tick; one timer for all of them is cheaper than one for each.
        if loop.time() < self._until:
            self._alarm = loop.call_at(self._until, self._late)
        else:
            self._fail(TargetFault(Reason.TIMEOUT, "no complete answer in time"))
