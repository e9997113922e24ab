"""Frames of every stream and pipe of ours: a big-endian four-byte length, then as many bytes."""

from collections.abc import Iterator

from accelwatch.base.errors import WireError

PREFIX_BYTES = 4


class FrameSizeError(WireError):
    """A length is announced that nobody may send; the stream is damaged, or hostile."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"a frame of {size} bytes; at most {limit} are taken")


def frame(body: bytes) -> bytes:
    """The body with its length before it."""
    return len(body).to_bytes(PREFIX_BYTES, "big") + body


def body_size(prefix: bytes | bytearray, limit: int) -> int:
    """The length that a prefix announces. Raises FrameSizeError before anything of it is held."""
    size = int.from_bytes(prefix, "big")
    if size > limit:
        raise FrameSizeError(size, limit)
    return size


class Splitter:
    """Cuts a byte stream into frame bodies; holds at most one unfinished frame."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pending = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The bodies that `chunk` completes; each is read once given. Raises FrameSizeError."""
        size = len(chunk) - PREFIX_BYTES
        prefix = int.from_bytes(chunk[:PREFIX_BYTES], "big")
        if not self._pending and prefix == size <= self._limit:  # one frame, as most come
            yield bytes(chunk[PREFIX_BYTES:])
            return
        buffered: bytes | bytearray = chunk
        if self._pending:
            self._pending += chunk
            buffered = self._pending
        offset = 0
        try:
            while len(buffered) - offset >= PREFIX_BYTES:
                start = offset + PREFIX_BYTES
                end = start + body_size(buffered[offset:start], self._limit)
                if len(buffered) < end:
                    return
                offset = end
                yield bytes(buffered[start:end])
        finally:
            # A new one: an emptied bytearray keeps its room, kilobytes in each of thousands of streams.
            if offset or buffered is chunk:
                self._pending = bytearray(buffered[offset:])
