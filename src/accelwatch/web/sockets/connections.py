"""Every connection from accept to close: how many there may be, and how long each may last.

Connections are accepted one by one, so that a TLS handshake is counted and timed like a request that
does not arrive, and so that the TLS context of the moment is used for each new connection.
"""

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
from collections.abc import Callable, Iterable
from enum import Enum

import msgspec

logger = logging.getLogger(__name__)

_ACCEPT_PAUSE_S = 0.2
_NO_FILE = (errno.EMFILE, errno.ENFILE)
_TLS_SHUTDOWN_S = 2.0


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds on connections; times in seconds."""

    connections: int = 512
    header_timeout_s: float = 10.0
    request_timeout_s: float = 30.0
    keepalive_timeout_s: float = 75.0


class Phase(Enum):
    """What a connection is doing."""

    # A handshake or a request has started and is not complete.
    ARRIVING = "arriving"
    # Answered; nothing of a next request is here yet.
    IDLE = "idle"
    # A request is being answered.
    BUSY = "busy"


class Connection(asyncio.Protocol):
    """Passes everything on to an HTTP protocol, and watches the clock."""

    def __init__(self, owner: "Connections", sock: socket.socket) -> None:
        self._owner = owner
        self._socket = sock
        self._inner: asyncio.Protocol | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.phase = Phase.ARRIVING
        self.transport: asyncio.Transport | None = None
        self.opening: asyncio.Task[None] | None = None
        # Set once it is closed at our end.
        self.disconnected = asyncio.Event()
        self._enter(Phase.ARRIVING, owner.limits.header_timeout_s)

    def _enter(self, phase: Phase, timeout_s: float | None) -> None:
        self.phase = phase
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if timeout_s is not None:
            self._timer = asyncio.get_running_loop().call_later(timeout_s, self.abort)

    def request_started(self, *, timed: bool) -> None:
        """A whole request is here; a stream is not timed, it looks after itself."""
        self._enter(Phase.BUSY, self._owner.limits.request_timeout_s if timed else None)

    def request_finished(self) -> None:
        """The answer is out."""
        if not self.closed:
            self._enter(Phase.IDLE, self._owner.limits.keepalive_timeout_s)

    @property
    def closed(self) -> bool:
        """Whether the owner has closed it."""
        return self not in self._owner.open

    def abort(self) -> None:
        """Close at once, whatever has not been sent."""
        if self.transport is not None:
            self.transport.abort()
            return
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        if self.opening is not None:
            self.opening.cancel()

    def opened(self, _: asyncio.Task[None]) -> None:
        """The opening is over; without a transport it failed, perhaps before it began."""
        self.opening = None
        if self.transport is None:
            self._socket.close()
            self._owner.drop(self)

    def forget(self) -> None:
        """Stop the clock; the connection has gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The handshake is over; the HTTP protocol replaces it."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._inner = self._owner.new_protocol()
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request; the first after an answer start the clock again."""
        if self.phase is Phase.IDLE:
            self._enter(Phase.ARRIVING, self._owner.limits.header_timeout_s)
        if self._inner is not None:
            self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """The client sends no more."""
        return self._inner.eof_received() if self._inner is not None else None

    def pause_writing(self) -> None:
        """The client reads slower than we write."""
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        """The client has caught up."""
        if self._inner is not None:
            self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is over."""
        self._owner.drop(self)
        self.disconnected.set()
        if self._inner is not None:
            self._inner.connection_lost(exc)


class Connections:
    """All connections of a server; the loop's thread only."""

    def __init__(
        self,
        new_protocol: Callable[[], asyncio.Protocol],
        limits: Limits,
        tls: "Callable[[], ssl.SSLContext | None]",
    ) -> None:
        self.new_protocol = new_protocol
        self.limits = limits
        self.open: dict[Connection, None] = {}
        self._tls = tls
        self._accepting: list[asyncio.Task[None]] = []
        self._sockets: list[socket.socket] = []

    def listen(self, sockets: Iterable[socket.socket]) -> None:
        """Begin to accept; the sockets are closed by `close`."""
        loop = asyncio.get_running_loop()
        for listening in sockets:
            self._sockets.append(listening)
            self._accepting.append(loop.create_task(self._accept(listening)))

    def of(self, transport: asyncio.BaseTransport | None) -> Connection | None:
        """The connection that a request came over."""
        protocol = transport.get_protocol() if isinstance(transport, asyncio.Transport) else None
        return protocol if isinstance(protocol, Connection) else None

    def drop(self, connection: Connection) -> None:
        """A connection has ended."""
        self.open.pop(connection, None)
        connection.forget()

    async def stop_accepting(self) -> None:
        """Close the listening sockets; connections stay."""
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        for listening in self._sockets:
            listening.close()
        self._accepting, self._sockets = [], []

    async def close(self) -> None:
        """Abort what is left and wait until it has gone."""
        await self.stop_accepting()
        opening = [accepted.opening for accepted in self.open if accepted.opening is not None]
        going = [
            accepted.disconnected.wait() for accepted in self.open if accepted.transport is not None
        ]
        for connection in tuple(self.open):
            connection.abort()
        await asyncio.gather(*opening, *going, return_exceptions=True)
        for connection in tuple(self.open):
            self.drop(connection)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        failing = False
        while True:
            try:
                sock, _ = await loop.sock_accept(listening)
            except OSError as error:
                if not failing:
                    logger.warning("connections cannot be accepted error=%s", error.strerror)
                failing = True
                # Where files run out before connections do, whoever is silent for longest gives his.
                gives = error.errno in _NO_FILE and self._evict_idle()
                await asyncio.sleep(0 if gives else _ACCEPT_PAUSE_S)
                continue
            failing = False
            if not self._has_room():
                sock.close()
                continue
            connection = Connection(self, sock)
            self.open[connection] = None
            connection.opening = loop.create_task(self._open(connection, sock))
            connection.opening.add_done_callback(connection.opened)

    def _has_room(self) -> bool:
        """Room for one more, if need be after closing the longest silent one."""
        return len(self.open) < self.limits.connections or self._evict_idle()

    def _evict_idle(self) -> bool:
        """End the longest silent connection, if any is silent."""
        for phase in (Phase.ARRIVING, Phase.IDLE):
            for connection in self.open:
                if connection.phase is phase:
                    connection.abort()
                    self.drop(connection)
                    return True
        return False

    async def _open(self, connection: Connection, sock: socket.socket) -> None:
        tls = None if sock.family == socket.AF_UNIX else self._tls()
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection,
                sock,
                ssl=tls,
                ssl_handshake_timeout=self.limits.header_timeout_s if tls else None,
                ssl_shutdown_timeout=_TLS_SHUTDOWN_S if tls else None,
            )
        except (OSError, TimeoutError) as error:
            logger.debug("a connection did not open error=%r", error)
