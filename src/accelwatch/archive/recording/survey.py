"""What is in one file: the blocks, the times of their documents, and what is damaged."""

from array import array
from time import monotonic

import msgspec

from accelwatch.archive.recording.block_index import BlockIndex
from accelwatch.archive.recording.layout import Compression
from accelwatch.archive.recording.lines import LineCutter, NewerSchemaError, checked_timestamp
from accelwatch.archive.recording.window import Window
from accelwatch.base.errors import WireError
from accelwatch.schema.snapshot import SCHEMA

MAX_DOCUMENTS = 10_000_000
"""Documents that a file is searched for; four months of one a second."""
_MAX_DAMAGE = 100_000
_FREE_BYTES = 1 << 30
_MAX_RATIO = 1000
"""Unpacked bytes that are searched, for each packed byte; blocks with an index are not searched."""


class Block(msgspec.Struct, frozen=True):
    """Packed bytes `offset` to `end` of a file, which unpack to whole lines with `count` documents."""

    offset: int
    end: int
    count: int
    only: frozenset[int] | None = None
    """CRC-32 of the documents as they were written, of a block that is not so any more."""
    limit: int | None = None
    """Bytes to which it unpacks, as its index says; None for a block that was searched."""


class Survey:
    """Fills while a file is searched. Raises WireError for a file of a newer major version."""

    def __init__(
        self, window: Window, compression: Compression, until: float | None = None
    ) -> None:
        """`until`: moment of the monotonic clock at which the search ends; None for none."""
        self.window = window
        self._until = until
        self.compression = compression
        self.blocks: list[Block] = []
        self.times = array("d")
        self.damaged_lines = 0
        self.lost = 0
        """Documents that a damaged block is known to have had."""
        self.damaged_positions = 0
        self.unfinished = False
        """The last block has no end: still being written, or cut off between two documents."""
        self.truncated = False
        """The last document is incomplete."""
        self.is_single_document = False
        """The file is one document that is written over several lines."""
        self._lines = LineCutter()
        self._block_start = 0
        self._before = 0
        self._accounted = 0
        self._only: frozenset[int] | None = None
        self._budget = _FREE_BYTES + _MAX_RATIO * window.size

    @property
    def cut(self) -> bool:
        """Whether the search must end before the file does."""
        return (
            self._budget < 0
            or len(self.times) >= MAX_DOCUMENTS
            or self.damaged_positions >= _MAX_DAMAGE
            or self.late
        )

    @property
    def late(self) -> bool:
        """Whether the time for the search is over."""
        return self._until is not None and monotonic() >= self._until

    @property
    def pending(self) -> bool:
        """Whether a line has begun and not ended."""
        return self._lines.pending > 0

    @property
    def documents(self) -> int:
        """Documents of the block that is open."""
        return len(self.times) - self._before

    def start_block(self, offset: int, only: frozenset[int] | None = None) -> None:
        """A block begins there, unless a line reaches into it from the one before."""
        if not self.pending:
            self._block_start = offset
            self._before = len(self.times)
            self._only = only

    def feed(self, chunk: bytes) -> None:
        """Take unpacked bytes."""
        self._budget -= len(chunk)
        for line in self._lines.feed(chunk):
            self._read_line(line)

    def close_block(self, offset: int) -> None:
        """The open block ends there."""
        if self.documents:
            self.blocks.append(Block(self._block_start, offset, self.documents, self._only))
        self._block_start = offset
        self._before = len(self.times)
        self._only = None

    def drop_line(self) -> None:
        """The line that has begun will not be ended."""
        self._lines.drop()

    def damage(self, offset: int) -> None:
        """The open block is damaged there."""
        self.damaged_positions += 1
        self._lines.drop()
        self.close_block(offset)

    def believe(self, offset: int, end: int, index: BlockIndex) -> None:
        """A block that its index describes."""
        if self.pending:
            self.damage(offset)
        self.blocks.append(Block(offset, end, len(index.times), limit=index.unpacked))
        self.times.extend(index.times)
        self._before = len(self.times)

    def account(self, count: int) -> None:
        """An index tells how many documents the block before it had."""
        self.lost += max(count - (len(self.times) - self._accounted), 0)
        self._accounted = len(self.times)

    def finish(self, offset: int) -> None:
        """The file ends there; its last line may lack its break."""
        if self.cut:
            self._lines.drop()
        if self.pending:
            line = self._lines.rest()
            time = None if line is None else self._timestamp(line)
            if time is None:
                self.truncated = True
            else:
                self.times.append(time)
        self.close_block(offset)

    def add_single_document(self, content: bytes) -> None:
        """Take a file without documents as one that is written over several lines, if it is."""
        time = self._timestamp(content)
        if time is not None:
            self.damaged_lines, self.truncated, self.is_single_document = 0, False, True
            self.times.append(time)
            self.blocks.append(Block(0, self.window.size, 1))

    def _read_line(self, line: bytes | None) -> None:
        if line is not None and not line.strip():
            return
        time = None if line is None else self._timestamp(line)
        if time is None:
            self.damaged_lines += 1
        else:
            self.times.append(time)

    def _timestamp(self, line: bytes) -> float | None:
        try:
            return checked_timestamp(line, self._only)
        except NewerSchemaError as error:
            if self.times:
                return None
            raise refuse_newer(self.window, str(error)) from error

    def notes(self) -> tuple[str, ...]:
        """What there is to say of damage, in words."""
        remarks = {
            f"{self.damaged_lines} damaged lines skipped": self.damaged_lines,
            f"{self.lost} documents lost to damage": self.lost,
            f"damaged in {self.damaged_positions} places": self.damaged_positions,
            "the end is missing": self.truncated,
            "it was not finished: still being written, or cut off": self.unfinished
            and not self.truncated,
            f"only the first {len(self.times)} documents are read": self.cut,
        }
        return tuple(f"recording: {text}" for text, true in remarks.items() if true)


def refuse_newer(window: Window, schema: str) -> WireError:
    """The error for a file of a newer major version."""
    return WireError(
        f"{window.path} was written as {schema}, newer than this version reads ({SCHEMA});"
        " upgrade accelwatch"
    )
