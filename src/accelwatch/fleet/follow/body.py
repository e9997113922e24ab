"""A bounded body: read within limits, unpacked within the same limits."""

import zlib

import aiohttp

from accelwatch.fleet.follow.faults import Reason, TargetFault

_GZIP = 16 + zlib.MAX_WBITS


async def read_body(response: aiohttp.ClientResponse, limit_bytes: int) -> bytes:
    """The body, unpacked when it is gzip. Raises TargetFault above the limit and for damage.

    The limit holds for what is sent as well: there is no end to a body that unpacks to nothing.
    """
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip", ""):
        raise TargetFault(Reason.GARBAGE, f"packed as {coding[:20]!r}, which was not asked for")
    unpack = _Gzip() if coding == "gzip" else None
    parts: list[bytes] = []
    sent = total = 0
    async for chunk in response.content.iter_any():
        sent += len(chunk)
        piece = chunk if unpack is None else unpack.feed(chunk, limit_bytes - total)
        total += len(piece)
        if max(sent, total) > limit_bytes:
            raise TargetFault(Reason.TOO_LARGE, f"a body of more than {limit_bytes} bytes")
        parts.append(piece)
    if unpack is not None and not unpack.complete:
        raise TargetFault(Reason.GARBAGE, "the body ends before it is complete")
    return b"".join(parts)


class _Gzip:
    """One gzip body, unpacked piece by piece."""

    def __init__(self) -> None:
        self._unpack = zlib.decompressobj(_GZIP)

    @property
    def complete(self) -> bool:
        """Whether its end has come."""
        return self._unpack.eof

    def feed(self, chunk: bytes, left: int) -> bytes:
        """What a chunk unpacks to, at most a byte more than `left`. Raises TargetFault."""
        if self._unpack.eof:
            raise TargetFault(Reason.GARBAGE, "the body goes on after the end of its gzip")
        try:
            piece = self._unpack.decompress(chunk, left + 1)
        except zlib.error as error:
            raise TargetFault(Reason.GARBAGE, "the body is no gzip") from error
        if self._unpack.unused_data:
            raise TargetFault(Reason.GARBAGE, "the body goes on after the end of its gzip")
        return piece
