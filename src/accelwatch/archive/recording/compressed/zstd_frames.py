"""Walks zstd frames piece by piece: where one ends is known without unpacking it.

A piece unpacks to at most 128 KiB (RFC 8878, 3.1.1.2.4), so that no frame can fill the memory.
"""

import re
from collections.abc import Iterable, Iterator

import zstandard

from accelwatch.archive.recording.layout import SKIPPABLE_TAIL, ZSTD_MAGIC, DamageError
from accelwatch.archive.recording.window import Window

# Bytes that unpacking may hold; level 19 of the zstd program needs 8 MiB.
MAX_WINDOW = 32 << 20
_MAX_BLOCK = 128 << 10
_RLE, _RESERVED = 1, 3
_START = re.compile(re.escape(ZSTD_MAGIC) + b"|[\x50-\x5f]" + re.escape(SKIPPABLE_TAIL))


def skippable(window: Window, offset: int) -> int | None:
    """Content size of the skippable frame that begins there; None when none does."""
    head = window.read(offset, 8)
    if len(head) < 8 or head[0] >> 4 != 5 or head[1:4] != SKIPPABLE_TAIL:
        return None
    return int.from_bytes(head[4:8], "little")


def starts_at(window: Window, offset: int) -> bool:
    """Whether a zstd frame begins there."""
    return window.read(offset, 4) == ZSTD_MAGIC


def next_frame(window: Window, offset: int) -> int:
    """Where the next frame may begin, at `offset` or behind it; the file's size when none does."""
    return window.find(_START, 4, offset)


def pieces(window: Window, offset: int) -> Iterator[bytes]:
    """The frame's header, then each of its blocks; the last one with the checksum.

    A frame may lack its end, which did not fit on the disk: it ends where another one begins, of which
    no block header can be the beginning.

    Raises EOFError where the file ends within the frame, DamageError where it is damaged.
    """
    head = _header(window, offset)
    yield head
    offset += len(head)
    last = False
    while not last:
        header = int.from_bytes(_exactly(window, offset, 3), "little")
        last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        if kind == _RESERVED or size > _MAX_BLOCK:
            if starts_at(window, offset):
                return
            raise DamageError(f"damaged zstd block at byte {offset}")
        length = 3 + (1 if kind == _RLE else size) + (4 if last and head[4] & 4 else 0)
        yield _exactly(window, offset, length)
        offset += length


def _header(window: Window, offset: int) -> bytes:
    """Magic and frame header (RFC 8878, 3.1.1.1)."""
    start = _exactly(window, offset, 5)
    descriptor = start[4]
    if start[:4] != ZSTD_MAGIC or descriptor & 8:
        raise DamageError(f"no zstd frame at byte {offset}")
    single = descriptor >> 5 & 1
    size_bytes = (single, 2, 4, 8)[descriptor >> 6]
    dictionary_bytes = (0, 1, 2, 4)[descriptor & 3]
    return _exactly(window, offset, 5 + (1 - single) + dictionary_bytes + size_bytes)


def _exactly(window: Window, offset: int, count: int) -> bytes:
    content = window.read(offset, count)
    if len(content) < count:
        raise EOFError
    return content


def unpacked(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """What the pieces of one frame hold. Raises DamageError for damage."""
    stream = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).decompressobj()
    for chunk in chunks:
        try:
            content = stream.decompress(chunk)
        except zstandard.ZstdError as error:
            raise DamageError(f"damaged zstd frame: {error}") from error
        if content:
            yield content
