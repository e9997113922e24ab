"""Requests over HTTP/1.1 as their bytes (RFC 9112)."""

import re
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

_PLAIN = "/:@!$&'()*+,;=-._~%"
_LONE = re.compile(r"%(?![0-9A-Fa-f]{2})")
# Of an IPv6 address: it says which way to go, and the other side has no use for it.
_ZONE = re.compile(r"%[^\]]*")


def request(
    method: str, path: str, authority: str, headers: Mapping[str, str], body: bytes | None = None
) -> bytes:
    """A request for a path with its query. Raises UnicodeError."""
    fields = {"Host": _ZONE.sub("", authority), **headers}
    if body is not None or method == "POST":
        fields["Content-Length"] = str(len(body or b""))
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + (body or b"")


def path_of(url: str) -> str:
    """Path and query of a URL as a request has them. Raises ValueError."""
    components = urlsplit(url)
    path = quote(_LONE.sub("%25", components.path), safe=_PLAIN) or "/"
    query = quote(_LONE.sub("%25", components.query), safe=_PLAIN + "?")
    return f"{path}?{query}" if query else path
