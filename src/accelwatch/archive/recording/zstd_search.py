"""Searches a zstd file: an index is believed when its checksum holds, else the block is unpacked."""

import contextlib
import zlib
from collections.abc import Iterator

from accelwatch.archive.recording import block_index, zstd_frames
from accelwatch.archive.recording.block_index import MAJOR, BlockIndex
from accelwatch.archive.recording.layout import DamageError
from accelwatch.archive.recording.survey import Block, Survey, refuse_newer
from accelwatch.archive.recording.window import Window


class _Walk:
    """Pieces of a frame, counted as they go by."""

    def __init__(self, window: Window, offset: int) -> None:
        self.end = offset
        """Up to where the pieces that were taken reach."""
        self.checksum = 0
        self._pieces = zstd_frames.pieces(window, offset)

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self.end += len(piece)
            self.checksum = zlib.crc32(piece, self.checksum)
            yield piece

    def to_end(self) -> bool:
        """Take all pieces; whether the frame is whole."""
        try:
            for _ in self:
                pass
        except (EOFError, DamageError):
            return False
        return True


def zstd_content(window: Window, block: Block) -> Iterator[bytes]:
    """What a block unpacks to. Raises DamageError; a missing end just ends it."""
    offset = block.offset
    while offset < block.end:
        size = zstd_frames.skippable(window, offset)
        if size is not None:
            offset += 8 + size
            continue
        walked = _Walk(window, offset)
        try:
            yield from zstd_frames.unpacked(walked)
        except EOFError:
            return
        offset = walked.end


def _index_at(window: Window, offset: int) -> BlockIndex | None:
    size = zstd_frames.skippable(window, offset)
    if size is None or size > block_index.MAX_BYTES:
        return None
    return block_index.unpack(window.read(offset + 8, size))


def _pass_index(survey: Survey, window: Window, offset: int) -> None:
    """Take from a skippable frame what it tells of the block before it, should it be an index."""
    index = _index_at(window, offset)
    if index is not None:
        survey.account(len(index.times))
    elif window.read(offset, 4) == block_index.FRAME_MAGIC:
        survey.damaged_positions += 1


def search_zstd(survey: Survey, window: Window) -> None:
    """Fill the survey from a zstd file. Raises WireError for one of a newer major version."""
    offset = 0
    while offset < window.size and not survey.cut:
        if zstd_frames.starts_at(window, offset):
            offset = _search_frame(survey, window, offset)
            continue
        size = zstd_frames.skippable(window, offset)
        if size is not None and offset + 8 + size <= window.size:
            _pass_index(survey, window, offset)
            offset += 8 + size
            continue
        position = zstd_frames.next_frame(window, offset + 1)
        if position < window.size or size is None:
            survey.damage(offset)
        else:
            survey.unfinished = True
        offset = position
    survey.finish(window.size)


def _search_frame(survey: Survey, window: Window, offset: int) -> int:
    """Where to go on after the frame at `offset`."""
    walk = _Walk(window, offset)
    position = walk.end if walk.to_end() else zstd_frames.next_frame(window, offset + 4)
    index = _index_at(window, position)
    if index is None:
        return _unpack_frame(survey, offset, position)
    if index.major > MAJOR and not survey.times:
        raise refuse_newer(window, f"accelwatch/{index.major}")
    if (index.packed, index.checksum) == (position - offset, walk.checksum):
        survey.believe(offset, position, index)
        return position
    survey.damaged_positions += 1
    _salvage_frame(survey, offset, position, index)
    return position


def _salvage_frame(survey: Survey, offset: int, position: int, index: BlockIndex) -> None:
    """Take the documents of a damaged frame that are as its index says."""
    survey.drop_line()
    survey.start_block(offset, frozenset(index.checksums))
    damaged_lines = survey.damaged_lines
    with contextlib.suppress(EOFError, DamageError):
        for chunk in zstd_frames.unpacked(_Walk(survey.window, offset)):
            survey.feed(chunk)
    survey.drop_line()
    survey.close_block(position)
    survey.damaged_lines = damaged_lines


def _unpack_frame(survey: Survey, offset: int, position: int) -> int:
    """Search a frame without an index; what follows begins at `place`. Where to go on."""
    survey.start_block(offset)
    walk = _Walk(survey.window, offset)
    try:
        for chunk in zstd_frames.unpacked(walk):
            survey.feed(chunk)
            if survey.cut:
                return walk.end
    except EOFError:
        if position < survey.window.size:
            survey.damage(walk.end)
        else:
            survey.unfinished = True
        return position
    except DamageError:
        survey.damage(walk.end)
        return (
            position if position > offset + 4 else zstd_frames.next_frame(survey.window, offset + 4)
        )
    if not survey.pending:
        survey.close_block(walk.end)
    return walk.end
