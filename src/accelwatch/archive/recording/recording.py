"""Reads a recording: times at once, documents on request, in any order."""

import bisect
from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from time import monotonic
from types import TracebackType

from accelwatch.archive.recording.files import older_files, windows
from accelwatch.archive.recording.lines import documents
from accelwatch.archive.recording.scan import Block, Scan
from accelwatch.archive.recording.search import content, search
from accelwatch.archive.recording.window import Window
from accelwatch.base.errors import WireError
from accelwatch.schema.json.wire import decode
from accelwatch.schema.snapshot import SCHEMA, Snapshot

# Decoded documents held: stepping to and fro costs nothing.
_CACHED = 4


class Recording:
    """Documents of one recording in the order of time, over all its files. Not for several threads.

    Of a damaged file those before the damage are read; `notes` say where it is and how to save others.
    """

    def __init__(
        self, scans: Sequence[Scan], notes: Sequence[str] = (), *, is_damaged: bool = False
    ) -> None:
        self._scans = tuple(scans)
        self._blocks = [(scan, block) for scan in self._scans for block in scan.blocks]
        self._cumulative = list(accumulate(block.count for _, block in self._blocks))
        self._times = _steady([time for scan in self._scans for time in scan.times])
        self._notes = tuple(notes)
        # Whether there is more in the files than is read, behind damage.
        self.is_damaged = is_damaged
        self._decoded: dict[int, Snapshot] = {}
        self._reading: tuple[int, int, Iterator[bytes]] | None = None

    @classmethod
    def open(cls, path: Path, *, within_s: float | None = None) -> "Recording":
        """A file, a folder, or a pattern such as `node.ndjson.zst*`; else FILE.part.

        What is not found `within_s` is left out, and a note says so: a packed file of megabytes may
        unpack to gigabytes.

        Raises UsageError for a name without a file, WireError for a file that holds no document or is
        of a newer major version, AccelwatchError for one that cannot be read.
        """
        opened = windows(path)
        try:
            until = None if within_s is None else monotonic() + within_s
            scans = [search(window, until) for window in opened]
            with_documents = sorted(
                (scan for scan in scans if scan.times), key=lambda scan: scan.times[0]
            )
            if not with_documents and any(scan.late for scan in scans):
                raise WireError(
                    f"{path}: no document was found within {within_s:g} s; allow more by --timeout"
                )
            if not with_documents:
                damage = "".join(f"; it is {text}" for scan in scans if (text := scan.damage()))
                raise WireError(
                    f"{path} holds no {SCHEMA} document; record one with: accelwatch record -o FILE"
                    + damage
                )
        except BaseException:
            _close(opened)
            raise
        _close([scan.window for scan in scans if not scan.times])
        return cls(
            with_documents,
            _notes(path, scans, with_documents),
            is_damaged=any(scan.damaged_at is not None for scan in scans),
        )

    def close(self) -> None:
        """Let go of the files."""
        self._reading = None
        _close([scan.window for scan in self._scans])

    def __enter__(self) -> "Recording":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._times)

    def times(self) -> Sequence[float]:
        """Unix seconds of each document; they never go back, also where the recorder's clock did."""
        return memoryview(self._times).toreadonly()

    @property
    def notes(self) -> tuple[str, ...]:
        """Damage and other things to know, in words."""
        return self._notes

    @property
    def step_s(self) -> float:
        """Seconds that a document is current: the median distance of two; 1.0 when unknown."""
        steps = sorted(after - before for before, after in pairwise(self._times) if after > before)
        return steps[len(steps) // 2] if steps else 1.0

    def index_at(self, time: float) -> int:
        """Number of the document that is current at a time; the first one before the beginning."""
        return max(bisect.bisect_right(self._times, time) - 1, 0)

    def at(self, index: int) -> Snapshot:
        """A document. Raises IndexError, and WireError for one that is JSON but no snapshot."""
        if not 0 <= index < len(self):
            raise IndexError(f"there is no document {index} of {len(self)}")
        snapshot = self._decoded.pop(index, None)
        if snapshot is None:
            snapshot = decoded(self._line(index))
        self._decoded[index] = snapshot
        if len(self._decoded) > _CACHED:
            del self._decoded[next(iter(self._decoded))]
        return snapshot

    def line(self, index: int) -> bytes:
        """A document as it was written. Raises IndexError, and WireError for one that is damaged."""
        if not 0 <= index < len(self):
            raise IndexError(f"there is no document {index} of {len(self)}")
        return self._line(index)

    def _line(self, index: int) -> bytes:
        number = bisect.bisect_right(self._cumulative, index)
        first = self._cumulative[number] - self._blocks[number][1].count
        target = index - first
        where, consumed, lines = self._reading or (-1, 0, iter(()))
        self._reading = None
        if where != number or consumed > target:
            consumed, lines = 0, _lines(*self._blocks[number])
        line = None
        for _ in range(target - consumed + 1):
            line = next(lines, None)
        if line is None:
            raise WireError(f"document {index} of the recording is damaged")
        self._reading = (number, target + 1, lines)
        return line


def _lines(scan: Scan, block: Block) -> Iterator[bytes]:
    if scan.is_single_document:
        return iter((b"".join(content(scan, block)),))
    return documents(_limited(content(scan, block), block.limit))


def _limited(chunks: Iterator[bytes], limit: int | None) -> Iterator[bytes]:
    """The chunks, up to `limit` bytes. Raises WireError."""
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if limit is not None and size > limit:
            raise WireError("a block of the recording holds more than its index says")
        yield chunk


def decoded(line: bytes) -> Snapshot:
    """As `decode`; what damage can make of a document is always a WireError."""
    try:
        return decode(line)
    except (RecursionError, OverflowError, LookupError) as error:
        raise WireError(f"not a snapshot document: {error}") from error


def _steady(times: Sequence[float]) -> "array[float]":
    """Times that never go back. One that is out of order between two that are not is the wrong one."""
    steady = array("d", times)
    for at in range(1, len(steady) - 1):
        before, after = steady[at - 1], steady[at + 1]
        if before <= after and not before <= steady[at] <= after:
            steady[at] = before
    if len(steady) > 2 and steady[0] > steady[1] <= steady[2]:
        steady[0] = steady[1]
    return array("d", accumulate(steady, max))


def _notes(path: Path, scans: Sequence[Scan], with_documents: Sequence[Scan]) -> tuple[str, ...]:
    notes: list[str] = []
    for scan in scans:
        name = f"{scan.window.path.name}: " if len(scans) > 1 else ""
        texts = scan.notes()
        if not scan.times:
            texts = (f"recording: {scan.damage() or 'holds no document'}",)
        notes += [f"recording: {name}{text.removeprefix('recording: ')}" for text in texts]
    if any(after.times[0] < before.times[-1] for before, after in pairwise(with_documents)):
        notes.append("recording: the files overlap in time; they are read one after another")
    if len(scans) == 1 and (older := older_files(path)):
        notes.append(f"recording: {older} older files beside it; '{path.name}*' names all of them")
    return tuple(notes)


def _close(opened: Sequence[Window]) -> None:
    for window in opened:
        window.close()
