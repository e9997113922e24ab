"""Names to addresses, on threads of their own.

A look-up that hangs, hangs for up to minutes and cannot be ended. On the threads that everything else
uses, a few dozen of them would keep the inventory from being written and the process from ending.
"""

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

MAX_LOOKUPS = 256
"""At one time; others wait for their turn, and their own deadlines apply."""

Found = list[tuple[Any, ...]]
LookUp = Callable[..., Found]
"""Arguments and results of socket.getaddrinfo. Raises OSError."""


class Resolver(AbstractResolver):
    """The system's resolver for aiohttp; one daemon thread a look-up."""

    def __init__(self, look_up: LookUp = socket.getaddrinfo) -> None:
        self._look_up = look_up
        self._room = asyncio.Semaphore(MAX_LOOKUPS)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a name. Raises OSError."""
        async with self._room:
            answer: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
            arguments = (answer, host, port, family)
            threading.Thread(target=self._run, args=arguments, name="resolver", daemon=True).start()
            resolved = await answer
        return [_result(host, port, *entry) for entry in resolved]

    async def close(self) -> None:
        """Nothing is held."""

    def _run(
        self, answer: "asyncio.Future[Found]", host: str, port: int, family: socket.AddressFamily
    ) -> None:
        outcome: Found | OSError | UnicodeError
        try:
            outcome = self._look_up(host, port, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
        except (OSError, UnicodeError) as error:
            outcome = error
        try:
            answer.get_loop().call_soon_threadsafe(_give, answer, outcome)
        except RuntimeError:
            return  # the loop has ended meanwhile


def _give(answer: "asyncio.Future[Found]", outcome: Found | OSError | UnicodeError) -> None:
    if answer.done():
        return
    if isinstance(outcome, list):
        answer.set_result(outcome)
    else:
        answer.set_exception(outcome)


def _result(
    host: str, port: int, family: int, _kind: int, proto: int, _name: str, address: tuple[Any, ...]
) -> ResolveResult:
    shown = str(address[0])
    if family == socket.AF_INET6 and len(address) > 3 and address[3]:
        shown = f"{shown.partition('%')[0]}%{address[3]}"
    return ResolveResult(
        hostname=host, host=shown, port=port, family=family, proto=proto, flags=_NUMERIC
    )


_NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
