"""Writes an archive: small parts soon, merged into spans and days, so that a kill costs minutes at most.

Every file appears whole under its name or not at all; what a killed writer left over does not count and
is removed by the next one. All of it blocks: it belongs on a thread.
"""

import errno
import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from accelwatch.archive.history import layout
from accelwatch.archive.history.bounds import UNBOUNDED, Bounds, enforce
from accelwatch.archive.history.files import (
    MAX_GROUP_CELLS,
    MAX_GROUP_ROWS,
    extent,
    readable,
    write,
    write_day,
    write_rows,
    write_span,
)
from accelwatch.archive.history.layout import (
    DEVICES,
    EVENTS,
    JOBS,
    MAINTENANCE,
    SPAN_MS,
    TABLES,
    ArchiveError,
    Description,
    Segment,
)
from accelwatch.archive.history.rows import Batch, JobRow, MaintenanceRow
from accelwatch.archive.history.tables import (
    between,
    block_table,
    event_table,
    job_table,
    joined,
    maintenance_table,
    span,
    within_cells,
)
from accelwatch.system.files.file_rights import make_state_folder
from accelwatch.system.files.folder_lock import lock_file

logger = logging.getLogger(__name__)

# Rows that are kept while nothing can be written; beyond them the oldest are dropped.
MAX_WAITING_ROWS = 4 << 20


# Rows times columns that wait, from which it is time to write them: 64 MiB of numbers.
MANY_CELLS = 8 << 20


class Writer:
    """The only writer of a folder."""

    def __init__(
        self, folder: Path, *, interval_s: float, source: str, bounds: Bounds = UNBOUNDED
    ) -> None:
        """Go on with an archive, or begin one. Raises ArchiveError."""
        self._folder = folder
        self._bounds = bounds
        self._interval_s = interval_s
        self._source = source
        # Samples that were lost: too late, not to be written for long, or of too many columns.
        self.dropped = 0
        self._waiting: dict[str, list[Any]] = {table: [] for table in TABLES}
        self._jobs: list[JobRow] | None = None
        self._maintenance: list[MaintenanceRow] | None = None
        # Up to where spans were merged, by table.
        self._merged: dict[str, int] = {}
        # For as long as the writer lives: two writers would merge each other's files.
        self._lock = self._lock_archive()
        try:
            # A writer that was killed between writing a merged file and removing its parts leaves
            # both; the parts are removed before anything is counted.
            self._tidy()
            self._floor = {table: self._written_until(table) for table in TABLES}
        except BaseException:
            os.close(self._lock)
            raise

    def _lock_archive(self) -> int:
        try:
            make_state_folder(self._folder)
            if (self._folder / layout.DESCRIPTION).exists():
                layout.describe(self._folder)
            elif any(not path.name.startswith(".") for path in self._folder.iterdir()):
                raise ArchiveError(
                    f"{self._folder}: is not empty and no history archive; name a folder of its own"
                )
            else:
                self._describe()
            for table in TABLES:
                (self._folder / table / layout.OPEN).mkdir(parents=True, exist_ok=True)
            return lock_file(self._folder / ".lock")
        except BlockingIOError as error:
            raise ArchiveError(f"{self._folder}: another program writes this archive") from error
        except OSError as error:
            raise _unwritable(self._folder, error) from error

    def _tidy(self) -> None:
        try:
            for table in TABLES:
                for path in [*layout.obsolete(self._folder, table)]:
                    path.unlink(missing_ok=True)
        except OSError as error:
            raise _unwritable(self._folder, error) from error

    def _written_until(self, table: str) -> int:
        """Before this nothing more can be written: its span is closed."""
        return max((segment.end for segment in layout.segments(self._folder, table)), default=0)

    @property
    def last(self) -> int:
        """The end of what was written of devices, Unix milliseconds; 0 when nothing was."""
        return self._floor[DEVICES]

    def add(self, batch: Batch) -> None:
        """Keep what was gathered until `cut` writes it."""
        for table, blocks in batch.blocks.items():
            self._waiting[table] += [block_table(table, block) for block in blocks if block.nodes]
        if batch.events:
            self._waiting[EVENTS].append(event_table(batch.events))
        if batch.jobs is not None:
            self._jobs = batch.jobs
        if batch.maintenance is not None:
            self._maintenance = batch.maintenance
        for table in TABLES:
            self._shorten(table)

    def _shorten(self, table: str) -> None:
        waiting = self._waiting[table]
        while sum(map(len, waiting)) > MAX_WAITING_ROWS and len(waiting) > 1:
            self.dropped += len(waiting.pop(0))
        if _cells(waiting) > MAX_GROUP_CELLS:
            self._waiting[table], lost = within_cells(waiting, MAX_GROUP_CELLS)
            self.dropped += lost

    @property
    def is_backlogged(self) -> bool:
        """Whether so much waits that it should be written before its time."""
        return any(_cells(waiting) > MANY_CELLS for waiting in self._waiting.values())

    def cut(self, before: int, events_before: int | None = None) -> None:
        """Write everything before a moment, Unix milliseconds; merge what is over; keep the bounds.

        Later rows from before it are dropped; events may come late, and so may have a moment of
        their own. Raises ArchiveError; what could not be written waits.
        """
        limits = dict.fromkeys(TABLES, before)
        if events_before is not None:
            limits[EVENTS] = events_before
        try:
            # Waiting rows are written as a chunk, chunks are merged into a span, spans into a day.
            # Each step writes the new file under its name before it removes the old ones, so a kill
            # leaves duplicates and no gap.
            for table, end in limits.items():
                self._write(table, end)
                self._merge(table, end)
            if self._jobs is not None:
                rows = job_table(self._jobs)
                write(self._folder / JOBS, [rows], rows.schema)
                self._jobs = None
            if self._maintenance is not None:
                rows = maintenance_table(self._maintenance)
                write(self._folder / MAINTENANCE, [rows], rows.schema)
                self._maintenance = None
            for text in enforce(self._folder, self._bounds, before):
                logger.warning("%s", text)
            self._describe()
        except (OSError, pa.ArrowException) as error:
            raise _unwritable(self._folder, error) from error

    def close(self, before: int) -> None:
        """Write what waits, before a moment, and let another write. Raises ArchiveError."""
        try:
            self.cut(before)
        finally:
            os.close(self._lock)

    def _write(self, table: str, before: int) -> None:
        if not self._waiting[table]:
            return
        waiting, lost = within_cells(self._waiting[table], MAX_GROUP_CELLS)
        self.dropped += lost
        rows = joined(waiting)
        floor = self._floor[table]
        first, last = span(rows)
        # Their span is closed; to reopen it would rewrite the whole span for one late row.
        if first < floor:
            late, rows = len(rows), between(rows, floor, last + 1)
            self.dropped += late - len(rows)
        self._waiting[table] = [rows] if len(rows) else []
        start = max(floor, layout.span_of(max(first, floor)))
        while start < before and len(rows):
            end = min(before, layout.span_of(start) + SPAN_MS)
            chunk, rows = between(rows, start, end), between(rows, end, last + 1)
            if len(chunk):
                write_rows(table, chunk, layout.chunk_file(self._folder, table, start, end))
            self._waiting[table] = [rows] if len(rows) else []
            self._floor[table] = start = end

    def _merge(self, table: str, before: int) -> None:
        """Spans and days that are over; a part that is lost meanwhile does not stop the others."""
        by_span: dict[int, list[Segment]] = {}
        merged_days = {day.start for day in layout.days(self._folder, table)}
        for chunk in layout.segments(self._folder, table):
            if chunk.start not in merged_days:
                by_span.setdefault(layout.span_of(chunk.start), []).append(chunk)
        for start, chunks in by_span.items():
            # Each span once, after its end.
            if self._merged.get(table, 0) < start + SPAN_MS <= before:
                self._merge_span(table, chunks)
                self._merged[table] = start + SPAN_MS
        by_day: dict[str, list[Segment]] = {}
        for chunk in layout.segments(self._folder, table):
            if chunk.path.parent.name == layout.OPEN:
                by_day.setdefault(layout.day_of(chunk.start), []).append(chunk)
        for chunks in by_day.values():
            day = chunks[0].start - chunks[0].start % layout.DAY_MS
            if day + layout.DAY_MS <= before:
                self._merge_day(table, chunks)

    def _merge_span(self, table: str, chunks: list[Segment]) -> None:
        """As few row groups as may be; a large fleet has several in a span."""
        together: list[Segment] = []
        rows, columns = 0, frozenset[str]()
        for chunk in readable(table, chunks, logger.warning):
            more, names = extent(chunk)
            cells = (rows + more) * len(columns | names)
            if rows + more > MAX_GROUP_ROWS or cells > MAX_GROUP_CELLS:
                self._merge_chunks(table, together)
                together, rows, columns = [], 0, frozenset()
            together.append(chunk)
            rows, columns = rows + more, columns | names
        self._merge_chunks(table, together)

    def _merge_chunks(self, table: str, chunks: list[Segment]) -> None:
        if len(chunks) > 1:
            start, end = chunks[0].start, chunks[-1].end
            write_span(table, chunks, layout.chunk_file(self._folder, table, start, end))
            _remove(chunks)

    def _merge_day(self, table: str, chunks: list[Segment]) -> None:
        well = readable(table, chunks, logger.warning)
        if well:
            write_day(well, layout.day_file(self._folder, table, well[0].start))
            _remove(well)

    def _describe(self) -> None:
        """Say in `history.json` from when to when the archive is."""
        there = [segment for table in TABLES for segment in layout.segments(self._folder, table)]
        layout.write_description(
            self._folder,
            Description(
                interval_s=self._interval_s,
                start=min((segment.start for segment in there), default=0) / 1000,
                end=max((segment.end for segment in there), default=0) / 1000,
                source=self._source,
            ),
        )


def _cells(tables: Iterable[Any]) -> int:
    return sum(len(table) * table.num_columns for table in tables)


def _remove(chunks: list[Segment]) -> None:
    for chunk in chunks:
        chunk.path.unlink(missing_ok=True)


def _unwritable(folder: Path, error: Exception) -> ArchiveError:
    code = getattr(error, "errno", None)
    if code == errno.ENOSPC or "No space left" in str(error):
        return ArchiveError(f"{folder}: the disk is full; the archive waits for room")
    return ArchiveError(f"{folder}: cannot be written: {error}")
