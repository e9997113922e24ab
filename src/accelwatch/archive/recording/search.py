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
from accelwatch.archive.recording.survey import Block, Survey
from accelwatch.archive.recording.window import Window
from accelwatch.base.errors import WireError

_CHUNK = 64 << 10


def search(window: Window, until: float | None = None) -> Survey:
    """All documents of a file, or those found `until` a moment of the monotonic clock.

    Raises WireError when it begins with a newer major version.
    """
    compression = compression_of(window.read(0, 4096)) or compression_by_name(window.path.name)
    survey = Survey(window, compression, until)
    match compression:
        case Compression.ZSTD:
            search_zstd(survey, window)
        case Compression.GZIP:
            _search_gzip(survey, window)
        case Compression.NONE:
            _search_plain(survey, window)
    if not survey.times:
        content = _full_content(survey)
        if content is not None:
            survey.add_single_document(content)
    return survey


def content(survey: Survey, block: Block) -> Iterator[bytes]:
    """What a block unpacks to. Raises WireError for damage; a missing end just ends it."""
    match survey.compression:
        case Compression.ZSTD:
            return zstd_content(survey.window, block)
        case Compression.GZIP:
            return _gzip_content(survey.window, block)
        case Compression.NONE:
            return _plain_content(survey.window, block)


def _full_content(survey: Survey) -> bytes | None:
    """The whole file, unpacked; None when it is too long for a document, or damaged."""
    line = b""
    try:
        for chunk in content(survey, Block(0, survey.window.size, 1)):
            line += chunk
            if len(line) > MAX_LINE:
                return None
    except WireError:
        return None
    return line


def _plain_content(window: Window, block: Block) -> Iterator[bytes]:
    for offset in range(block.offset, block.end, _CHUNK):
        yield window.read(offset, min(_CHUNK, block.end - offset))


def _search_plain(survey: Survey, window: Window) -> None:
    survey.start_block(0)
    offset = start = 0
    while offset < window.size and not survey.is_closed:
        chunk = window.read(offset, _CHUNK)
        if not chunk:
            break
        cut = chunk.rfind(b"\n") + 1
        if cut and _enough(survey, offset + cut - start):
            offset += cut
            survey.feed(chunk[:cut], offset)
            if survey.damaged_at is None:
                start = offset
                survey.close_block(offset)
        else:
            offset += len(chunk)
            survey.feed(chunk, offset)
    survey.finish(offset if survey.damaged_at is None else survey.damaged_at)


def _enough(survey: Survey, size: int) -> bool:
    return size >= BLOCK_BYTES or survey.documents >= BLOCK_DOCUMENTS


def _gzip_content(window: Window, block: Block) -> Iterator[bytes]:
    offset = block.offset
    while offset < block.end and gzip_members.starts_at(window, offset):
        try:
            for chunk, read in gzip_members.unpacked(window, offset):
                yield chunk
                offset = read
        except EOFError:
            return


def _search_gzip(survey: Survey, window: Window) -> None:
    offset = 0
    while offset < window.size and not survey.is_closed:
        if gzip_members.starts_at(window, offset):
            survey.start_block(offset)
            offset = _search_member(survey, window, offset)
        else:
            survey.reject_block(offset)
    survey.finish(min(offset, window.size))


def _search_member(survey: Survey, window: Window, offset: int) -> int:
    """Where to go on after the member at `offset`."""
    start = offset
    try:
        for chunk, read in gzip_members.unpacked(window, offset):
            offset = read
            survey.feed(chunk, offset)
            if survey.is_closed:
                return offset
    except EOFError:  # each document was flushed: what is there is whole
        survey.unfinished = True
        return window.size
    except DamageError:
        survey.reject_block(start)
        return offset
    if not survey.pending:
        survey.close_block(offset)
    return offset
