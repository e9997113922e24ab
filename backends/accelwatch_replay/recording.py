"""Reads a recording: one `accelwatch/1` document a line, plain or gzip. Damage costs lines, no more.

Lines are kept compressed and decoded when they are played, so that opening a long recording is cheap.
"""

import bisect
import re
import zlib
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import msgspec

from accelwatch.errors import BackendUnavailable, WireError
from accelwatch.schema.snapshot import SCHEMA, Snapshot
from accelwatch.schema.wire import decode, unix_seconds

MAX_LINE = 16 << 20
"""Bytes of one document; 1,000 devices with two processes each take 4.7 MB."""
MAX_HELD = 128 << 20
"""Bytes of compressed documents held; what comes after them is not played."""
_CHUNK = 1 << 16
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_MAJOR = int(SCHEMA.rpartition("/")[2])
_SCHEMA = re.compile(r"accelwatch/(\d+)")


class _Head(msgspec.Struct):
    """The first things to know of a document; decoding it also checks that the line is whole JSON."""

    schema: str
    time: str


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """An indexed recording. `offsets` are seconds from the first document and never go back."""

    offsets: tuple[float, ...]
    documents: tuple[bytes, ...]
    length_s: float
    damaged: int = 0
    notes: tuple[str, ...] = ()

    def at(self, position_s: float) -> int:
        """Number of the document that is current at a position."""
        return max(bisect.bisect_right(self.offsets, position_s) - 1, 0)

    def snapshot(self, number: int) -> Snapshot:
        """A document, decoded. Raises WireError."""
        return decode(zlib.decompress(self.documents[number]))


def is_recording(head: bytes) -> bool:
    """Whether a file that begins so is a recording (JSON) rather than a scenario (YAML)."""
    return head.startswith(_GZIP) or head.lstrip().startswith(b"{")


def refuse_zstd(head: bytes, path: Path) -> None:
    """Raises BackendUnavailable for a zstd file."""
    if head.startswith(_ZSTD):
        raise BackendUnavailable(
            f"{path} is compressed with zstd, which cannot be played",
            reason="format",
            remedy=f"unpack it first: zstd -d {path}",
        )


def read_recording(path: Path) -> Recording:
    """Index a recording. Raises BackendUnavailable when there is no document to play."""
    index = _Index(path)
    for line, whole in _lines(_chunks(path)):
        if not index.take(line, whole=whole):
            break
    if not index.documents:
        index.take_whole()
    return index.recording()


def _chunks(path: Path) -> Iterator[bytes]:
    """The content, unpacked as far as it is whole."""
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
        file.seek(0)
        raw = iter(partial(file.read, _CHUNK), b"")
        yield from _unpacked(raw) if packed else raw


def _unpacked(raw: Iterator[bytes]) -> Iterator[bytes]:
    """Members of a gzip file one after another; ends where it is damaged or cut off."""
    unpacker = zlib.decompressobj(wbits=31)
    for chunk in raw:
        rest = chunk
        while rest:
            try:
                yield unpacker.decompress(rest, _CHUNK)
            except zlib.error:
                return
            rest = unpacker.unconsumed_tail
            if unpacker.eof:
                rest = unpacker.unused_data
                unpacker = zlib.decompressobj(wbits=31)


def _lines(chunks: Iterator[bytes]) -> Iterator[tuple[bytes | None, bool]]:
    """Lines, and whether each has its line break; None for one that is too long."""
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            yield (b"".join((*held, part)) if size <= MAX_LINE else None), True
            held, size = [], 0
        size += len(rest)
        if size > MAX_LINE:
            held = []
        else:
            held.append(rest)
    if size:
        yield (b"".join(held) if size <= MAX_LINE else None), False


class _Index:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.documents: list[bytes] = []
        self.truncated = False
        self._offsets: list[float] = []
        self._first = 0.0
        self._damaged = 0
        self._held = 0
        self._cut = False

    def take(self, line: bytes | None, *, whole: bool) -> bool:
        """Take a line; False when no more can be held."""
        if line is not None and not line.strip():
            return True
        moment = None if line is None else self._moment(line)
        if line is None or moment is None:
            if whole:
                self._damaged += 1
            else:
                self.truncated = True
            return True
        self._keep(line, moment)
        self._cut = self._held > MAX_HELD
        return not self._cut

    def take_whole(self) -> None:
        """Take the file as one document that is written over several lines."""
        content = b""
        for chunk in _chunks(self._path):
            content += chunk
            if len(content) > MAX_LINE:
                return
        moment = self._moment(content)
        if moment is not None:
            self._damaged, self.truncated = 0, False
            self._keep(content, moment)

    def _keep(self, document: bytes, moment: float) -> None:
        if not self._offsets:
            self._first = moment
        before = self._offsets[-1] if self._offsets else 0.0
        self._offsets.append(max(before, moment - self._first))
        self.documents.append(zlib.compress(document, 1))
        self._held += len(self.documents[-1])

    def _moment(self, line: bytes) -> float | None:
        try:
            head = msgspec.json.decode(line, type=_Head)
            schema = _SCHEMA.fullmatch(head.schema)
            if schema is None:
                return None
            self._check_major(head.schema, int(schema[1]))
            return unix_seconds(head.time)
        except (msgspec.DecodeError, UnicodeDecodeError, WireError, ValueError):
            return None

    def _check_major(self, schema: str, major: int) -> None:
        if major > _MAJOR:
            raise BackendUnavailable(
                f"{self._path} was written as {schema}, newer than this version reads ({SCHEMA})",
                reason="format",
                remedy="upgrade accelwatch",
            )

    def recording(self) -> Recording:
        """What was found. Raises BackendUnavailable when that is nothing."""
        if not self.documents:
            raise BackendUnavailable(
                f"{self._path} holds no {SCHEMA} document",
                reason="format",
                remedy="record one with: accelwatch snapshot --watch --json > FILE",
            )
        return Recording(
            offsets=tuple(self._offsets),
            documents=tuple(self.documents),
            length_s=self._offsets[-1] + _step_s(self._offsets),
            damaged=self._damaged,
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self._damaged:
            notes.append(f"recording: {self._damaged} damaged lines skipped")
        if self.truncated:
            notes.append("recording: the end is missing")
        if self._cut:
            notes.append(f"recording: only the first {len(self.documents)} documents are played")
        return tuple(notes)


def _step_s(offsets: list[float]) -> float:
    """How long the last document is shown: the median distance of documents, or 1 s."""
    steps = sorted(after - before for before, after in pairwise(offsets) if after > before)
    return steps[len(steps) // 2] if steps else 1.0
