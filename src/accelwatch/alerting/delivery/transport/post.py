"""Requests of sinks and hooks: one deadline, a bounded answer, no redirects, proxies or cookies.

The text of a failure never has the URL, for a receiver's address often is its secret.
"""

import asyncio
import os
import ssl
import time
from collections.abc import Mapping

import aiohttp
import msgspec

from accelwatch.alerting.sink import Outcome, Status
from accelwatch.base.backoff import retry_after
from accelwatch.base.errors import ConfigError
from accelwatch.base.version import __version__
from accelwatch.system.files.file_rights import check_not_open

MOST_ANSWER_BYTES = 64 << 10
# Codes with which a receiver refuses a message for good; other failures may be repaired there.
_REFUSALS = frozenset({400, 405, 406, 411, 413, 414, 415, 422})


class ReceiverResponse(msgspec.Struct, frozen=True, kw_only=True):
    """What a receiver answered; of a long body only the beginning."""

    code: int
    body: bytes = b""
    retry_after_s: float | None = None
    # The header `Location`, as it came.
    location: str = ""

    @property
    def well(self) -> bool:
        """Whether the request was granted."""
        return 200 <= self.code < 300


class PostError(Exception):
    """No answer; the text says why, without the URL."""

    def __init__(self, text: str, *, sent: bool = True) -> None:
        super().__init__(text)
        # Whether the receiver may have got the request all the same.
        self.sent = sent


class Poster:
    """Sends the requests of one sink or hook; its session begins with the first."""

    def __init__(
        self,
        timeout_s: float,
        ca_file: str = "",
        connections: int = 2,
        certificate: tuple[str, str] | None = None,
    ) -> None:
        """`certificate` is our own with its key, as files. Raises ConfigError for a file of no use."""
        self._timeout_s = timeout_s
        self._connections = connections
        self._tls = tls_context(ca_file, certificate)
        self._session: aiohttp.ClientSession | None = None

    async def post(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        *,
        method: str = "POST",
        reads_body: bool = False,
    ) -> ReceiverResponse:
        """The answer; its body only with `reads_body`. Raises PostError."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._request(url, body, headers or {}, method, reads_body)
        except TimeoutError:
            raise PostError(f"no answer within {self._timeout_s:g} s") from None
        except ssl.SSLError as error:
            sent = not isinstance(error, aiohttp.ClientConnectorError)
            raise PostError(f"TLS failed: {error.reason}", sent=sent) from None
        except aiohttp.ClientConnectorDNSError:
            raise PostError("the name does not resolve", sent=False) from None
        except aiohttp.ClientSSLError as error:
            inner = getattr(error, "certificate_error", None) or error.os_error
            reason = (
                getattr(inner, "verify_message", "") or getattr(inner, "reason", "") or "refused"
            )
            raise PostError(f"TLS failed: {reason}", sent=False) from None
        except aiohttp.ClientOSError as error:
            text = os.strerror(error.errno) if error.errno else "connection lost"
            sent = not isinstance(error, aiohttp.ClientConnectorError)
            raise PostError(f"cannot be reached: {text}", sent=sent) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise PostError(f"no HTTP answer: {type(error).__name__}") from None

    async def _request(
        self, url: str, body: bytes, headers: Mapping[str, str], method: str, reads_body: bool
    ) -> ReceiverResponse:
        async with self._opened().request(
            method, url, data=body, headers=headers, allow_redirects=False, ssl=self._tls
        ) as response:
            code = response.status
            content = b""
            if reads_body:
                content = await _read_limited(response.content)
            else:
                # The code says whether it was accepted; a receiver that drips must not undo that.
                response.close()
            return ReceiverResponse(
                code=code,
                body=content,
                retry_after_s=retry_after(response.headers.get("Retry-After"), time.time()),
                location=response.headers.get("Location", ""),
            )

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                timeout=aiohttp.ClientTimeout(total=None),
                headers={"User-Agent": f"accelwatch/{__version__}"},
            )
        return self._session

    async def close(self) -> None:
        """Give the connections back."""
        if self._session is not None:
            await self._session.close()


async def _read_limited(stream: aiohttp.StreamReader) -> bytes:
    content = bytearray()
    while len(content) < MOST_ANSWER_BYTES:
        chunk = await stream.read(MOST_ANSWER_BYTES - len(content))
        if not chunk:
            break
        content += chunk
    return bytes(content)


def tls_context(ca_file: str, certificate: tuple[str, str] | None = None) -> ssl.SSLContext | bool:
    """How servers are checked, by the system's authorities or those of a file, and what they are shown.

    Raises ConfigError.
    """
    if not ca_file and certificate is None:
        return True
    check_not_open(ca_file, *(certificate or ()))
    try:
        context = ssl.create_default_context(cafile=ca_file or None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"ca_file: {ca_file}: no certificates can be read from it") from error
    if certificate is not None:
        try:
            context.load_cert_chain(*certificate, password=_no_password)
        except (OSError, ssl.SSLError, ValueError) as error:
            raise ConfigError(
                f"cert_file: {certificate[0]}: not a certificate with the key of {certificate[1]}"
            ) from error
    return context


def _no_password() -> str:
    raise ValueError("the key is encrypted, which is not supported")


def outcome_of(answer: ReceiverResponse, reference: str = "") -> Outcome:
    """What an answer means by its code alone."""
    if answer.well:
        return Outcome(status=Status.DELIVERED, reference=reference)
    hint = {
        401: "; check the credentials",
        403: "; check the credentials",
        404: "; check the URL",
    }.get(answer.code, "")
    if 300 <= answer.code < 400:
        hint = "; redirects are not followed"
    return Outcome(
        status=Status.REFUSED if answer.code in _REFUSALS else Status.RETRY,
        retry_after_s=answer.retry_after_s,
        message=f"answered {answer.code}{hint}",
        reference=reference,
    )


def failed(error: PostError, reference: str = "") -> Outcome:
    """What no answer means."""
    return Outcome(status=Status.RETRY, message=str(error), reference=reference)
