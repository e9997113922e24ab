"""A body as a page, compressed when the client takes it and it is worth it."""

import gzip

from accelwatch.agent.negotiation import takes_gzip
from accelwatch.agent.page import Page

_WORTH_BYTES = 2 << 10
_TOO_MUCH_BYTES = 1 << 20
"""Packing more than this would hold up the streams for longer than sending it takes."""


def packed(body: bytes, media: str, accept_encoding: str) -> Page:
    """The page."""
    headers = {"Content-Type": media, "Cache-Control": "no-store", "Vary": "Accept-Encoding"}
    if _WORTH_BYTES <= len(body) <= _TOO_MUCH_BYTES and takes_gzip(accept_encoding):
        body = gzip.compress(body, compresslevel=1, mtime=0)
        headers["Content-Encoding"] = "gzip"
    return Page(body=body, headers=headers)
