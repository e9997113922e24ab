"""Why a request's body is refused: the few pages that read one need little, and nothing is inflated.

A body is judged by the headers alone and before credentials are: whoever can connect could otherwise
have us inflate megabytes to gigabytes without being known.
"""

from collections.abc import Iterable
from typing import Protocol

from accelwatch.web.pages.page import Page, plain

# Bytes of a body that are accepted, or skipped where none is needed.
MAX_BODY = 64 << 10


class BodyHeaders(Protocol):
    """Headers by name, whatever its case."""

    def getall(self, name: str, default: tuple[str, ...]) -> Iterable[str]:
        """Every value of a header."""
        ...

    def __contains__(self, name: object) -> bool: ...


def refusal_of_body(headers: BodyHeaders, length: int | None) -> Page | None:
    """The answer to a refused body: encoded (415), chunked or too long (413)."""
    encodings = ",".join(headers.getall("Content-Encoding", ()))
    if any(encoding.strip().lower() not in ("", "identity") for encoding in encodings.split(",")):
        return plain(415, "no body with a Content-Encoding is read")
    if (length or 0) > MAX_BODY or "Transfer-Encoding" in headers:
        return plain(
            413, f"no body is read that has more than {MAX_BODY} bytes or no Content-Length"
        )
    return None
