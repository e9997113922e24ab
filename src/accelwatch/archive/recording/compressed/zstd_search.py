"""Searches a zstd file: an index is believed when its checksum holds, else the block is unpacked."""

import zlib
from collections.abc import Iterator

from accelwatch.archive.recording import block_index
from accelwatch.archive.recording.block_index import MAJOR, BlockIndex
from accelwatch.archive.recording.compressed import zstd_frames
from accelwatch.archive.recording.layout import DamageError
from accelwatch.archive.recording.scan import Block, Scan, refuse_newer
from accelwatch.archive.recording.window import Window


class Walk:
    """Pieces of a frame, counted as they go by."""

    def __init__(self, window: Window, offset: int) -> None:
        # Where the last piece that was read ends.
        self.end = offset
        self._start = offset
        self._checksum = 0
        self._pieces = zstd_frames.pieces(window, offset)

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self.end += len(piece)
            self._checksum = zlib.crc32(piece, self._checksum)
            yield piece

    def to_end(self) -> None:
        """Read all pieces. Raises EOFError where the file ends before, DamageError."""
        for _ in self:
            pass

    def is_described(self, index: BlockIndex) -> bool:
        """Whether what went by is what an index was written for."""
        return (index.packed, index.checksum) == (self.end - self._start, self._checksum)


def zstd_content(window: Window, block: Block) -> Iterator[bytes]:
    """What a block unpacks to. Raises DamageError; a missing end just ends it."""
    offset = block.offset
    while offset < block.end:
        size = zstd_frames.skippable(window, offset)
        if size is not None:
            offset += 8 + size
            continue
        walked = Walk(window, offset)
        try:
            yield from zstd_frames.unpacked(walked)
        except EOFError:
            return
        offset = walked.end


def index_at(window: Window, offset: int) -> BlockIndex | None:
    """The index that stands there; None for none and for a damaged one."""
    size = zstd_frames.skippable(window, offset)
    if size is None or size > block_index.MAX_BYTES:
        return None
    return block_index.unpack(window.read(offset + 8, size))


def search_zstd(scan: Scan, window: Window) -> None:
    """Fill the scan from a zstd file. Raises WireError for one of a newer major version."""
    offset = 0
    while offset < window.size and not scan.is_closed:
        size = zstd_frames.skippable(window, offset)
        if zstd_frames.starts_at(window, offset):
            offset = _search_frame(scan, window, offset)
        elif size is not None and offset + 8 + size <= window.size:
            offset += 8 + size
        else:
            has_started = size is not None or offset + 8 > window.size
            offset = _end(scan, window, offset, has_started=has_started)
    scan.finish(min(offset, window.size))


def _end(scan: Scan, window: Window, offset: int, *, has_started: bool) -> int:
    """What is there does not end: the file was cut off if nothing follows, else it is damaged."""
    if has_started and zstd_frames.next_frame(window, offset + 1) >= window.size:
        scan.unfinished = True
    else:
        scan.reject_block(offset)
    return window.size


def _has_index_behind(window: Window, offset: int) -> bool:
    """Whether an index stands anywhere behind; what only looks like a frame may be packed bytes."""
    while (offset := window.find(block_index.START, block_index.START_BYTES, offset)) < window.size:
        if index_at(window, offset) is not None:
            return True
        offset += 1
    return False


def _search_frame(scan: Scan, window: Window, offset: int) -> int:
    """Where to go on after the frame at `offset`."""
    walk = Walk(window, offset)
    try:
        walk.to_end()
    except DamageError:
        scan.reject_block(offset)
        return window.size
    except EOFError:
        if not _has_index_behind(window, offset):
            return _unpack_frame(scan, offset)
        scan.reject_block(offset)
        return window.size
    index = index_at(window, walk.end)
    if index is None and not _is_damaged_index(window, walk.end):
        return _unpack_frame(scan, offset)
    if index is not None and index.major > MAJOR and not scan.times:
        raise refuse_newer(window, f"accelwatch/{index.major}")
    if index is not None and walk.is_described(index):
        scan.believe(offset, walk.end, index)
    else:
        scan.reject_block(offset)
    return walk.end


def _is_damaged_index(window: Window, offset: int) -> bool:
    """Whether an index stands there that cannot be believed; one that is cut off is none."""
    size = zstd_frames.skippable(window, offset)
    is_ours = window.read(offset, 4) == block_index.FRAME_MAGIC
    return is_ours and size is not None and offset + 8 + size <= window.size


def _unpack_frame(scan: Scan, offset: int) -> int:
    """Search a frame without an index. Where to go on."""
    scan.start_block(offset)
    walk = Walk(scan.window, offset)
    try:
        for chunk in zstd_frames.unpacked(walk):
            scan.feed(chunk, walk.end)
            if scan.is_closed:
                return walk.end
    except EOFError:  # each document was flushed: what is there is whole
        scan.unfinished = True
        return scan.window.size
    except DamageError:
        scan.reject_block(offset)
        return walk.end
    if not scan.pending:
        scan.close_block(walk.end)
    return walk.end
