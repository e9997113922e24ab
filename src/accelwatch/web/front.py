"""The web side of a process: sockets, bounds and protection, and what a reload changes of them."""

import logging
import socket
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

import msgspec

from accelwatch.config.forms import split_address
from accelwatch.config.model import Web
from accelwatch.web.http.sources import ServerLimits
from accelwatch.web.protection.exposure import check_exposure, check_kept
from accelwatch.web.protection.watch import CHECK_EVERY_S, Watch
from accelwatch.web.protection.web_config import Protection
from accelwatch.web.sockets.connections import Limits
from accelwatch.web.sockets.listeners import open_tcp, open_unix

logger = logging.getLogger(__name__)

_GRACE_S = 0.8
_RESTART_ONLY = ("listen_address", "unix_socket")


class Served(Protocol):
    """A server over listening sockets."""

    # What is required of clients; may be replaced at any time.
    protection: Protection

    def set_limits(self, limits: ServerLimits) -> None:
        """Other bounds from now on."""
        ...

    def start(self, sockets: Iterable[socket.socket]) -> None:
        """Serve on listening sockets, which the server closes in the end."""
        ...

    async def stop(self, grace_s: float = 1.0) -> None:
        """Accept nothing more, let what is under way end within the grace, then abort the rest."""
        ...


class Front:
    """A server with the settings of `web` in force."""

    def __init__(
        self,
        server: Served,
        web: Web,
        outcome: Callable[[bool | None], None] = lambda _well: None,
        *,
        check_every_s: float = CHECK_EVERY_S,
    ) -> None:
        """`outcome` gets whether the web configuration was read well; None: there is none."""
        self.web = web
        self._server = server
        self._outcome = outcome
        self._check_every_s = check_every_s
        self._watch: Watch | None = None

    def open_sockets(self) -> list[socket.socket]:
        """Listening sockets. Raises AccelwatchError."""
        opened: list[socket.socket] = []
        try:
            for address in self.web.listen_address:
                opened += open_tcp(address)
            if self.web.unix_socket:
                opened.append(open_unix(Path(self.web.unix_socket)))
        except BaseException:
            for listening in opened:
                listening.close()
            raise
        for listening in opened:
            logger.info("listening address=%s", _address_of(listening))
        return opened

    def start(self, sockets: Iterable[socket.socket]) -> None:
        """Serve, and watch the web configuration."""
        self._server.start(sockets)
        self._watch_web(self._server.protection)

    def change(self, web: Web, protection: Protection) -> None:
        """Replace the settings, but for those that only a restart changes; these are logged."""
        for name in _RESTART_ONLY:
            if getattr(web, name) != getattr(self.web, name):
                logger.warning("a change takes a restart key=web.%s", name)
                web = msgspec.structs.replace(web, **{name: getattr(self.web, name)})
        self.web = web
        self._server.set_limits(server_limits(web))
        self._server.protection = protection
        self._watch_web(protection)

    async def stop(self) -> None:
        """End in good order."""
        if self._watch is not None:
            self._watch.stop()
        await self._server.stop(_GRACE_S)
        if self.web.unix_socket:
            Path(self.web.unix_socket).unlink(missing_ok=True)

    def _watch_web(self, protection: Protection) -> None:
        if self._watch is not None:
            self._watch.stop()
            self._watch = None
        if not self.web.config_file:
            self._outcome(None)
            return

        def apply(reloaded: Protection) -> None:
            check_kept(self._server.protection, reloaded)
            check_exposure(self.web, reloaded)
            self._server.protection = reloaded

        self._outcome(True)
        file = Path(self.web.config_file)
        if not protection.authenticates:
            logger.warning("the web configuration requires no credentials file=%s", file)
        self._watch = Watch(
            file, protection, apply=apply, outcome=self._outcome, every_s=self._check_every_s
        )
        self._watch.start()


def server_limits(web: Web) -> ServerLimits:
    """Bounds of the server."""
    return ServerLimits(
        requests=web.max_requests,
        streams=web.stream_max_clients,
        stall_s=web.stream_stall_timeout_s,
        connections=Limits(
            connections=web.max_connections,
            header_timeout_s=web.header_timeout_s,
            request_timeout_s=web.request_timeout_s,
            keepalive_timeout_s=web.keepalive_timeout_s,
        ),
        allowed_hosts=frozenset(
            name.lower()
            for name in (
                *web.allowed_hosts,
                *(split_address(address)[0] for address in web.listen_address),
            )
            if name
        ),
    )


def _address_of(listening: socket.socket) -> str:
    name = listening.getsockname()
    if isinstance(name, tuple):
        return f"[{name[0]}]:{name[1]}" if ":" in name[0] else f"{name[0]}:{name[1]}"
    return str(name)
