"""Searches a file of any kind for documents, and unpacks its blocks."""

from collections.abc import Iterator

from accelwatch.archive.recording.compressed import gzip_members
from accelwatch.archive.recording.compressed.zstd_search import search_zstd, zstd_content
from accelwatch.archive.recording.layout import (
    BLOCK_BYTES,
    BLOCK_DOCUMENTS,
    MAX_LINE,
    Compression,
    DamageError,
    compression_by_name,
    compression_of,
)
from accelwatch.archive.recording.scan import Block, Scan
from accelwatch.archive.recording.window import Window
from accelwatch.base.errors import WireError

_CHUNK = 64 << 10


def search(window: Window, until: float | None = None) -> Scan:
    """All documents of a file, or those found `until` a moment of the monotonic clock.

    Raises WireError when it begins with a newer major version.
    """
    compression = compression_of(window.read(0, 4096)) or compression_by_name(window.path.name)
    scan = Scan(window, compression, until)
    match compression:
        case Compression.ZSTD:
            search_zstd(scan, window)
        case Compression.GZIP:
            _search_gzip(scan, window)
        case Compression.NONE:
            _search_plain(scan, window)
    if not scan.times:
        content = _full_content(scan)
        if content is not None:
            scan.add_single_document(content)
    return scan


def content(scan: Scan, block: Block) -> Iterator[bytes]:
    """What a block unpacks to. Raises WireError for damage; a missing end just ends it."""
    match scan.compression:
        case Compression.ZSTD:
            return zstd_content(scan.window, block)
        case Compression.GZIP:
            return _gzip_content(scan.window, block)
        case Compression.NONE:
            return _plain_content(scan.window, block)


def _full_content(scan: Scan) -> bytes | None:
    """The whole file, unpacked; None when it is too long for a document, or damaged."""
    line = b""
    try:
        for chunk in content(scan, Block(0, scan.window.size, 1)):
            line += chunk
            if len(line) > MAX_LINE:
                return None
    except WireError:
        return None
    return line


def _plain_content(window: Window, block: Block) -> Iterator[bytes]:
    for offset in range(block.offset, block.end, _CHUNK):
        yield window.read(offset, min(_CHUNK, block.end - offset))


def _search_plain(scan: Scan, window: Window) -> None:
    scan.start_block(0)
    offset = start = 0
    while offset < window.size and not scan.is_closed:
        chunk = window.read(offset, _CHUNK)
        if not chunk:
            break
        cut = chunk.rfind(b"\n") + 1
        if cut and _enough(scan, offset + cut - start):
            offset += cut
            scan.feed(chunk[:cut], offset)
            if scan.damaged_at is None:
                start = offset
                scan.close_block(offset)
        else:
            offset += len(chunk)
            scan.feed(chunk, offset)
    scan.finish(offset if scan.damaged_at is None else scan.damaged_at)


def _enough(scan: Scan, size: int) -> bool:
    return size >= BLOCK_BYTES or scan.documents >= BLOCK_DOCUMENTS


def _gzip_content(window: Window, block: Block) -> Iterator[bytes]:
    offset = block.offset
    while offset < block.end and gzip_members.starts_at(window, offset):
        try:
            for chunk, read in gzip_members.unpacked(window, offset):
                yield chunk
                offset = read
        except EOFError:
            return


def _search_gzip(scan: Scan, window: Window) -> None:
    offset = 0
    while offset < window.size and not scan.is_closed:
        if gzip_members.starts_at(window, offset):
            scan.start_block(offset)
            offset = _search_member(scan, window, offset)
        else:
            scan.reject_block(offset)
    scan.finish(min(offset, window.size))


def _search_member(scan: Scan, window: Window, offset: int) -> int:
    """Where to go on after the member at `offset`."""
    start = offset
    try:
        for chunk, read in gzip_members.unpacked(window, offset):
            offset = read
            scan.feed(chunk, offset)
            if scan.is_closed:
                return offset
    except EOFError:  # each document was flushed: what is there is whole
        scan.unfinished = True
        return window.size
    except DamageError:
        scan.reject_block(start)
        return offset
    if not scan.pending:
        scan.close_block(offset)
    return offset
