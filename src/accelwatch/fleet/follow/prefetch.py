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
from collections.abc import AsyncGenerator, Sequence
from typing import NamedTuple

import msgspec

from accelwatch.daemon.open_files import raise_open_files
from accelwatch.fleet.follow.access import BoundAccess
from accelwatch.fleet.follow.faults import TargetFault
from accelwatch.fleet.follow.pages import Pages, Prefetched
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.follow.target_client import target_client
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.target import Target
from accelwatch.processes.child_process import close_others
from accelwatch.processes.parent_death import die_with_parent
from accelwatch.schema.frames import PREFIX_BYTES, Splitter, body_size, frame

LEAST = 100
"""Targets, fewer of which the hub has asked as soon as this process has begun to."""
STARTED_TOGETHER = 20
BREATH_S = 0.005
"""Between so many targets that are begun: a loop that is behind with them takes longer over it, so that
a large fleet is heard as soon as it can be read, and does not shake hands all at once."""
_PATIENCE_S = 1.0
"""Whoever takes longer is asked by the hub, with all the time that is configured."""
_SILENCE_S = 3.0
"""After so long without a page the process is stuck, or was stopped."""
_IDLE_S = 60.0
"""Where there is nobody to ask for so long the process is not needed."""
_CHUNK = 1 << 18
_MAX_FRAME = (1 << 32) - 1
_HEAD = struct.Struct("=Id")
"""Number of the target and how long it took; its page follows, or nothing where it gave none."""


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
        try:
            order = msgspec.msgpack.encode(_Order(scrape=scrape, targets=list(targets)))
        except ValueError:  # an address that is no Unicode, as an argument may be
            self.close()
            return
        reader, writer = await asyncio.open_connection(sock=self._socket, limit=_CHUNK)
        frames, left = Splitter(_MAX_FRAME), len(targets)
        try:
            writer.write(frame(order))
            # It may end before its time, or hang: what is left is the hub's.
            with contextlib.suppress(OSError):
                while left and (chunk := await asyncio.wait_for(reader.read(_CHUNK), _SILENCE_S)):
                    for reply in frames.feed(chunk):
                        left -= 1
                        number, duration_s = _HEAD.unpack_from(reply)
                        body = reply[_HEAD.size :]
                        yield Outcome(
                            targets[number], Prefetched(body, duration_s) if body else None
                        )
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


def fork_prefetch() -> Prefetch | None:
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
    """Be the process; never returns. It ends with the hub, stopped or not."""
    try:
        die_with_parent()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # which is where the hub's last words are read
        close_others((theirs.fileno(),))
        asyncio.run(_work(theirs))
    finally:
        os._exit(0)


async def _work(theirs: socket.socket) -> None:
    raise_open_files()
    reader, writer = await asyncio.open_connection(sock=theirs)
    async with asyncio.timeout(_IDLE_S):
        size = body_size(await reader.readexactly(PREFIX_BYTES), _MAX_FRAME)
    order = msgspec.msgpack.decode(await reader.readexactly(size), type=_Order)
    client = Client(order.scrape, BoundAccess(order.scrape))
    requests: list[asyncio.Task[None]] = []
    for number, target in enumerate(order.targets):
        requests.append(asyncio.create_task(_fetch_page(client, number, target, writer)))
        if len(requests) % STARTED_TOGETHER == 0:
            await asyncio.sleep(BREATH_S)
            await writer.drain()
    await asyncio.gather(*requests)


async def _fetch_page(
    client: Client, number: int, target: Target, writer: asyncio.StreamWriter
) -> None:
    http = target_client(client, target)
    pages = Pages(http, target.metrics_url, client.scrape)
    started = asyncio.get_running_loop().time()
    try:
        # The target is told the time that is configured: some leave out what takes long.
        async with asyncio.timeout(_PATIENCE_S):
            body = await pages.next()
    except (TargetFault, TimeoutError):
        body = b""
    finally:
        http.close()
    duration_s = asyncio.get_running_loop().time() - started
    writer.write(frame(_HEAD.pack(number, duration_s) + body))
    await writer.drain()
