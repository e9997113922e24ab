"""Why a request's body is refused: no page reads one, so none is inflated or waited for.

A body is judged by the headers alone and before credentials are: whoever can connect could otherwise
have us inflate megabytes to gigabytes without being known.
"""

from multidict import CIMultiDictProxy

from accelwatch.web.page import Page, plain

MAX_BODY = 64 << 10
"""Bytes of a body that are read past, for clients that send one where none is needed."""


def refusal_of_body(headers: CIMultiDictProxy[str], length: int | None) -> Page | None:
    """The answer to a body that is not taken: encoded (415), chunked or too long (413)."""
    encodings = ",".join(headers.getall("Content-Encoding", ()))
    if any(encoding.strip().lower() not in ("", "identity") for encoding in encodings.split(",")):
        return plain(415, "a request needs no body, and none with Content-Encoding is read")
    if (length or 0) > MAX_BODY or "Transfer-Encoding" in headers:
        return plain(413, "a request needs no body")
    return None
