"""Credentials and certificates for targets, read from files and read again when those change."""

import asyncio
import base64
import ssl
import time
from pathlib import Path

import msgspec

from accelwatch.config.document import read_file
from accelwatch.errors import ConfigError
from accelwatch.fleet.client.settings import Scrape, TlsConfig

_LOOK_EVERY_S = 10.0
_DOUBTED_S = 1.0
"""How soon the files are looked at when a target has refused what they held."""
_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}

Stamps = tuple[tuple[int, int, int], ...]


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """What a request carries."""

    headers: dict[str, str]
    tls: ssl.SSLContext
    server_name: str | None

    def __repr__(self) -> str:
        """Without the secret in its headers."""
        return f"Ticket(headers={sorted(self.headers)}, server_name={self.server_name!r})"


def check_access(scrape: Scrape, section: str = "scrape") -> None:
    """Raise ConfigError when the settings of a section do not fit together."""
    basic, token, tls = scrape.basic_auth, scrape.authorization, scrape.tls_config
    if basic.username and token.credentials_file:
        raise ConfigError(f"{section}: basic_auth and authorization exclude each other")
    if bool(basic.username) != bool(basic.password_file):
        raise ConfigError(f"{section}.basic_auth: username and password_file are both needed")
    if bool(tls.cert_file) != bool(tls.key_file):
        raise ConfigError(f"{section}.tls_config: cert_file and key_file are both needed")
    if not token.type.isascii() or not token.type.isalnum() or token.type.lower() == "basic":
        raise ConfigError(f"{section}.authorization.type: expected a word other than Basic")


class Access:
    """Makes tickets; the files are looked at again at most every ten seconds, on a thread."""

    def __init__(self, scrape: Scrape) -> None:
        check_access(scrape)
        self._scrape = scrape
        self._ticket: Ticket | None = None
        self._stamps: Stamps = ()
        self._looked_at = 0.0
        self._lock = asyncio.Lock()

    async def ticket(self) -> Ticket:
        """The ticket of now. Raises ConfigError when a file is missing or does not load."""
        async with self._lock:
            if self._ticket is None or time.monotonic() - self._looked_at > _LOOK_EVERY_S:
                self._ticket = await asyncio.to_thread(self._look)
                self._looked_at = time.monotonic()
            return self._ticket

    def doubt(self) -> None:
        """A ticket was refused: somebody may just have mended a file."""
        self._looked_at = min(self._looked_at, time.monotonic() - _LOOK_EVERY_S + _DOUBTED_S)

    def _look(self) -> Ticket:
        tls = self._scrape.tls_config
        names = (
            self._scrape.basic_auth.password_file,
            self._scrape.authorization.credentials_file,
            tls.ca_file,
            tls.cert_file,
            tls.key_file,
        )
        stamps = tuple(_stamp(name) for name in names if name)
        if self._ticket is None or stamps != self._stamps:
            ticket = Ticket(
                headers=_headers(self._scrape),
                tls=client_context(tls),
                server_name=tls.server_name,
            )
            self._stamps = stamps
            return ticket
        return self._ticket


def _stamp(name: str) -> tuple[int, int, int]:
    try:
        found = Path(name).stat()
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read: {error.strerror}") from error
    return found.st_ino, found.st_size, found.st_mtime_ns


def _headers(scrape: Scrape) -> dict[str, str]:
    basic, token = scrape.basic_auth, scrape.authorization
    if basic.password_file:
        pair = f"{basic.username}:{_secret(basic.password_file)}".encode()
        return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
    if token.credentials_file:
        return {"Authorization": f"{token.type} {_secret(token.credentials_file)}"}
    return {}


def _secret(name: str) -> str:
    text = read_file(Path(name)).decode("utf-8", "replace").strip()
    if not text or not text.isprintable():
        raise ConfigError(f"{name}: a secret is one line of printable characters")
    return text


def client_context(tls: TlsConfig) -> ssl.SSLContext:
    """The context for targets. Raises ConfigError."""
    context = ssl.create_default_context()
    try:
        if tls.ca_file:
            context = ssl.create_default_context(cafile=tls.ca_file)
        if tls.cert_file and tls.key_file:
            context.load_cert_chain(tls.cert_file, tls.key_file, password=_no_password)
    except (ssl.SSLError, OSError, ValueError) as error:
        raise ConfigError(f"scrape.tls_config: certificates do not load: {error}") from error
    context.minimum_version = _VERSIONS[tls.min_version]
    if tls.insecure_skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _no_password() -> str:
    raise ValueError("the key is encrypted, which is not supported")
