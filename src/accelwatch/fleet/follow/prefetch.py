"""The first pages of many targets, asked for by a process of their own.

Half of a large fleet's first round is asking, half is reading what has come. Where there is a second
processor both go on at once: a fork asks, and hands over through a socket what it is told. Who gives it
nothing, and who is left when it ends, is asked by the hub: the process may die at any moment.
"""

import asyncio
import contextlib
import os
import signal
import socket
import struct
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import NamedTuple

import msgspec

from accelwatch.fleet.follow.access import BoundAccess
from accelwatch.fleet.follow.faults import TargetFault
from accelwatch.fleet.follow.pages import Pages, Prefetched
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.follow.target_client import target_client
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.target import Target

LEAST = 100
"""Targets, fewer of which the hub has asked as soon as this process has begun to."""
_TOGETHER = 40
"""Targets that are asked at a time."""
_PATIENCE_S = 1.0
"""Whoever takes longer is asked by the hub, with all the time that is configured."""
_BUFFER = 1 << 20
"""Bytes of pages that may wait for the hub, about."""
_MAX_DESCRIPTOR = 65536
_LENGTH = struct.Struct("=Q")
"""Of the order, which follows."""
_HEAD = struct.Struct("=IdQ")
"""Number of the target, when it was asked, and bytes of its page, which follows; 0: it gave none."""


class _Order(msgspec.Struct, frozen=True, kw_only=True):
    scrape: Scrape
    targets: list[Target]


class Outcome(NamedTuple):
    """What became of one target."""

    target: Target
    page: Prefetched | None
    """None of one that has to be asked again."""


class Prefetch:
    """The process, from the hub's side; it asks for one round."""

    def __init__(self, pid: int, ours: socket.socket) -> None:
        self._pid: int | None = pid
        self._socket = ours

    async def outcomes(
        self, scrape: Scrape, targets: Sequence[Target]
    ) -> AsyncGenerator[Outcome, None]:
        """What became of the targets, in the order in which they answer, as far as anything did."""
        order = msgspec.msgpack.encode(_Order(scrape=scrape, targets=list(targets)))
        reader, writer = await asyncio.open_connection(sock=self._socket, limit=_BUFFER)
        try:
            writer.write(_LENGTH.pack(len(order)) + order)
            with contextlib.suppress(EOFError, OSError):  # it has ended before its time
                for _ in targets:
                    number, began, size = _HEAD.unpack(await reader.readexactly(_HEAD.size))
                    body = await reader.readexactly(size)
                    yield Outcome(targets[number], Prefetched(body, began) if size else None)
        finally:
            writer.transport.abort()
            self.close()

    def close(self) -> None:
        """End the process, which has nothing to lose."""
        pid, self._pid = self._pid, None
        if pid is not None:
            self._socket.close()
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def begin() -> Prefetch | None:
    """Fork it, from a process with one thread; None where it would help nobody, or cannot be."""
    if not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) == 1:
        return None
    try:
        ours, theirs = socket.socketpair()
    except OSError:
        return None
    with theirs:
        try:
            pid = os.fork()
        except OSError:
            ours.close()
            return None
        if pid == 0:
            _be(theirs)
    return Prefetch(pid, ours)


def _be(theirs: socket.socket) -> None:
    """Be the process; never returns. It ends with the hub: then the socket does, at both ends."""
    try:
        kept = theirs.fileno()
        os.closerange(3, kept)
        os.closerange(kept + 1, _MAX_DESCRIPTOR)
        asyncio.run(_work(theirs))
    finally:
        os._exit(0)


async def _work(theirs: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=theirs)
    (size,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    order = msgspec.msgpack.decode(await reader.readexactly(size), type=_Order)
    timeout_s = min(order.scrape.timeout_s, _PATIENCE_S)
    scrape = msgspec.structs.replace(order.scrape, timeout_s=timeout_s)
    client = Client(scrape, BoundAccess(scrape))
    numbered = iter(enumerate(order.targets))
    await asyncio.gather(*[_ask(client, numbered, writer) for _ in range(_TOGETHER)])


async def _ask(
    client: Client, targets: Iterator[tuple[int, Target]], writer: asyncio.StreamWriter
) -> None:
    """Take one target after the other."""
    for number, target in targets:
        http = target_client(client, target)
        pages = Pages(http, target.metrics_url, client.scrape)
        try:
            body = await pages.next()
        except TargetFault:
            body = b""
        finally:
            http.close()
        writer.writelines((_HEAD.pack(number, pages.asked_at, len(body)), body))
        await writer.drain()
