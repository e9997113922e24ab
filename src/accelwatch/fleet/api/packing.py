"""Bodies as pages, compressed when the client takes it and it is worth it; large ones in pieces."""

import gzip
from collections.abc import AsyncIterator

import msgspec

from accelwatch.web.negotiation import takes_gzip
from accelwatch.web.page import JSON, Headers, Page

_WORTH_BYTES = 2 << 10
_TOO_MUCH_BYTES = 1 << 20
"""Packing more than this would hold up the streams for longer than sending it takes."""
_LARGE_BYTES = 1 << 20
_PIECE_ROWS = 500
_to_json = msgspec.json.Encoder().encode


def packed(body: bytes, media: str, accept_encoding: str) -> Page:
    """The page."""
    headers = {"Content-Type": media, "Cache-Control": "no-store", "Vary": "Accept-Encoding"}
    if _WORTH_BYTES <= len(body) <= _TOO_MUCH_BYTES and takes_gzip(accept_encoding):
        body = gzip.compress(body, compresslevel=1, mtime=0)
        headers["Content-Encoding"] = "gzip"
    return Page(body=body, headers=headers)


def listed(name: str, rows: list[bytes], following: str | None, headers: Headers) -> Page:
    """`NodesPage` or `DevicesPage` of rows that are JSON already; a large one goes out in pieces."""
    begin, end = b'{"%b":[' % name.encode(), b'],"next":%b}\n' % _to_json(following)
    if sum(map(len, rows)) <= _LARGE_BYTES:
        body = begin + b",".join(rows) + end
        return packed(body, JSON, headers.get("Accept-Encoding", ""))

    async def parts() -> AsyncIterator[bytes]:
        for at in range(0, len(rows), _PIECE_ROWS):
            yield (b"," if at else begin) + b",".join(rows[at : at + _PIECE_ROWS])
        yield end

    told = {"Content-Type": JSON, "Cache-Control": "no-store"}
    return Page(body=b"", headers=told, parts=parts)


def json_page(document: object, headers: Headers) -> Page:
    """A document as JSON."""
    return packed(_to_json(document) + b"\n", JSON, headers.get("Accept-Encoding", ""))
