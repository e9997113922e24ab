"""Bodies that are compressed where it is worth it, and documents as JSON."""

import msgspec

from accelwatch.web.pages.negotiation import accepts_gzip, gzipped
from accelwatch.web.pages.page import JSON, Headers, Page

_WORTH_BYTES = 2 << 10
# Packing more than this would delay the streams for longer than sending it.
_TOO_MUCH_BYTES = 1 << 20
_to_json = msgspec.json.Encoder().encode


def packed(body: bytes, media: str, accept_encoding: str) -> Page:
    """The page."""
    headers = {"Content-Type": media, "Cache-Control": "no-store", "Vary": "Accept-Encoding"}
    if _WORTH_BYTES <= len(body) <= _TOO_MUCH_BYTES and accepts_gzip(accept_encoding):
        body = gzipped(body)
        headers["Content-Encoding"] = "gzip"
    return Page(body=body, headers=headers)


def json_page(document: object, headers: Headers) -> Page:
    """A document as JSON."""
    return packed(_to_json(document) + b"\n", JSON, headers.get("Accept-Encoding", ""))
