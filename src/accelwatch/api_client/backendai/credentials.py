"""Secret key and certificates of a manager, read from their files and read again when those change."""

import asyncio
import ssl
from pathlib import Path

import msgspec

from accelwatch.api_client.backendai.server import Server
from accelwatch.api_client.stamps import Stamps, file_stamps
from accelwatch.api_client.tls import tls_context
from accelwatch.base.clock import Clock, SystemClock
from accelwatch.base.errors import ConfigError
from accelwatch.system.files.secret_file import read_secret

# Keys are replaced by people, who check whether the new one works.
_CHECK_EVERY_S = 10.0


class Ticket(msgspec.Struct, frozen=True):
    """What a request is signed with and by what the manager is checked."""

    secret_key: str
    # None for plain http.
    tls: ssl.SSLContext | None

    def __repr__(self) -> str:
        """Without the key."""
        return "Ticket()"


class Credentials:
    """Of one manager; its files are checked on a thread, at most every ten seconds."""

    def __init__(self, server: Server, clock: Clock | None = None) -> None:
        self._server = server
        self._clock = clock or SystemClock()
        self._ticket: Ticket | None = None
        self._stamps: Stamps = ()
        self._checked_at = 0.0
        # One request reads the files, the others wait for it.
        self._lock = asyncio.Lock()

    async def ticket(self) -> Ticket:
        """The ticket of now. Raises ConfigError when a file is missing, open to others or bad."""
        async with self._lock:
            now = self._clock.monotonic()
            if self._ticket is None or now - self._checked_at >= _CHECK_EVERY_S:
                self._ticket = await asyncio.to_thread(self._load, self._ticket)
                self._checked_at = now
            return self._ticket

    def _load(self, before: Ticket | None) -> Ticket:
        """The ticket before, where no file has changed since it was made."""
        server = self._server
        stamps = file_stamps(server.secret_key_file, server.ca_file)
        if before is not None and stamps == self._stamps:
            return before
        ticket = Ticket(
            secret_key_in(server.secret_key_file), tls_context(server.base, server.ca_file)
        )
        self._stamps = stamps
        return ticket


def secret_key_in(file: str) -> str:
    """The key. Raises ConfigError, which does not repeat it."""
    key = read_secret(Path(file), "the secret key", follow_links=True).decode("utf-8", "replace")
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError(f"{file}: a secret key is one word of printable characters")
    return key
