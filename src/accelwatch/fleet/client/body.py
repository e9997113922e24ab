"""A bounded body: read within limits, unpacked within the same limits."""

import zlib

import aiohttp

from accelwatch.fleet.client.faults import Reason, TargetFault

_GZIP = 16 + zlib.MAX_WBITS


async def read_body(response: aiohttp.ClientResponse, limit_bytes: int) -> bytes:
    """The body, unpacked when it is gzip. Raises TargetFault above the limit and for damage."""
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip", ""):
        raise TargetFault(Reason.GARBAGE, f"packed as {coding[:20]!r}, which was not asked for")
    unpack = zlib.decompressobj(_GZIP) if coding == "gzip" else None
    parts: list[bytes] = []
    total = 0
    async for chunk in response.content.iter_any():
        piece = chunk if unpack is None else _unpacked(unpack, chunk, limit_bytes - total)
        total += len(piece)
        if total > limit_bytes or (unpack is not None and unpack.unconsumed_tail):
            raise TargetFault(Reason.TOO_LARGE, f"a body of more than {limit_bytes} bytes")
        parts.append(piece)
    if unpack is not None and not unpack.eof:
        raise TargetFault(Reason.GARBAGE, "the body ends before it is complete")
    return b"".join(parts)


def _unpacked(unpack: "zlib._Decompress", chunk: bytes, left: int) -> bytes:
    try:
        return unpack.decompress(chunk, left + 1)
    except zlib.error as error:
        raise TargetFault(Reason.GARBAGE, "the body is no gzip") from error
