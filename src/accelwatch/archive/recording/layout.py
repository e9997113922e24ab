"""What a recording is made of: one `accelwatch/2` document a line, in blocks of whole lines.

A block is a zstd frame, a gzip member or, in a plain file, just some lines.
docs/recording.md has the whole format.
"""

from enum import StrEnum

from accelwatch.base.errors import WireError

# Bytes of one document that are read; 1,000 devices with two processes each need 4.7 MB.
MAX_LINE = 16 << 20
# Documents after which the recorder ends a block: what a jump costs at most.
BLOCK_DOCUMENTS = 64
# Unpacked bytes after which the recorder ends a block.
BLOCK_BYTES = 4 << 20
# Unpacked bytes of a block whose index is believed.
MAX_BLOCK = BLOCK_BYTES + MAX_LINE
# Ends the name of a file that is being written.
PARTIAL_SUFFIX = ".part"

# RFC 1952, 2.3.1.
GZIP_MAGIC = b"\x1f\x8b"
# RFC 8878, 3.1.1.
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
# A skippable frame begins with one of 0x50 to 0x5f and this; RFC 8878, 3.1.2.
SKIPPABLE_TAIL = b"\x2a\x4d\x18"


class DamageError(WireError):
    """Packed bytes cannot be unpacked."""


class Compression(StrEnum):
    """How the lines of a recording are packed."""

    ZSTD = "zstd"
    GZIP = "gzip"
    NONE = "none"


_SUFFIXES = {
    ".zst": Compression.ZSTD,
    ".zstd": Compression.ZSTD,
    ".gz": Compression.GZIP,
    ".ndjson": Compression.NONE,
    ".jsonl": Compression.NONE,
    ".json": Compression.NONE,
}


def compression_by_name(name: str) -> Compression:
    """What a file of this name is packed with: zstd unless the name says otherwise."""
    suffixes = name.removesuffix(PARTIAL_SUFFIX).split(".")
    if len(suffixes) > 1 and suffixes[-1].isdecimal():
        suffixes.pop()
    return _SUFFIXES.get(f".{suffixes[-1].lower()}", Compression.ZSTD)


def compression_of(head: bytes) -> Compression | None:
    """What a file that begins so is packed with; None for one that is no recording."""
    if head.startswith(GZIP_MAGIC):
        return Compression.GZIP
    if head.startswith(ZSTD_MAGIC) or (head[1:4] == SKIPPABLE_TAIL and head[0] >> 4 == 5):
        return Compression.ZSTD
    if head.lstrip().startswith(b"{"):
        return Compression.NONE
    return None


def is_recording(head: bytes) -> bool:
    """Whether a file that begins so is a recording (zstd, gzip or JSON)."""
    return compression_of(head) is not None
