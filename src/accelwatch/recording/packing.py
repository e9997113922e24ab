"""Packs lines into a block so that each line can be read back as soon as it is written.

The end of a block does not come from the packer but from what was written: a block can be ended properly
after a line that did not fit on the disk, although the packer has swallowed that line.
"""

import struct
import zlib
from typing import Protocol

import zstandard

from accelwatch.recording.layout import Compression

_LEVEL = 3
_GZIP_WBITS = 31
_LAST_ZSTD_BLOCK = b"\x01\x00\x00"
"""Raw, empty, the last one: RFC 8878, 3.1.1.2."""
_LAST_DEFLATE_BLOCK = b"\x03\x00"
"""Fixed codes, empty, the last one: RFC 1951, 3.2.6; gzip's trailer follows it."""


class Packer(Protocol):
    """Packs the lines of one block."""

    def add(self, line: bytes) -> bytes:
        """Packed bytes from which, after all before, the line can be unpacked at once."""
        ...


class _Zstd:
    def __init__(self) -> None:
        self._stream = zstandard.ZstdCompressor(
            level=_LEVEL, write_checksum=False, write_content_size=False
        ).compressobj()

    def add(self, line: bytes) -> bytes:
        packed = self._stream.compress(line)
        return packed + self._stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)


class _Gzip:
    def __init__(self) -> None:
        self._stream = zlib.compressobj(level=6, wbits=_GZIP_WBITS)

    def add(self, line: bytes) -> bytes:
        return self._stream.compress(line) + self._stream.flush(zlib.Z_SYNC_FLUSH)


class _Plain:
    def add(self, line: bytes) -> bytes:
        return line


def new_packer(compression: Compression) -> Packer:
    """A packer for one block."""
    match compression:
        case Compression.ZSTD:
            return _Zstd()
        case Compression.GZIP:
            return _Gzip()
        case Compression.NONE:
            return _Plain()


def block_end(compression: Compression, content_crc: int, content_bytes: int) -> bytes:
    """What ends a block, given CRC-32 and size of the lines that were written of it."""
    match compression:
        case Compression.ZSTD:
            return _LAST_ZSTD_BLOCK
        case Compression.GZIP:
            return _LAST_DEFLATE_BLOCK + struct.pack("<II", content_crc, content_bytes & 0xFFFFFFFF)
        case Compression.NONE:
            return b""
