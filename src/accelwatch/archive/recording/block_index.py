"""The index of one block: a skippable zstd frame behind it, which every zstd program passes over.

It holds a checksum of the packed block, and time and checksum of each document, so that opening a
recording unpacks nothing, and a damaged block still gives the documents whose checksums match.
"""

import math
import re
import struct
import zlib

import msgspec

from accelwatch.archive.recording.layout import MAX_BLOCK
from accelwatch.schema.snapshot import SCHEMA

_FRAME = struct.Struct("<4sI")
_SIGNATURE = b"accelwix"
# Mark, CRC of what follows it, schema's major, packed bytes, CRC of them, unpacked bytes, documents.
_HEAD = struct.Struct("<8sIIQIQI")
# Of the 16 skippable frames the one that is ours.
FRAME_MAGIC = b"\x5a\x2a\x4d\x18"
# How an index begins, and how many bytes that are.
START = re.compile(re.escape(FRAME_MAGIC) + b"...." + re.escape(_SIGNATURE), re.DOTALL)
START_BYTES = _FRAME.size + len(_SIGNATURE)
# Where that begins which the first CRC covers.
_BODY = 12
_MAX_DOCUMENTS = 4096
# Bytes of the longest index that is believed.
MAX_BYTES = _HEAD.size + 12 * _MAX_DOCUMENTS
# Major version of the schema that this program writes and reads.
MAJOR = int(SCHEMA.rpartition("/")[2])


class BlockIndex(msgspec.Struct, frozen=True, kw_only=True):
    """An index's record of the block before it. Sizes in bytes, times in Unix seconds."""

    packed: int
    # CRC-32 of the packed bytes.
    checksum: int
    unpacked: int
    times: tuple[float, ...]
    # CRC-32 of each document, without its line break.
    checksums: tuple[int, ...]
    major: int = MAJOR


def pack(index: BlockIndex) -> bytes:
    """The index as a skippable frame (RFC 8878, 3.1.2)."""
    count = len(index.times)
    head = _HEAD.pack(
        _SIGNATURE, 0, index.major, index.packed, index.checksum, index.unpacked, count
    )
    body = head[_BODY:] + struct.pack(f"<{count}d{count}I", *index.times, *index.checksums)
    frame = _SIGNATURE + struct.pack("<I", zlib.crc32(body)) + body
    return _FRAME.pack(FRAME_MAGIC, len(frame)) + frame


def unpack(content: bytes) -> BlockIndex | None:
    """The index from the content of a skippable frame; None for anything else and for damage."""
    if len(content) < _HEAD.size or len(content) > MAX_BYTES:
        return None
    signature, own, major, packed, checksum, unpacked, count = _HEAD.unpack_from(content)
    if signature != _SIGNATURE or zlib.crc32(content[_BODY:]) != own:
        return None
    if len(content) != _HEAD.size + 12 * count or count == 0 or unpacked > MAX_BLOCK:
        return None
    rows = struct.unpack_from(f"<{count}d{count}I", content, _HEAD.size)
    times = rows[:count]
    if not all(math.isfinite(time) for time in times):
        return None
    return BlockIndex(
        packed=packed,
        checksum=checksum,
        unpacked=unpacked,
        times=times,
        checksums=rows[count:],
        major=major,
    )
