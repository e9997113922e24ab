"""A bounded body: read piece by piece within limits, unpacked within the same limits."""

import zlib
from collections.abc import Callable, Mapping
from typing import Protocol

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault

_GZIP = 16 + zlib.MAX_WBITS
# Of a body, until they are put together.
_MOST_CHUNKS = 1024


class BodyReader(Protocol):
    """Reads the body of an answer as it comes."""

    def feed(self, chunk: bytes, /) -> None:
        """Another piece as it was sent. Raises TargetFault for a refused one."""
        ...

    def read_all(self) -> bytes:
        """What is kept of it, once the answer has ended. Raises TargetFault when it is not complete."""
        ...


# Makes the reader of a body, by its headers in lower case. Raises TargetFault for an unrequested one.
OpenBody = Callable[[Mapping[str, str]], BodyReader]


class BodyPrefix:
    """The first bytes of a body as it is sent; what comes after them is not kept."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._kept = b""

    @property
    def enough(self) -> bool:
        """Whether no more is wanted."""
        return len(self._kept) >= self._most

    def feed(self, chunk: bytes) -> None:
        """Another piece."""
        self._kept += chunk[: self._most - len(self._kept)]

    def read_all(self) -> bytes:
        """What is kept of it."""
        return self._kept


class Body:
    """One body as it comes. The limit holds for what is sent as for what that unpacks to.

    There is no end to a body that unpacks to nothing.
    """

    def __init__(self, coding: str | None, limit_bytes: int) -> None:
        """`coding` is its header Content-Encoding. Raises TargetFault for one that was not requested."""
        coding = (coding or "identity").strip().lower()
        if coding not in ("identity", "gzip", ""):
            raise TargetFault(
                Reason.GARBAGE, f"encoded as {coding[:20]!r}, which was not requested"
            )
        self._unpack = _Gzip() if coding == "gzip" else None
        self._limit = limit_bytes
        # Few: each is an object of its own, and a chunk may be a byte.
        self._chunks: list[bytes] = []
        self._sent = self._total = 0

    def feed(self, chunk: bytes) -> None:
        """Another piece as it was sent. Raises TargetFault above the limit and for damage."""
        self._sent += len(chunk)
        unpack = self._unpack
        piece = chunk if unpack is None else unpack.feed(chunk, self._limit - self._total)
        self._total += len(piece)
        if self._sent > self._limit or self._total > self._limit:
            raise TargetFault(Reason.TOO_LARGE, f"a body of more than {self._limit} bytes")
        if len(self._chunks) == _MOST_CHUNKS:
            self._chunks = [b"".join(self._chunks)]
        self._chunks.append(piece)

    def read_all(self) -> bytes:
        """All of it, once the answer has ended. Raises TargetFault when its gzip has not."""
        if self._unpack is not None and not self._unpack.complete:
            raise TargetFault(Reason.GARBAGE, "the body ends before it is complete")
        return b"".join(self._chunks)


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
            raise TargetFault(Reason.GARBAGE, "the body continues after the end of its gzip stream")
        try:
            piece = self._unpack.decompress(chunk, left + 1)
        except zlib.error as error:
            raise TargetFault(Reason.GARBAGE, "the body is not gzip") from error
        if self._unpack.unused_data:
            raise TargetFault(Reason.GARBAGE, "the body continues after the end of its gzip stream")
        return piece
