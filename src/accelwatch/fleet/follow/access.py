"""Credentials and certificates for targets, read from files and read again when those change.

A target is shown only the credentials of the section that named it: whoever can answer one discovery
would otherwise be sent those of all others.
"""

import asyncio
import base64
import ssl
import time
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Protocol

import msgspec

from accelwatch.base.errors import ConfigError
from accelwatch.fleet.scrape_settings import Credentials, Scrape, TlsConfig
from accelwatch.fleet.target import Target
from accelwatch.system.files.file_rights import check_not_open
from accelwatch.system.located_yaml.nodes import read_file
from accelwatch.web.protection.tls import VERSIONS
from accelwatch.web.sockets.listeners import is_loopback

_CHECK_EVERY_S = 10.0
# How soon the files are checked when a target has refused what they held.
_DOUBTED_S = 1.0

Stamps = tuple[tuple[int, int, int], ...]


class Ticket:
    """What a request carries."""

    def __init__(self, headers: Mapping[str, str], tls: TlsConfig) -> None:
        self.headers = headers
        self.server_name = tls.server_name
        self._config = tls

    # Loading the system's authorities costs 25 ms. A change of the files makes a new ticket, and
    # with it a new context.
    @cached_property
    def tls(self) -> ssl.SSLContext:
        """For requests over TLS: made for the first of them, and on a thread (`Access.ticket`), for the
        system's authorities cost 25 ms. Raises ConfigError."""
        return client_context(self._config)

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
    if not _is_server_name(tls.server_name or ""):
        raise ConfigError(f"{section}.tls_config.server_name: expected the name of a server")
    if not token.type.isascii() or not token.type.isalnum() or token.type.lower() == "basic":
        raise ConfigError(f"{section}.authorization.type: expected a word other than Basic")


def _is_server_name(text: str) -> bool:
    """Whether TLS can send it."""
    try:
        return b"\0" not in text.encode("idna")
    except UnicodeError:
        return False


class Tickets(Protocol):
    """Gives each target its ticket."""

    async def ticket(self, target: Target) -> Ticket:
        """The ticket of now. Raises ConfigError when a file is missing or does not load."""
        ...

    def doubt(self, target: Target) -> None:
        """A ticket was refused: somebody may just have mended a file."""
        ...

    def hint(self, target: Target) -> str:
        """Why a target was shown nothing, for the one who reads that it refused us; or nothing."""
        ...


def withheld(target: Target) -> bool:
    """Whether the target's credentials are not sent: anybody on the way could read them."""
    shown = target.scheme == "https" or target.credentials.credentials_over_http
    return bool(target.credentials) and not (shown or is_loopback(target.address))


class BoundAccess:
    """Tickets by the section that named a target; certificates are the same for all."""

    def __init__(self, scrape: Scrape) -> None:
        check_access(scrape)
        self._scrape = scrape
        self._accesses: dict[Credentials, Access] = {}

    async def ticket(self, target: Target) -> Ticket:
        """The ticket of now. Raises ConfigError when a file is missing or does not load."""
        return await self._of(target).ticket(target)

    def doubt(self, target: Target) -> None:
        """A ticket was refused: somebody may just have mended a file."""
        self._of(target).doubt()

    def hint(self, target: Target) -> str:
        """Why a target was shown nothing; or nothing."""
        if withheld(target):
            return "; none are sent over http: use https, or set credentials_over_http"
        return "" if target.credentials else "; none are configured for where it was found"

    def _of(self, target: Target) -> "Access":
        shown = Credentials() if withheld(target) else target.credentials
        access = self._accesses.get(shown)
        if access is None:
            scrape = msgspec.structs.replace(
                self._scrape, basic_auth=shown.basic_auth, authorization=shown.authorization
            )
            access = self._accesses[shown] = Access(scrape)
        return access


class Access:
    """Makes the same ticket for all; files are checked at most every ten seconds, on a thread."""

    def __init__(self, scrape: Scrape) -> None:
        check_access(scrape)
        self._scrape = scrape
        self._ticket: Ticket | None = None
        self._stamps: Stamps = ()
        self._checked_at = 0.0
        # All requests of a section share a ticket. One of them reads the files on a thread, the
        # others wait for it.
        self._lock = asyncio.Lock()

    async def ticket(self, target: Target | None = None, *, secure: bool = False) -> Ticket:
        """The ticket of now; `secure` when it is shown over TLS to what is no target.

        Raises ConfigError when a file is missing or does not load.
        """
        secure = secure or (target is not None and target.scheme == "https")
        if self._ticket is not None and not secure and not self._due():
            return self._ticket
        async with self._lock:
            if self._ticket is None or self._due():
                self._ticket = await asyncio.to_thread(self._load_ticket)
                self._checked_at = time.monotonic()
            ticket = self._ticket
            if secure and "tls" not in vars(ticket):
                await asyncio.to_thread(lambda: ticket.tls)
            return ticket

    def _due(self) -> bool:
        return time.monotonic() - self._checked_at > _CHECK_EVERY_S

    def hint(self, _target: Target) -> str:
        """Nothing: everybody is shown the same."""
        return ""

    def doubt(self, _target: Target | None = None) -> None:
        """A ticket was refused: somebody may just have mended a file."""
        self._checked_at = min(self._checked_at, time.monotonic() - _CHECK_EVERY_S + _DOUBTED_S)

    def _load_ticket(self) -> Ticket:
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
            ticket = Ticket(_headers(self._scrape), tls)
            if tls.ca_file or tls.cert_file:
                ticket.tls  # noqa: B018 - a file that is wrong fails here, and its error says why
            self._stamps = stamps
            return ticket
        return self._ticket


def _stamp(name: str) -> tuple[int, int, int]:
    try:
        status = Path(name).stat()
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read: {error.strerror}") from error
    return status.st_ino, status.st_size, status.st_mtime_ns


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
    check_not_open(tls.ca_file or "", tls.cert_file or "", tls.key_file or "")
    context = ssl.create_default_context()
    try:
        if tls.ca_file:
            context = ssl.create_default_context(cafile=tls.ca_file)
        if tls.cert_file:  # and its key, as `check_access` has seen to
            context.load_cert_chain(tls.cert_file, tls.key_file, password=_no_password)
    except (ssl.SSLError, OSError, ValueError) as error:
        raise ConfigError(f"scrape.tls_config: certificates do not load: {error}") from error
    context.minimum_version = ssl.TLSVersion[VERSIONS[tls.min_version]]
    if tls.insecure_skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _no_password() -> str:
    raise ValueError("the key is encrypted, which is not supported")
