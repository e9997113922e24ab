"""Unpacks gzip members in bounded steps and says where each ends."""

import re
import zlib
from collections.abc import Iterator

from accelwatch.archive.recording.layout import GZIP_MAGIC, DamageError
from accelwatch.archive.recording.window import Window

_INPUT = 16 << 10
_OUTPUT = 64 << 10
_MAGIC = GZIP_MAGIC + b"\x08"
_START = re.compile(re.escape(_MAGIC))


def next_member(window: Window, offset: int) -> int:
    """Where the next member may begin, at `offset` or behind it; the file's size when none does."""
    return window.find(_START, len(_MAGIC), offset)


def starts_at(window: Window, offset: int) -> bool:
    """Whether a member begins there."""
    return window.read(offset, 3) == _MAGIC


def unpacked(window: Window, offset: int) -> Iterator[tuple[bytes, int]]:
    """What the member at `offset` holds, each piece with the offset up to which it was read.

    Raises EOFError where the file ends within the member, DamageError where it is damaged.
    """
    stream = zlib.decompressobj(wbits=31)
    while not stream.eof:
        packed = window.read(offset, _INPUT)
        if not packed:
            raise EOFError
        content = _step(stream, packed)
        left = stream.unused_data or stream.unconsumed_tail
        used = len(packed) - len(left)
        offset += used
        if content or stream.eof:
            yield content, offset
        elif not used:
            raise DamageError("damaged gzip member")


def _step(stream: "zlib._Decompress", packed: bytes) -> bytes:
    try:
        return stream.decompress(packed, _OUTPUT)
    except zlib.error as error:
        raise DamageError(f"damaged gzip member: {error}") from error
