"""Requests by aiohttp: over TLS, to discoveries and to stores; every failure becomes a fault.

It takes a tenth of a second and megabytes to load: this is imported where the first of them is made.
"""

import contextlib
import socket
import ssl
from collections.abc import Iterator

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.failures.texts import SCHEME_HINTS, USER_AGENT, check_code, os_text
from accelwatch.fleet.follow.http.resolver import Resolver

_READ_BUFFER = 64 << 10
_MAX_HEADER = 8190
# What OpenSSL says of bytes that are no TLS at all.
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST")
# How a TLS alert begins (RFC 8446, 5.1), as an error message shows it.
_TLS_ALERT = "\\x15\\x03"


class _Names(AbstractResolver):
    """Our resolver as aiohttp asks for it."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a name. Raises OSError."""
        return [
            ResolveResult(**address) for address in await self._resolver.resolve(host, port, family)
        ]

    async def close(self) -> None:
        """Nothing is held."""


def open_session(resolver: Resolver, connections: int = 0) -> aiohttp.ClientSession:
    """A session without proxies, cookies or deadlines of its own; bodies come as they are sent.

    `connections` is how many it may have at a time, 0 as many as are needed.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            limit=connections, ttl_dns_cache=30, resolver=_Names(resolver)
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        timeout=aiohttp.ClientTimeout(total=None),
        read_bufsize=_READ_BUFFER,
        max_line_size=_MAX_HEADER,
        max_field_size=_MAX_HEADER,
        headers={"User-Agent": USER_AGENT},
    )


def check_status(response: aiohttp.ClientResponse) -> None:
    """Raise TargetFault for any code but 200."""
    check_code(response.status, response.headers.get("Retry-After"))


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
        hint = SCHEME_HINTS.get(scheme, "")
        raise TargetFault(Reason.CLOSED, f"closed without an answer{hint}") from error
    except aiohttp.ClientOSError as error:
        raise TargetFault(Reason.CLOSED, f"the connection was closed: {os_text(error)}") from error
    except aiohttp.ClientPayloadError as error:
        raise TargetFault(Reason.GARBAGE, "connection closed mid-response, or not HTTP") from error
    except aiohttp.ClientResponseError as error:
        raise TargetFault(Reason.GARBAGE, _answer_text(error)) from error
    except (aiohttp.ClientError, ValueError, socket.gaierror, UnicodeError) as error:
        raise TargetFault(Reason.GARBAGE, f"request failed: {type(error).__name__}") from error


def _tls_text(error: BaseException) -> str:
    inner = getattr(error, "os_error", None) or getattr(error, "certificate_error", None) or error
    reason = getattr(inner, "verify_message", None) or getattr(inner, "reason", None) or str(inner)
    if reason in _NO_TLS:
        return f"the target does not speak TLS ({reason})"
    return f"TLS failed: {reason}"


def _answer_text(error: aiohttp.ClientResponseError) -> str:
    if _TLS_ALERT in error.message:
        return "no HTTP answer; the target speaks TLS, and http is configured"
    return "no HTTP answer, or headers beyond all bounds"
