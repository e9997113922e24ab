"""Requests to targets over aiohttp: no proxies, cookies, redirects; every failure becomes a fault."""

import contextlib
import os
import socket
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from types import MappingProxyType

import aiohttp

from accelwatch.backoff import retry_after
from accelwatch.errors import ConfigError
from accelwatch.fleet.follow.access import Ticket, Tickets
from accelwatch.fleet.follow.faults import Reason, TargetFault
from accelwatch.fleet.follow.first_ask import FirstAsk
from accelwatch.fleet.follow.resolver import Resolver
from accelwatch.fleet.follow.turn import Turn
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.target import Target
from accelwatch.version import __version__

USER_AGENT = f"accelwatch/{__version__}"
_READ_BUFFER = 64 << 10
_MAX_HEADER = 8190
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST")
"""What OpenSSL says of bytes that are no TLS at all."""
_TLS_ALERT = "\\x15\\x03"
"""How a TLS alert begins (RFC 8446, 5.1), as an error message shows it."""

MAY_WANT = {
    "http": "; does it expect TLS?",
    "https": "; does it ask for a client certificate?",
}
"""What a peer that hangs up at once may have wanted, by what was spoken."""


def open_session(connector: aiohttp.BaseConnector) -> aiohttp.ClientSession:
    """A session without proxies, cookies or deadlines of its own; bodies come as they are sent."""
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        timeout=aiohttp.ClientTimeout(total=None),
        read_bufsize=_READ_BUFFER,
        max_line_size=_MAX_HEADER,
        max_field_size=_MAX_HEADER,
        headers={"User-Agent": USER_AGENT},
    )


class Client:
    """One HTTP session for all targets."""

    def __init__(
        self, scrape: Scrape, access: Tickets, hello: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """`hello` are headers by which a hub says what it is to those whose streams it asks for."""
        self.scrape = scrape
        self.hello = hello
        self.reading = Turn()
        """Of who reads a long page on a thread."""
        self.resolver = Resolver()
        self.first_ask = FirstAsk()
        self.families: dict[str, int] = {}
        """Of the addresses that answered last, by name: `kept.connect`."""
        self.buffer = memoryview(bytearray(_READ_BUFFER))
        """What connections that are kept for polls read into, one after the other."""
        self._access = access
        self._session = open_session(
            aiohttp.TCPConnector(limit=0, ttl_dns_cache=30, resolver=self.resolver)
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    async def ticket(self, target: Target) -> Ticket:
        """What a request to the target carries now. Raises TargetFault."""
        try:
            return await self._access.ticket(target)
        except ConfigError as error:
            raise TargetFault(Reason.CREDENTIALS, str(error)) from error

    def explained(self, target: Target, fault: TargetFault) -> TargetFault:
        """The fault of a request, with why the target was shown nothing; its files are read again."""
        if fault.reason in (Reason.CREDENTIALS, Reason.TLS):
            self._access.doubt(target)
        if fault.reason is Reason.CREDENTIALS and (hint := self._access.hint(target)):
            return TargetFault(fault.reason, f"{fault}{hint}", code=fault.code)
        return fault

    @contextlib.asynccontextmanager
    async def get(
        self, target: Target, url: str, headers: dict[str, str]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer to GET with code 200; the caller's own deadline applies. Raises TargetFault."""
        ticket = await self.ticket(target)
        try:
            with faults(target.scheme):
                async with self._request(target, url, headers, ticket) as response:
                    check_status(response)
                    yield response
        except TargetFault as fault:
            explained = self.explained(target, fault)
            if explained is fault:
                raise
            raise explained from fault

    def _request(
        self, target: Target, url: str, headers: dict[str, str], ticket: Ticket
    ) -> "contextlib.AbstractAsyncContextManager[aiohttp.ClientResponse]":
        return self._session.get(
            url,
            headers={**headers, **ticket.headers},
            allow_redirects=False,
            ssl=ticket.tls if target.scheme == "https" else True,
            server_hostname=ticket.server_name if target.scheme == "https" else None,
        )


def check_status(response: aiohttp.ClientResponse) -> None:
    """Raise TargetFault for any code but 200."""
    check_code(response.status, response.headers.get("Retry-After"))


def check_code(code: int, asked_to_wait: str | None) -> None:
    """Raise TargetFault for any code but 200; beside it its header Retry-After."""
    if code == 200:
        return
    wait = retry_after(asked_to_wait, time.time())
    if 300 <= code < 400:
        raise TargetFault(
            Reason.REDIRECT, f"answered {code}; redirects are not followed", code=code
        )
    if code in (401, 403):
        raise TargetFault(Reason.CREDENTIALS, f"answered {code}; check the credentials", code=code)
    reason = Reason.BUSY if code in (429, 503) else Reason.STATUS
    asked = "" if wait is None else f" and asks to wait {wait:.0f} s"
    raise TargetFault(reason, f"answered {code}{asked}", code=code, retry_after_s=wait)


@contextlib.contextmanager
def faults(scheme: str = "") -> Iterator[None]:
    """Turn the failures of a request into faults; `scheme` is what was spoken."""
    try:
        yield
    except TimeoutError as error:
        raise TargetFault(Reason.TIMEOUT, "no answer in time") from error
    except aiohttp.ClientConnectorDNSError as error:
        raise TargetFault(Reason.DNS, f"the name does not resolve: {error.os_error}") from error
    except (aiohttp.ClientSSLError, ssl.SSLError) as error:
        raise TargetFault(Reason.TLS, _tls_text(error)) from error
    except aiohttp.ClientConnectorError as error:
        raise TargetFault(Reason.CONNECT, f"cannot connect: {os_text(error.os_error)}") from error
    except aiohttp.ServerDisconnectedError as error:
        hint = MAY_WANT.get(scheme, "")
        raise TargetFault(Reason.CLOSED, f"closed without an answer{hint}") from error
    except aiohttp.ClientOSError as error:
        raise TargetFault(Reason.CLOSED, f"the connection was closed: {os_text(error)}") from error
    except aiohttp.ClientPayloadError as error:
        raise TargetFault(Reason.GARBAGE, "the answer breaks off or is no HTTP") from error
    except aiohttp.ClientResponseError as error:
        raise TargetFault(Reason.GARBAGE, _answer_text(error)) from error
    except (aiohttp.ClientError, ValueError, socket.gaierror, UnicodeError) as error:
        raise TargetFault(Reason.GARBAGE, f"cannot be asked: {type(error).__name__}") from error


def _tls_text(error: BaseException) -> str:
    inner = getattr(error, "os_error", None) or getattr(error, "certificate_error", None) or error
    reason = getattr(inner, "verify_message", None) or getattr(inner, "reason", None) or str(inner)
    if reason in _NO_TLS:
        return f"the target does not speak TLS ({reason})"
    return f"TLS failed: {reason}"


def os_text(error: OSError) -> str:
    """What the system says of it, for people."""
    return os.strerror(error.errno) if error.errno else str(error)


def _answer_text(error: aiohttp.ClientResponseError) -> str:
    if _TLS_ALERT in error.message:
        return "no HTTP answer; the target speaks TLS, and http is configured"
    return "no HTTP answer, or headers beyond all bounds"
