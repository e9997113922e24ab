"""What is in one file: the blocks, the times of their documents, and up to where it is good.

The search is strict: it ends at the first damage, and what was read before is as it was written. A file
that just ends, as that of a recorder that was killed, is not damaged.
"""

import shlex
from array import array
from time import monotonic

import msgspec

from accelwatch.archive.recording.block_index import BlockIndex
from accelwatch.archive.recording.layout import Compression
from accelwatch.archive.recording.lines import LineCutter, NewerSchemaError, timestamp_of
from accelwatch.archive.recording.window import Window
from accelwatch.base.errors import WireError
from accelwatch.schema.snapshot import SCHEMA
from accelwatch.schema.timestamps import timestamp

# Documents that a file is searched for; four months of one a second.
MAX_DOCUMENTS = 10_000_000
_FREE_BYTES = 1 << 30
# Unpacked bytes that are searched, for each packed byte; blocks with an index are not searched.
_MAX_RATIO = 1000


class Block(msgspec.Struct, frozen=True):
    """Packed bytes `offset` to `end` of a file, which unpack to whole lines with `count` documents."""

    offset: int
    end: int
    count: int
    # Bytes to which it unpacks, as its index says; None for a block that was searched.
    limit: int | None = None


class Scan:
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
        # Byte from which on nothing is read; None for a file without damage.
        self.damaged_at: int | None = None
        # The last block has no end: still being written, or cut off between two documents.
        self.unfinished = False
        # The last document is incomplete.
        self.truncated = False
        # The file is one document that is written over several lines.
        self.is_single_document = False
        self._lines = LineCutter()
        self._block_start = 0
        self._before = 0
        # Unpacked bytes of all lines that were read.
        self._good_bytes = 0
        self._newer = ""
        self._budget = _FREE_BYTES + _MAX_RATIO * window.size

    @property
    def is_closed(self) -> bool:
        """Whether the search must end before the file does."""
        return self.damaged_at is not None or self.cut

    @property
    def cut(self) -> bool:
        """Whether the search is too large or too long to go on."""
        return self._budget < 0 or len(self.times) >= MAX_DOCUMENTS or self.late

    @property
    def late(self) -> bool:
        """Whether the time for the search is over."""
        return self._until is not None and monotonic() >= self._until

    @property
    def pending(self) -> bool:
        """Whether a line has started and not ended."""
        return self._lines.pending > 0

    @property
    def documents(self) -> int:
        """Documents of the block that is open."""
        return len(self.times) - self._before

    def start_block(self, offset: int) -> None:
        """A block begins there, unless a line reaches into it from the one before."""
        if not self.pending:
            self._block_start = offset
            self._before = len(self.times)

    def feed(self, chunk: bytes, offset: int) -> None:
        """Read unpacked bytes, which end at `offset` of the file."""
        self._budget -= len(chunk)
        for line in self._lines.feed(chunk):
            # Lines behind damage are cut and not read.
            if self.damaged_at is None:
                self._read_line(line, offset)

    def close_block(self, offset: int) -> None:
        """The open block ends there."""
        if self.documents:
            self.blocks.append(Block(self._block_start, offset, self.documents))
        self._block_start = offset
        self._before = len(self.times)

    def reject_block(self, offset: int) -> None:
        """The block that is there is not what was written: nobody knows which of its documents are.

        A line that reaches into it from the one before goes with its block.
        """
        if not self.documents:
            self.start_block(offset)
        del self.times[self._before :]
        self._lines.drop()
        self.damaged_at = self._block_start

    def believe(self, offset: int, end: int, index: BlockIndex) -> None:
        """A block that its index describes."""
        if self.pending:
            self.reject_block(offset)
            return
        self.blocks.append(Block(offset, end, len(index.times), limit=index.unpacked))
        self.times.extend(index.times)
        self._before = len(self.times)

    def finish(self, offset: int) -> None:
        """The file ends there; its last line may lack its break."""
        if self.is_closed:
            self._lines.drop()
        if self.pending:
            line = self._lines.remainder()
            time = None if line is None else self._timestamp(line)
            if time is None:
                self.truncated = True
            else:
                self.times.append(time)
        self.close_block(offset)

    def add_single_document(self, content: bytes) -> None:
        """Read a file without documents as a single document over several lines, if it is one."""
        time = self._timestamp(content)
        if time is not None:
            self.damaged_at, self.truncated, self.is_single_document = None, False, True
            self.times.append(time)
            self.blocks.append(Block(0, self.window.size, 1))

    def _read_line(self, line: bytes | None, offset: int) -> None:
        if line is not None and line.strip():
            time = self._timestamp(line)
            if time is None:
                line = None
            else:
                self.times.append(time)
        if line is None:
            plain = self.compression is Compression.NONE
            self.damaged_at = self._good_bytes if plain else offset
        else:
            self._good_bytes += len(line) + 1

    def _timestamp(self, line: bytes) -> float | None:
        try:
            return timestamp_of(line)
        except NewerSchemaError as error:
            if not self.times:
                raise refuse_newer(self.window, str(error)) from error
            self._newer = str(error)
            return None

    def notes(self) -> tuple[str, ...]:
        """The notes on damage, in words."""
        remarks = {
            self.damage(): self.damaged_at is not None,
            "the end is missing": self.truncated,
            "it was not finished: still being written, or cut off": self.unfinished
            and not self.truncated,
            f"only the first {len(self.times)} documents are read": self.cut,
        }
        return tuple(f"recording: {text}" for text, true in remarks.items() if true)

    def damage(self) -> str:
        """Where the file is damaged, and the mend; empty for one that is not."""
        if self.damaged_at is None:
            return ""
        read = "no document before it can be read"
        if self.times:
            last = timestamp(self.times[-1])
            read = f"only the {len(self.times)} documents before it are read, up to {last}"
        if self._newer:
            return f"at byte {self.damaged_at} it is {self._newer}: {read}; upgrade accelwatch"
        path = shlex.quote(str(self.window.path))
        return (
            f"damaged at byte {self.damaged_at}: {read}; "
            f"save what else can be read with: accelwatch record --repair {path}"
        )


def refuse_newer(window: Window, schema: str) -> WireError:
    """The error for a file of a newer major version."""
    return WireError(
        f"{window.path} was written as {schema}, newer than this version reads ({SCHEMA});"
        " upgrade accelwatch"
    )
