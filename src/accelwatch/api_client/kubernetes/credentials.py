"""Token and certificates of a server, read from their files and read again when those change.

A token of a service account lives for an hour and the kubelet overwrites it; certificates
are renewed in the same way.
"""

import asyncio
import ssl
from pathlib import Path

import msgspec

from accelwatch.api_client.kubernetes.server import Server
from accelwatch.api_client.stamps import Stamps, file_stamps
from accelwatch.api_client.tls import tls_context
from accelwatch.base.clock import Clock, SystemClock
from accelwatch.base.errors import ConfigError
from accelwatch.system.located_yaml.nodes import read_file

# The kubelet replaces a token when a fifth of its life is left: 12 minutes before the end of an hour.
_CHECK_EVERY_S = 10.0


class Ticket(msgspec.Struct, frozen=True):
    """What a request shows and by what the server is checked."""

    token: str
    # None for plain http.
    tls: ssl.SSLContext | None

    @property
    def headers(self) -> dict[str, str]:
        """What says who sends a request."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def __repr__(self) -> str:
        """Without the token."""
        return "Ticket()"


class Credentials:
    """Of one server; its files are checked on a thread, at most every ten seconds."""

    def __init__(self, server: Server, clock: Clock | None = None) -> None:
        self._server = server
        self._clock = clock or SystemClock()
        self._ticket: Ticket | None = None
        self._stamps: Stamps = ()
        self._tls_stamps: Stamps = ()
        self._checked_at = 0.0
        # One request reads the files, the others wait for it.
        self._lock = asyncio.Lock()

    async def ticket(self, refused: Ticket | None = None) -> Ticket:
        """The ticket of now; with the one that the server has refused, the files are read again.

        Raises ConfigError when a file is missing or does not load.
        """
        if self._is_current(refused):
            assert self._ticket is not None
            return self._ticket
        async with self._lock:
            if not self._is_current(refused):
                self._ticket = await asyncio.to_thread(self._load, self._ticket)
                self._checked_at = self._clock.monotonic()
            assert self._ticket is not None
            return self._ticket

    def _is_current(self, refused: Ticket | None) -> bool:
        if self._ticket is None or self._ticket is refused:
            return False
        return self._clock.monotonic() - self._checked_at < _CHECK_EVERY_S

    def _load(self, before: Ticket | None) -> Ticket:
        """The ticket before, where no file has changed since it was made."""
        server = self._server
        tls_stamps = file_stamps(server.ca_file, server.cert_file, server.key_file)
        stamps = (*tls_stamps, *file_stamps(server.token_file))
        if before is not None and stamps == self._stamps:
            return before
        # Connections belong to a context: a new token alone is sent on those that are open.
        same_tls = before is not None and tls_stamps == self._tls_stamps
        tls = before.tls if before is not None and same_tls else _tls_of(server)
        ticket = Ticket(_secret(server.token_file), tls)
        self._stamps, self._tls_stamps = stamps, tls_stamps
        return ticket


def _tls_of(server: Server) -> ssl.SSLContext | None:
    return tls_context(server.base, server.ca_file, server.cert_file, server.key_file)


def _secret(name: str) -> str:
    if not name:
        return ""
    text = read_file(Path(name)).decode("utf-8", "replace").strip()
    if not text or not text.isascii() or not text.isprintable():
        raise ConfigError(f"{name}: a token is one line of printable characters")
    return text
