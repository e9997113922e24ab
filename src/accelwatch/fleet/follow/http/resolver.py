"""Names to addresses, on threads of their own.

A look-up that hangs, hangs for up to minutes and cannot be ended. On the threads that everything else
uses, a few dozen of them would keep the inventory from being written and the process from ending.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Any, TypedDict

from accelwatch.fleet.follow.http.lookup_threads import LookupThreads

# At one time; others wait for their turn, and their own deadlines apply.
MAX_LOOKUPS = 256

Addresses = list[tuple[Any, ...]]
# Arguments and results of socket.getaddrinfo. Raises OSError.
AddressQuery = Callable[..., Addresses]


def name_of(host: str) -> str | bytes:
    """A name as socket.getaddrinfo uses it as it is; text makes it load the rules of all alphabets."""
    return host.encode() if host.isascii() else host


def _query_addresses(host: str, *arguments: int) -> Addresses:
    return [*socket.getaddrinfo(name_of(host), *arguments)]


class Address(TypedDict):
    """One address of a name, as aiohttp wants it."""

    hostname: str
    host: str
    port: int
    family: int
    proto: int
    flags: int


class Resolver:
    """The system's resolver; simultaneous look-ups of a name share one."""

    def __init__(self, query_addresses: AddressQuery = _query_addresses) -> None:
        self._query_addresses = query_addresses
        # getaddrinfo blocks a thread for as long as a name server is silent. The bound keeps a dead
        # name server from starting a thread for each target.
        self._room = asyncio.Semaphore(MAX_LOOKUPS)
        self._threads = LookupThreads()
        self._pending: dict[tuple[str, socket.AddressFamily], asyncio.Task[Addresses]] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[Address]:
        """The addresses of a name. Raises OSError."""
        lookup = self._pending.get((host, family))
        if lookup is None:
            lookup = asyncio.get_running_loop().create_task(self._lookup(host, family))
            self._pending[host, family] = lookup
            lookup.add_done_callback(lambda done: self._over(host, family, done))
        # One of those who wait may give up.
        return [_result(host, port, *entry) for entry in await asyncio.shield(lookup)]

    def _over(
        self, host: str, family: socket.AddressFamily, lookup: "asyncio.Task[Addresses]"
    ) -> None:
        del self._pending[host, family]
        if not lookup.cancelled():
            lookup.exception()  # perhaps nobody waits for it any more

    async def _lookup(self, host: str, family: socket.AddressFamily) -> Addresses:
        async with self._room:
            answer: asyncio.Future[Addresses] = asyncio.get_running_loop().create_future()
            self._threads.run(lambda: self._run(answer, host, family))
            return await answer

    def _run(
        self, answer: "asyncio.Future[Addresses]", host: str, family: socket.AddressFamily
    ) -> None:
        outcome: Addresses | OSError | UnicodeError
        try:
            outcome = self._query_addresses(
                host, 0, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG
            )
        except (OSError, UnicodeError) as error:
            outcome = error
        try:
            answer.get_loop().call_soon_threadsafe(_give, answer, outcome)
        except RuntimeError:
            return  # the loop has ended meanwhile


def _give(answer: "asyncio.Future[Addresses]", outcome: Addresses | OSError | UnicodeError) -> None:
    if answer.done():
        return
    if isinstance(outcome, list):
        answer.set_result(outcome)
    else:
        answer.set_exception(outcome)


def _result(
    host: str, port: int, family: int, _kind: int, proto: int, _name: str, address: tuple[Any, ...]
) -> Address:
    shown = str(address[0])
    if family == socket.AF_INET6 and len(address) > 3 and address[3]:
        shown = f"{shown.partition('%')[0]}%{address[3]}"
    return Address(hostname=host, host=shown, port=port, family=family, proto=proto, flags=_NUMERIC)


_NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
