"""Searches a file for documents: by the indexes of its blocks where they hold, else by unpacking it."""

import contextlib
import zlib
from collections.abc import Iterator

from accelwatch.errors import WireError
from accelwatch.recording import block_index, gzip_members, zstd_frames
from accelwatch.recording.block_index import MAJOR, BlockIndex
from accelwatch.recording.layout import (
    BLOCK_BYTES,
    BLOCK_DOCUMENTS,
    MAX_LINE,
    Compression,
    DamageError,
    compression_by_name,
    compression_of,
)
from accelwatch.recording.survey import Block, Survey, refuse_newer
from accelwatch.recording.window import Window

_CHUNK = 64 << 10


def search(window: Window) -> Survey:
    """All documents of a file. Raises WireError when it begins with a newer major version."""
    compression = compression_of(window.read(0, 4096)) or compression_by_name(window.path.name)
    survey = Survey(window, compression)
    match compression:
        case Compression.ZSTD:
            _search_zstd(survey, window)
        case Compression.GZIP:
            _search_gzip(survey, window)
        case Compression.NONE:
            _search_plain(survey, window)
    if not survey.times:
        content = _whole(survey)
        if content is not None:
            survey.one_document(content)
    return survey


def content(survey: Survey, block: Block) -> Iterator[bytes]:
    """What a block unpacks to. Raises WireError for damage; a missing end just ends it."""
    match survey.compression:
        case Compression.ZSTD:
            return _zstd_content(survey.window, block)
        case Compression.GZIP:
            return _gzip_content(survey.window, block)
        case Compression.NONE:
            return _plain_content(survey.window, block)


def _whole(survey: Survey) -> bytes | None:
    """The whole file, unpacked; None when it is too long for a document, or damaged."""
    held = b""
    try:
        for chunk in content(survey, Block(0, survey.window.size, 1)):
            held += chunk
            if len(held) > MAX_LINE:
                return None
    except WireError:
        return None
    return held


def _plain_content(window: Window, block: Block) -> Iterator[bytes]:
    for offset in range(block.offset, block.end, _CHUNK):
        yield window.read(offset, min(_CHUNK, block.end - offset))


def _search_plain(survey: Survey, window: Window) -> None:
    survey.begin(0)
    offset = begun = 0
    while offset < window.size and not survey.cut:
        chunk = window.read(offset, _CHUNK)
        if not chunk:
            break
        cut = chunk.rfind(b"\n") + 1
        if cut and _enough(survey, offset + cut - begun):
            survey.feed(chunk[:cut])
            offset = begun = offset + cut
            survey.end(offset)
        else:
            survey.feed(chunk)
            offset += len(chunk)
    survey.finish(offset)


def _enough(survey: Survey, size: int) -> bool:
    return size >= BLOCK_BYTES or survey.found >= BLOCK_DOCUMENTS


def _gzip_content(window: Window, block: Block) -> Iterator[bytes]:
    offset = block.offset
    while offset < block.end and gzip_members.begins(window, offset):
        try:
            for chunk, read in gzip_members.unpacked(window, offset):
                yield chunk
                offset = read
        except EOFError:
            return


def _search_gzip(survey: Survey, window: Window) -> None:
    offset = 0
    while offset < window.size and not survey.cut:
        if not gzip_members.begins(window, offset):
            survey.damage(offset)
            offset = gzip_members.next_member(window, offset + 1)
            continue
        survey.begin(offset)
        offset = _search_member(survey, window, offset)
    survey.finish(min(offset, window.size))


def _search_member(survey: Survey, window: Window, offset: int) -> int:
    """Where to go on after the member at `offset`."""
    begun = offset
    try:
        for chunk, read in gzip_members.unpacked(window, offset):
            survey.feed(chunk)
            offset = read
            if survey.cut:
                return offset
    except EOFError:
        survey.unfinished = True
        return window.size
    except DamageError:
        survey.damage(offset)
        return gzip_members.next_member(window, max(offset, begun + 1))
    if not survey.pending:
        survey.end(offset)
    return offset


def _zstd_content(window: Window, block: Block) -> Iterator[bytes]:
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


def _index_at(window: Window, offset: int) -> BlockIndex | None:
    size = zstd_frames.skippable(window, offset)
    if size is None or size > block_index.MAX_BYTES:
        return None
    return block_index.unpack(window.read(offset + 8, size))


def _search_zstd(survey: Survey, window: Window) -> None:
    offset = 0
    while offset < window.size and not survey.cut:
        if zstd_frames.begins(window, offset):
            offset = _search_frame(survey, window, offset)
            continue
        size = zstd_frames.skippable(window, offset)
        if size is not None and offset + 8 + size <= window.size:
            offset += 8 + size
            continue
        place = zstd_frames.next_frame(window, offset + 1)
        if place < window.size or size is None:
            survey.damage(offset)
        else:
            survey.unfinished = True
        offset = place
    survey.finish(window.size)


def _search_frame(survey: Survey, window: Window, offset: int) -> int:
    """Where to go on after the frame at `offset`."""
    walk = _Walk(window, offset)
    place = walk.end if walk.to_end() else zstd_frames.next_frame(window, offset + 4)
    index = _index_at(window, place)
    if index is None:
        return _unpack_frame(survey, offset, place)
    if index.major > MAJOR and not survey.times:
        raise refuse_newer(window, f"accelwatch/{index.major}")
    if (index.packed, index.checksum) == (place - offset, walk.checksum):
        survey.believe(offset, place, index.times)
        return place
    before = len(survey.times)
    survey.damaged_places += 1
    _salvage_frame(survey, offset, place, index)
    survey.lost += max(len(index.times) - (len(survey.times) - before), 0)
    return place


def _salvage_frame(survey: Survey, offset: int, place: int, index: BlockIndex) -> None:
    """Take the documents of a damaged frame that are as its index says."""
    survey.drop_line()
    survey.begin(offset, frozenset(index.checksums))
    damaged_lines = survey.damaged_lines
    with contextlib.suppress(EOFError, DamageError):
        for chunk in zstd_frames.unpacked(_Walk(survey.window, offset)):
            survey.feed(chunk)
    survey.drop_line()
    survey.end(place)
    survey.damaged_lines = damaged_lines


def _unpack_frame(survey: Survey, offset: int, place: int) -> int:
    """Search a frame without an index; what follows begins at `place`. Where to go on."""
    survey.begin(offset)
    walk = _Walk(survey.window, offset)
    try:
        for chunk in zstd_frames.unpacked(walk):
            survey.feed(chunk)
            if survey.cut:
                return walk.end
    except EOFError:
        if place < survey.window.size:
            survey.damage(walk.end)
        else:
            survey.unfinished = True
        return place
    except DamageError:
        survey.damage(walk.end)
        return place if place > offset + 4 else zstd_frames.next_frame(survey.window, offset + 4)
    if not survey.pending:
        survey.end(walk.end)
    return walk.end
