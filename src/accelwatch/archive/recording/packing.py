"""Packs lines into a block so that each line can be read back as soon as it is written.

The end of a block does not come from the packer but from what was written: a block can be ended properly
after a line that did not fit on the disk, although the packer has swallowed that line.
"""

import struct
import zlib
from typing import Protocol

import zstandard

from accelwatch.archive.recording.layout import Compression

_LEVEL = 3
_LINES = 2
# Of zstd's level 3 the window is the largest, and so are the tables.
_SMALLEST_WINDOW, _LARGEST_WINDOW = 17, 21
_LARGEST_TABLE = 17
_GZIP_WBITS = 31
# Raw, empty, the last one: RFC 8878, 3.1.1.2.
_LAST_ZSTD_BLOCK = b"\x01\x00\x00"
# Fixed codes, empty, the last one: RFC 1951, 3.2.6; gzip's trailer follows it.
_LAST_DEFLATE_BLOCK = b"\x03\x00"


class Packer(Protocol):
    """Packs the lines of one block."""

    def add(self, line: bytes) -> bytes:
        """Packed bytes from which, after all before, the line can be unpacked at once."""
        ...


class _Zstd:
    """Remembers a few lines: what is further back is of little use, and needs memory all the same."""

    def __init__(self) -> None:
        self._stream: zstandard.ZstdCompressionObj | None = None

    def add(self, line: bytes) -> bytes:
        if self._stream is None:
            self._stream = _compressor(len(line)).compressobj()
        packed = self._stream.compress(line)
        return packed + self._stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)


def _compressor(line_bytes: int) -> zstandard.ZstdCompressor:
    """For lines of about this size; the window is a power of two (RFC 8878, 3.1.1.1.2)."""
    window = min(max((_LINES * line_bytes).bit_length(), _SMALLEST_WINDOW), _LARGEST_WINDOW)
    table = min(window - 4, _LARGEST_TABLE)
    parameters = zstandard.ZstdCompressionParameters.from_level(
        _LEVEL,
        window_log=window,
        hash_log=table,
        chain_log=table,
        write_checksum=False,
        write_content_size=False,
    )
    return zstandard.ZstdCompressor(compression_params=parameters)


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
