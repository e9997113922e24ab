"""Token and certificates of a server, read from their files and read again when those change.

A token of a service account lives for an hour and is replaced in place by the kubelet; certificates
are renewed in the same way.
"""

import asyncio
import ssl
from pathlib import Path

import msgspec

from accelwatch.base.clock import Clock, SystemClock
from accelwatch.base.errors import ConfigError
from accelwatch.files.file_rights import check_not_open
from accelwatch.kubernetes.server import Server
from accelwatch.located_yaml.nodes import read_file

# The kubelet replaces a token when a fifth of its life is left: 12 minutes before the end of an hour.
_CHECK_EVERY_S = 10.0

_Stamps = tuple[tuple[int, int, int], ...]


class Ticket(msgspec.Struct, frozen=True):
    """What a request shows and by what the server is checked."""

    token: str
    # None for plain http.
    tls: ssl.SSLContext | None

    def __repr__(self) -> str:
        """Without the token."""
        return "Ticket()"


class Credentials:
    """Of one server; its files are looked at on a thread, at most every ten seconds."""

    def __init__(self, server: Server, clock: Clock | None = None) -> None:
        self._server = server
        self._clock = clock or SystemClock()
        self._ticket: Ticket | None = None
        self._stamps: _Stamps = ()
        self._tls_stamps: _Stamps = ()
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
        tls_stamps = _stamps(server.ca_file, server.cert_file, server.key_file)
        stamps = (*tls_stamps, *_stamps(server.token_file))
        if before is not None and stamps == self._stamps:
            return before
        # Connections belong to a context: a new token alone is sent on those that are open.
        same_tls = before is not None and tls_stamps == self._tls_stamps
        tls = before.tls if before is not None and same_tls else tls_context(server)
        ticket = Ticket(_secret(server.token_file), tls)
        self._stamps, self._tls_stamps = stamps, tls_stamps
        return ticket


def tls_context(server: Server) -> ssl.SSLContext | None:
    """How the server is checked and what it is shown; None for plain http. Raises ConfigError."""
    if not server.base.startswith("https:"):
        return None
    check_not_open(server.ca_file, server.cert_file, server.key_file)
    try:
        context = ssl.create_default_context(cafile=server.ca_file or None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"ca_file: {server.ca_file}: no certificates can be read from it"
        ) from error
    if server.cert_file:
        try:
            context.load_cert_chain(server.cert_file, server.key_file, password=_no_password)
        except (OSError, ssl.SSLError, ValueError) as error:
            raise ConfigError(
                f"cert_file: {server.cert_file}: not a certificate with the key of {server.key_file}"
            ) from error
    return context


def _no_password() -> str:
    raise ValueError("the key is encrypted, which is not supported")


def _stamps(*names: str) -> _Stamps:
    stamps = []
    for name in filter(None, names):
        try:
            status = Path(name).stat()
        except OSError as error:
            raise ConfigError(f"{name}: cannot be read: {error.strerror}") from error
        stamps.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(stamps)


def _secret(name: str) -> str:
    if not name:
        return ""
    text = read_file(Path(name)).decode("utf-8", "replace").strip()
    if not text or not text.isascii() or not text.isprintable():
        raise ConfigError(f"{name}: a token is one line of printable characters")
    return text
