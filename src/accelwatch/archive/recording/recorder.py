"""Writes snapshots to a recording: readable at any moment, after a crash, and after a full disk."""

import contextlib
import os
import zlib
from pathlib import Path
from types import TracebackType

import msgspec

from accelwatch.archive.recording import block_index
from accelwatch.archive.recording.block_index import BlockIndex
from accelwatch.archive.recording.layout import (
    BLOCK_BYTES,
    BLOCK_DOCUMENTS,
    MAX_LINE,
    PARTIAL_SUFFIX,
    Compression,
    compression_by_name,
)
from accelwatch.archive.recording.packing import Packer, block_end, new_packer
from accelwatch.archive.recording.rotation import Family
from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch.schema.json.wire import encode
from accelwatch.schema.snapshot import Snapshot
from accelwatch.schema.timestamps import timestamp, unix_seconds

# Bytes; a smaller bound would make a file of each document.
MIN_FILE = 64 << 10


class _Written(msgspec.Struct, frozen=True, kw_only=True):
    """What is on the disk for certain: replaced as a whole after each write, so never half true."""

    # Offset of the present block.
    start: int
    end: int
    packed_crc: int = 0
    content_crc: int = 0
    content_bytes: int = 0
    times: tuple[float, ...] = ()
    checksums: tuple[int, ...] = ()


class Recorder:
    """One recording. After an error nothing more is written, and what was written is in order.

    `max_bytes` is about the size of a file: the document that passes it is its last. `keep` finished
    files stay. Raises UsageError for a path that cannot be a recording, AccelwatchError for one
    that cannot be written.
    """

    def __init__(
        self,
        path: Path,
        *,
        compression: Compression | None = None,
        max_bytes: int = 100 << 20,
        keep: int = 5,
    ) -> None:
        if max_bytes < MIN_FILE:
            raise UsageError(f"a file of a recording holds at least {MIN_FILE >> 10} KiB")
        if keep < 1:
            raise UsageError("at least one file of a recording must be kept")
        self.path = path
        self._compression = compression or compression_by_name(path.name)
        self._max_bytes = max_bytes
        self._descriptor = -1
        self._done = False
        self._unnamed = False
        self._written = _Written(start=0, end=0)
        self._packer: Packer | None = None
        # Documents written.
        self.documents = 0
        # Packed bytes written, all files together.
        self.bytes = 0
        self._family = Family(path, keep)
        try:
            self._open()
        except OSError as error:
            self._family.close()
            raise AccelwatchError(f"cannot record to {path}: {error.strerror}") from error
        except BaseException:
            self._family.close()
            raise

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _open(self) -> None:
        self._descriptor = self._family.create_file()
        self._written = _Written(start=0, end=0)
        self._packer = None

    def write(self, snapshot: Snapshot) -> None:
        """Append a snapshot. Raises AccelwatchError when it cannot be; the recording is then closed."""
        self.write_line(encode(snapshot), unix_seconds(timestamp(snapshot.time)))

    def write_line(self, document: bytes, time: float) -> None:
        """Append a document as it is, of that time, Unix seconds. Raises AccelwatchError as `write`."""
        if self._done:
            raise AccelwatchError(f"the recording {self.path} is closed")
        line = document + b"\n"
        if len(line) > MAX_LINE:
            raise AccelwatchError(f"a document of {len(line)} bytes is too long for a recording")
        try:
            if self._descriptor < 0:
                self._open()
            self._add(line, time)
            if self._written.end >= self._max_bytes:
                self._finish()
        except OSError as error:
            raise self._stopped(error) from error

    def _add(self, line: bytes, time: float) -> None:
        before = self._written
        if self._packer is None:
            self._packer = new_packer(self._compression)
        packed = self._packer.add(line)
        self._append(packed, before.end)
        self._written = _Written(
            start=before.start,
            end=before.end + len(packed),
            packed_crc=zlib.crc32(packed, before.packed_crc),
            content_crc=zlib.crc32(line, before.content_crc),
            content_bytes=before.content_bytes + len(line),
            times=(*before.times, time),
            checksums=(*before.checksums, zlib.crc32(line[:-1])),
        )
        self.documents += 1
        self.bytes += len(packed)
        if len(self._written.times) >= BLOCK_DOCUMENTS or self._written.content_bytes > BLOCK_BYTES:
            self._close_block()

    def _append(self, data: bytes, offset: int) -> None:
        remaining = memoryview(data)
        while remaining:
            count = os.pwrite(self._descriptor, remaining, offset)
            remaining, offset = remaining[count:], offset + count

    def _close_block(self) -> None:
        block = self._written
        if not block.times:
            return
        tail = block_end(self._compression, block.content_crc, block.content_bytes)
        if self._compression is Compression.ZSTD:
            tail += block_index.pack(
                BlockIndex(
                    packed=block.end + len(tail) - block.start,
                    checksum=zlib.crc32(tail, block.packed_crc),
                    unpacked=block.content_bytes,
                    times=block.times,
                    checksums=block.checksums,
                )
            )
        self._append(tail, block.end)
        self._written = _Written(start=block.end + len(tail), end=block.end + len(tail))
        self._packer = None
        self.bytes += len(tail)

    def _finish(self) -> None:
        """End the file and give it its name. Raises OSError; what was written stays in order."""
        if self._descriptor < 0:
            return
        try:
            os.ftruncate(self._descriptor, self._written.end)
            if self._written.end == 0:
                self._family.discard()
                return
            self._close_block_if_it_fits()
            self._unnamed = True
            os.fsync(self._descriptor)
            self._family.finish()
            self._unnamed = False
        finally:
            os.close(self._descriptor)
            self._descriptor = -1

    def _close_block_if_it_fits(self) -> None:
        """A block without its end can be read; a piece of an end would look like damage."""
        try:
            self._close_block()
        except OSError:
            os.ftruncate(self._descriptor, self._written.end)

    def _stopped(self, error: OSError) -> AccelwatchError:
        with contextlib.suppress(AccelwatchError):
            self.close()
        where = f" in {self.path}{PARTIAL_SUFFIX}" if self._unnamed else ""
        kept = f"the {self.documents} documents before are kept{where}"
        if not self.documents:
            kept = "there is no document before"
        why = error.strerror or str(error)
        return AccelwatchError(f"{self.path}: {why}; the recording has ended, {kept}")

    def close(self) -> None:
        """End the file and rename it in. Raises AccelwatchError when that fails."""
        if self._done:
            return
        self._done = True
        try:
            self._finish()
        except OSError as error:
            partial = f"{self.path}{PARTIAL_SUFFIX}"
            raise AccelwatchError(f"cannot finish {partial}: {error.strerror}") from error
        finally:
            self._family.close()
