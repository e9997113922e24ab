"""Rewrites what a damaged recording still holds: the documents that are as they were written.

Where the index of a damaged block can be read, its checksums say which documents those are. Elsewhere
each line that is a complete document counts as one.
"""

import contextlib
import itertools
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from accelwatch.archive.recording import block_index
from accelwatch.archive.recording.compressed import gzip_members, zstd_frames
from accelwatch.archive.recording.compressed.zstd_search import Walk, index_at
from accelwatch.archive.recording.files import windows
from accelwatch.archive.recording.layout import (
    PARTIAL_SUFFIX,
    Compression,
    DamageError,
    compression_by_name,
    compression_of,
)
from accelwatch.archive.recording.lines import LineCutter, NewerSchemaError, timestamp_of
from accelwatch.archive.recording.recorder import Recorder
from accelwatch.archive.recording.window import Window
from accelwatch.base.errors import UsageError, WireError
from accelwatch.schema.snapshot import SCHEMA

_CHUNK = 64 << 10


class Repaired(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a recording."""

    # The repaired copy.
    path: Path
    documents: int
    # The time of the last one, Unix seconds.
    last: float
    # Documents that indexes list and that are not in the copy.
    lost: int
    # Lines that were no document, with the last where it was cut off.
    lines: int
    # Stretches of damaged bytes.
    positions: int


def losses(lost: int, lines: int, positions: int) -> str:
    """What is not in a copy, in words: documents, lines that are none, stretches of bytes."""
    counts = {
        f"{lost} documents are lost": lost,
        f"{lines} lines are no documents": lines,
        f"bytes are damaged in {positions} places": positions,
    }
    return ", ".join(text for text, count in counts.items() if count) or "nothing is damaged"


def repaired_path(path: Path) -> Path:
    """Where the copy of a recording goes: `night.repaired.ndjson.zst` beside `night.ndjson.zst`."""
    stem, dot, suffixes = path.name.removesuffix(PARTIAL_SUFFIX).partition(".")
    return path.with_name(f"{stem}.repaired{dot}{suffixes}")


def repair(source: Path, target: Path) -> Repaired:
    """Write what can be read of one file into a new one; the damaged one stays as it is.

    Raises UsageError where there is a target or no source, WireError where nothing can be read,
    AccelwatchError for what cannot be read or written.
    """
    for existing in (target, _partial(target)):
        if existing.exists() or existing.is_symlink():
            raise UsageError(f"{existing} exists already; choose another name with -o FILE")
    opened = windows(source)
    try:
        if len(opened) != 1:
            raise UsageError(f"{source} names {len(opened)} recordings; repair one at a time")
        return _rewrite(Salvage(opened[0]), target)
    finally:
        for window in opened:
            window.close()


def _partial(target: Path) -> Path:
    return target.with_name(target.name + PARTIAL_SUFFIX)


@contextlib.contextmanager
def complete_file(target: Path) -> Iterator[Recorder]:
    """Records one new file, of which nothing stays unless all that was meant for it is written."""
    recorder = Recorder(target, max_bytes=1 << 62, keep=1)
    try:
        with recorder:
            yield recorder
    except BaseException:
        for path in (target, _partial(target)):
            with contextlib.suppress(OSError):
                path.unlink()
        raise


def _rewrite(salvage: "Salvage", target: Path) -> Repaired:
    last = None
    with complete_file(target) as recorder:
        for document, time in salvage.documents():
            recorder.write_line(document, time)
            last = time
    if last is None:
        raise WireError(f"{salvage.window.path} holds no {SCHEMA} document that can be read")
    return Repaired(
        path=target,
        documents=recorder.documents,
        last=last,
        lost=salvage.lost,
        lines=salvage.damaged_lines,
        positions=salvage.positions,
    )


class Salvage:
    """Goes through a file once, in bounded memory, and on behind any damage."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.lost = self.damaged_lines = self.positions = 0
        self._lines = LineCutter()
        # Documents since the last index: those of the block that the next one describes.
        self._result = 0

    def documents(self) -> Iterator[tuple[bytes, float]]:
        """Documents with their times, Unix seconds, in the order of the file."""
        head = self.window.read(0, 4096)
        match compression_of(head) or compression_by_name(self.window.path.name):
            case Compression.ZSTD:
                yield from self._zstd()
            case Compression.GZIP:
                yield from self._gzip()
            case Compression.NONE:
                for offset in range(0, self.window.size, _CHUNK):
                    yield from self._fed(self.window.read(offset, _CHUNK))
        yield from self._checked(self._lines.remainder() if self._lines.pending else b"")

    def _zstd(self) -> Iterator[tuple[bytes, float]]:
        window, offset = self.window, 0
        while offset < window.size:
            size = zstd_frames.skippable(window, offset)
            if zstd_frames.starts_at(window, offset):
                position = _end_of_frame(window, offset)
                yield from self._frame(offset, position)
                offset = position
            elif size is not None and offset + 8 + size <= window.size:
                self._count_lost(offset)
                offset += 8 + size
            else:
                self._break()
                offset = zstd_frames.next_frame(window, offset + 1)

    def _frame(self, offset: int, position: int) -> Iterator[tuple[bytes, float]]:
        """Documents of the frame from `offset`; what follows begins at `position`."""
        index = index_at(self.window, position)
        only = None if index is None else frozenset(index.checksums)
        walk = Walk(self.window, offset)
        broken = False
        try:
            for chunk in zstd_frames.unpacked(walk):
                yield from self._fed(chunk, only)
        except EOFError:  # at the end of the file a frame may just not be finished
            broken = position < self.window.size
        except DamageError:
            broken = True
        if broken or (index is not None and not walk.is_described(index)):
            self._break()

    def _count_lost(self, offset: int) -> None:
        """Add the documents missing from a block; the index behind it has their number."""
        index = index_at(self.window, offset)
        if index is not None:
            self.lost += max(len(index.times) - self._result, 0)
            self._result = 0
        elif self.window.read(offset, 4) == block_index.FRAME_MAGIC:
            self.positions += 1

    def _gzip(self) -> Iterator[tuple[bytes, float]]:
        window, offset = self.window, 0
        while offset < window.size:
            start = offset
            try:
                if not gzip_members.starts_at(window, offset):
                    raise DamageError("no gzip member")
                for chunk, read in gzip_members.unpacked(window, offset):
                    offset = read
                    yield from self._fed(chunk)
            except EOFError:
                return
            except DamageError:
                self._break()
                offset = gzip_members.next_member(window, max(offset, start + 1))

    def _break(self) -> None:
        """Bytes are damaged: the line that has started will not end."""
        self.positions += 1
        self._lines.drop()

    def _fed(
        self, chunk: bytes, only: frozenset[int] | None = None
    ) -> Iterator[tuple[bytes, float]]:
        for line in self._lines.feed(chunk):
            yield from self._checked(line, only)

    def _checked(
        self, line: bytes | None, only: frozenset[int] | None = None
    ) -> Iterator[tuple[bytes, float]]:
        if line is not None and not line.strip():
            return
        time = None
        if line is not None and (only is None or zlib.crc32(line) in only):
            try:
                time = timestamp_of(line)
            except NewerSchemaError:
                time = None
        if line is None or time is None:
            self.damaged_lines += only is None
        else:
            self._result += 1
            yield line, time


def in_order(salvages: Iterable[Salvage]) -> Iterator[bytes]:
    """Documents of several files, one after another by the time of their first."""
    opened: list[tuple[bytes, float, Iterator[tuple[bytes, float]]]] = []
    for salvage in salvages:
        following = salvage.documents()
        opened.extend((*first, following) for first in itertools.islice(following, 1))
    for document, _, following in sorted(opened, key=lambda file: file[1]):
        yield document
        yield from (document for document, _ in following)


def _end_of_frame(window: Window, offset: int) -> int:
    """Where the next frame may begin: behind a whole one, else where one is found."""
    walk = Walk(window, offset)
    try:
        walk.to_end()
    except (EOFError, DamageError):
        return zstd_frames.next_frame(window, offset + 4)
    return walk.end
