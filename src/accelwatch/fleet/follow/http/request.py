"""Requests over HTTP/1.1, and paths as they are sent (RFC 9112)."""

import re
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

import h11

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault

_PLAIN = "/:@!$&'()*+,;=-._~%"
_LONE = re.compile(r"%(?![0-9A-Fa-f]{2})")
# Of an IPv6 address: it says which way to go, and the other side has no use for it.
_ZONE = re.compile(r"%[^\]]*")


class Request:
    """A request that may be sent again and again."""

    def __init__(
        self,
        method: str,
        path: str,
        authority: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> None:
        """For a path with its query. Raises TargetFault for what cannot be sent."""
        fields = {"Host": _ZONE.sub("", authority), **headers}
        if body is not None or method == "POST":
            fields["Content-Length"] = str(len(body or b""))
        try:
            encoded = [(name.encode(), value.encode()) for name, value in fields.items()]
            self._event = h11.Request(method=method, target=path, headers=encoded)
        except (h11.LocalProtocolError, UnicodeError) as error:
            raise _unsendable(error) from error
        self._body = body

    def encode(self, http: h11.Connection) -> bytes:
        """Its bytes, of which the connection then expects the answer."""
        sent = http.send(self._event)
        if self._body:
            sent += http.send(h11.Data(data=self._body))
        return sent + http.send(h11.EndOfMessage())


def path_of(url: str) -> str:
    """Path and query of a URL as a request has them. Raises TargetFault for half a character."""
    try:
        components = urlsplit(url)
        path = quote(_LONE.sub("%25", components.path), safe=_PLAIN) or "/"
        query = quote(_LONE.sub("%25", components.query), safe=_PLAIN + "?")
    except ValueError as error:
        raise _unsendable(error) from error
    return f"{path}?{query}" if query else path


def _unsendable(error: Exception) -> TargetFault:
    return TargetFault(Reason.GARBAGE, f"request failed: {type(error).__name__}")
