"""A request as our pages and their protection see it: its head, where it comes from, its body."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from urllib.parse import unquote, urlsplit

import msgspec

from accelwatch.web.http.request_head import BadHeadError

_ENCODED = re.compile("(?:%[0-9A-Fa-f]{2})+")
# What stands for a byte of no UTF-8 (PEP 383).
_NO_UTF8, _LAST_NO_UTF8 = "\udc80", "\udcff"


class Headers(Mapping[str, str]):
    """Headers by name, whatever its case; of several of a name the first, and all by `getall`."""

    __slots__ = ("_values",)

    def __init__(self, fields: Iterable[tuple[bytes, bytes]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in fields:
            text = value.decode("utf-8", "surrogateescape")
            self._values.setdefault(name.decode("ascii").lower(), []).append(text)

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()][0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def getall(self, name: str, default: Sequence[str] = ()) -> Sequence[str]:
        """Every value, in the order of the request; the default when there is none."""
        return self._values.get(name.lower(), default)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request; its head is whole, its body may still be on its way."""

    method: str
    # Percent-decoded; the bytes of no UTF-8 stay encoded.
    path: str
    raw_query: str
    headers: Headers
    transport: asyncio.Transport
    # The body, once all is there. Raises ConnectionError when the client goes before.
    read: Callable[[], Awaitable[bytes]]

    @property
    def length(self) -> int:
        """Bytes of the body as its head says; 0 where it says nothing."""
        return int(self.headers.get("Content-Length", "0"))

    @property
    def remote(self) -> str:
        """The client's address; empty on a Unix socket."""
        peer = self.transport.get_extra_info("peername")
        return str(peer[0]) if isinstance(peer, tuple) else ""


def split_target(method: str, target: str) -> tuple[str, str]:
    """Path, decoded, and raw query of what a request is for. Raises BadHeadError.

    That is a path, a whole address, a host with its port (CONNECT) or `*` (RFC 9112, section 3.2).
    """
    if target.startswith("/"):
        path, _, query = target.partition("?")
        return decoded(path), query
    if target == "*":
        return target, ""
    if method == "CONNECT":
        return "", ""
    try:
        url = urlsplit(target)
    except ValueError as error:
        raise BadHeadError from error
    if not url.netloc:
        raise BadHeadError
    return decoded(url.path) or "/", url.query


def decoded(path: str) -> str:
    """A path without its percent signs; what is no UTF-8 keeps them, as it was written."""
    return _ENCODED.sub(_decoded_run, path) if "%" in path else path


def _decoded_run(match: re.Match[str]) -> str:
    written, at, text = match[0], 0, ""
    for letter in unquote(written, errors="surrogateescape"):
        if _NO_UTF8 <= letter <= _LAST_NO_UTF8:
            text += written[at : at + 3]
            at += 3
        else:
            text += letter
            at += 3 * len(letter.encode())
    return text
