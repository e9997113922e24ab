"""What two nodes move between each other over TCP: a figure for a test of a pair, and proof that every
byte came as it was sent.

One node serves, the other connects. Data goes one way, then the other, over several connections at
once; the smaller of the two rates counts. Each receiver compares every block with what was sent, so a
link or a memory that changes data fails the test instead of being fast.
"""

import hashlib
import random
import socket
import struct
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from enum import StrEnum
from itertools import repeat
from typing import NamedTuple

from accelwatch.base.errors import AccelwatchError

BLOCK_BYTES = 1 << 20
# Of a hello: whose pair this is, which way data goes, for how long.
_HELLO = struct.Struct("!32scd")
_REPLY = struct.Struct("!Q?")
# Beyond the time for the data: for what is still in buffers, and for replies.
_SLACK_S = 20.0
_RETRY_S = 0.2
MOST_STREAMS = 64
MOST_SECONDS = 600.0


class Direction(StrEnum):
    """Which way data goes, as the node that connects sees it."""

    SEND = "S"
    RECEIVE = "R"


class PairRate(NamedTuple):
    """Bytes per second each way, as the node that connects sees it."""

    sent: float
    received: float


class CorruptedError(AccelwatchError):
    """What arrived was not what was sent."""


def block() -> bytes:
    """The same on both sides, and nothing that a network would compress."""
    return random.Random(29797).randbytes(BLOCK_BYTES)  # noqa: S311 - the same on both sides


def serve(port: int, key: str, *, streams: int, wait_s: float) -> None:
    """Serve one measurement, then return; `wait_s` for the other node to come.

    Raises AccelwatchError, CorruptedError.
    """
    digest = hashlib.sha256(key.encode()).digest()
    with closing(_listener(port, streams)) as listener, ThreadPoolExecutor(streams) as pool:
        listener.settimeout(wait_s)
        for _ in Direction:
            # Both directions come one after the other, each over as many connections.
            tasks: list[Future[None]] = []
            while len(tasks) < streams:
                connection = _accepted(listener, wait_s)
                hello = _hello_of(connection, digest)
                if hello is None:
                    connection.close()  # of another pair, or no client of ours
                    continue
                tasks.append(pool.submit(_answer, connection, *hello))
            for task in tasks:
                task.result()


def _listener(port: int, streams: int) -> socket.socket:
    family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
    try:
        return socket.create_server(
            ("", port),
            family=family,
            backlog=2 * streams,
            dualstack_ipv6=family is socket.AF_INET6,
        )
    except OSError as error:
        raise AccelwatchError(
            f"cannot listen on port {port}: {error}; choose another --port"
        ) from error


def _accepted(listener: socket.socket, wait_s: float) -> socket.socket:
    try:
        return listener.accept()[0]
    except TimeoutError as error:
        raise AccelwatchError(f"the other node did not connect within {wait_s:g} s") from error


def _hello_of(connection: socket.socket, digest: bytes) -> tuple[Direction, float] | None:
    """What the other node wants; None of one that is not it."""
    connection.settimeout(_SLACK_S)
    try:
        data = _exactly(connection, _HELLO.size)
    except OSError:
        return None
    claimed, direction, seconds = _HELLO.unpack(data)
    if claimed != digest or direction not in (b"S", b"R") or not 0 < seconds <= MOST_SECONDS:
        return None
    return Direction(direction.decode()), seconds


def _answer(connection: socket.socket, direction: Direction, seconds: float) -> None:
    with closing(connection):
        connection.settimeout(seconds + _SLACK_S)
        if direction is Direction.RECEIVE:
            _send(connection, seconds)
            return
        count, intact = _receive(connection, seconds)
        connection.sendall(_REPLY.pack(count, intact))
        if not intact:
            raise CorruptedError("data was changed on its way from the other node")


def measure_bandwidth(
    host: str, port: int, key: str, *, streams: int, seconds: float, wait_s: float
) -> PairRate:
    """The rates to and from the node that serves. Raises AccelwatchError, CorruptedError."""
    digest = hashlib.sha256(key.encode()).digest()
    rates = []
    for direction in Direction:
        hello = _HELLO.pack(digest, direction.encode(), seconds)
        move = _sent if direction is Direction.SEND else _received
        until = time.monotonic() + wait_s
        with _connected(host, port, hello, streams, until) as connections:
            started = time.monotonic()
            with ThreadPoolExecutor(streams) as pool:
                count = sum(pool.map(move, connections, repeat(seconds)))
        rates.append(count / (time.monotonic() - started))
    return PairRate(*rates)


@contextmanager
def _connected(
    host: str, port: int, hello: bytes, streams: int, until: float
) -> Iterator[list[socket.socket]]:
    connections: list[socket.socket] = []
    try:
        for _ in range(streams):
            connection = _connection(host, port, until)
            connections.append(connection)
            connection.sendall(hello)
        yield connections
    except OSError as error:
        raise AccelwatchError(f"the connection to {host} broke: {error}") from error
    finally:
        for connection in connections:
            connection.close()


def _connection(host: str, port: int, until: float) -> socket.socket:
    """Once the other node listens. Raises AccelwatchError."""
    while True:
        left = until - time.monotonic()
        try:
            return socket.create_connection((host, port), timeout=max(left, _RETRY_S))
        except OSError as error:
            if time.monotonic() >= until:
                text = f"{host} port {port} cannot be reached: {error}; is it served, and not filtered?"
                raise AccelwatchError(text) from error
        time.sleep(_RETRY_S)


def _sent(connection: socket.socket, seconds: float) -> int:
    connection.settimeout(seconds + _SLACK_S)
    _send(connection, seconds)
    count, intact = _REPLY.unpack(_exactly(connection, _REPLY.size))
    if not intact:
        raise CorruptedError("data was changed on its way to the other node")
    return int(count)


def _received(connection: socket.socket, seconds: float) -> int:
    connection.settimeout(seconds + _SLACK_S)
    count, intact = _receive(connection, seconds)
    if not intact:
        raise CorruptedError("data was changed on its way from the other node")
    return count


def _send(connection: socket.socket, seconds: float) -> None:
    data, until = block(), time.monotonic() + seconds
    while time.monotonic() < until:
        connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)


def _receive(connection: socket.socket, seconds: float) -> tuple[int, bool]:
    """How many bytes came, and whether all were as they were sent."""
    expected, until = block(), time.monotonic() + seconds + _SLACK_S
    buffer = bytearray(BLOCK_BYTES)
    view, count, intact = memoryview(buffer), 0, True
    while time.monotonic() < until:
        filled = _fill(connection, view)
        count += filled
        # A whole block is compared without a copy of it.
        same = buffer == expected if filled == BLOCK_BYTES else view[:filled] == expected[:filled]
        intact = intact and same
        if filled < BLOCK_BYTES:
            return count, intact
    raise AccelwatchError("the other node does not stop sending")


def _fill(connection: socket.socket, view: memoryview) -> int:
    """Bytes read into it; fewer than it has at the end of the data."""
    filled = 0
    while filled < len(view):
        size = connection.recv_into(view[filled:])
        if size == 0:
            break
        filled += size
    return filled


def _exactly(connection: socket.socket, size: int) -> bytes:
    """So many bytes. Raises OSError where the other side has closed before."""
    data = bytearray(size)
    if _fill(connection, memoryview(data)) < size:
        raise ConnectionError("closed before its end")
    return bytes(data)
