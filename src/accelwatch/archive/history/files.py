"""Parquet files: written whole or not at all, merged row group by row group, read with plain errors."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from accelwatch.archive.history.layout import ArchiveError, Segment, replace
from accelwatch.archive.history.tables import columns_within, joined, ordered

# A row group covers less time where a fleet is so large that it would have more.
MAX_GROUP_ROWS = 1 << 20
# Rows times columns of a row group that is written: 2 GiB of numbers while they are in memory.
MAX_GROUP_CELLS = 256 << 20


def release_unused() -> None:
    """Have Arrow's allocator return to the kernel what it keeps for later."""
    pa.default_memory_pool().release_unused()


def write(path: Path, tables: Iterable[Any], schema: Any) -> None:
    """A file with a row group for each table, of the columns of the schema; what one lacks is null.

    Raises OSError.
    """

    def fill(temporary: Path) -> None:
        with pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
            for rows in tables:
                complete = rows if rows.schema == schema else joined([schema.empty_table(), rows])
                writer.write_table(
                    complete.select(schema.names), row_group_size=max(1, len(complete))
                )

    replace(path, fill)


def opened(path: Path) -> Any:
    """An open file. Raises ArchiveError."""
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, error) from error


def damaged(path: Path, error: Exception, group: int | None = None) -> ArchiveError:
    """What to say of a file, or a row group of it, that cannot be read."""
    where = f"{path}" if group is None else f"{path}, row group {group}"
    lines = str(error).split("\n")
    return ArchiveError(f"{where}: cannot be read: {lines[0][:200]}")


def check_size(file: Any, path: Path, at: int, width: int) -> None:
    """Raise ArchiveError for a row group that is no archive's: compressed it may be small."""
    count = file.metadata.row_group(at).num_rows
    if count * width > MAX_GROUP_CELLS:
        text = f"it has {count} rows of {width} columns, more than an archive writes together"
        raise damaged(path, ValueError(text), at)


def groups(path: Path, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """The row groups of a file one after the other, with those of the columns that it has.

    Raises ArchiveError.
    """
    with opened(path) as file:
        there = set(file.schema_arrow.names)
        chosen = None if columns is None else [name for name in columns if name in there]
        width = len(there if chosen is None else chosen)
        for at in range(file.num_row_groups):
            check_size(file, path, at, width)
            try:
                rows = file.read_row_group(at, columns=chosen, use_threads=False)
            except (pa.ArrowException, OSError, ValueError) as error:
                raise damaged(path, error, at) from error
            yield rows


def readable(table: str, chunks: Sequence[Segment], log: Callable[[str], None]) -> list[Segment]:
    """The parts that can be read.

    A damaged part is set aside, so that it does not stop the others for ever, and reported to `log`.
    """
    well = []
    for chunk in chunks:
        try:
            with opened(chunk.path) as file:
                for at in range(file.num_row_groups):
                    file.read_row_group(at, use_threads=False)
        except (ArchiveError, pa.ArrowException, OSError, ValueError) as error:
            aside = chunk.path.with_suffix(".damaged")
            chunk.path.replace(aside)
            log(f"{chunk.path}: a part of {table} is damaged and was set aside: {error}")
        else:
            well.append(chunk)
    return well


def write_day(chunks: Sequence[Segment], target: Path) -> None:
    """The file of a day: a row group for each part. Raises OSError, ArchiveError."""
    schemas = []
    for chunk in chunks:
        with opened(chunk.path) as file:
            schemas.append(file.schema_arrow.remove_metadata())
    schema = pa.unify_schemas(schemas, promote_options="default")
    extents = [extent(chunk) for chunk in chunks]
    # Each row group gets all columns of the day, and one of them is in memory at a time.
    widest = max(rows for rows, _ in extents)
    kept = columns_within([(widest, names) for _, names in extents], MAX_GROUP_CELLS * len(extents))
    schema = pa.schema([field for field in schema if field.name in kept])
    write(target, (rows for chunk in chunks for rows in groups(chunk.path)), _column_order(schema))


def write_span(table: str, chunks: Sequence[Segment], target: Path) -> None:
    """Several parts as one row group. Raises OSError, ArchiveError."""
    rows = joined([rows for chunk in chunks for rows in groups(chunk.path)])
    write_rows(table, rows, target)


def write_rows(table: str, rows: Any, target: Path) -> None:
    """A file with one row group. Raises OSError."""
    sorted_rows = ordered(table, rows)
    schema = _column_order(sorted_rows.schema)
    write(target, [sorted_rows.select(schema.names)], schema)


def extent(chunk: Segment) -> tuple[int, frozenset[str]]:
    """Rows of a file and the names of its columns. Raises ArchiveError."""
    with opened(chunk.path) as file:
        return file.metadata.num_rows, frozenset(file.schema_arrow.names)


def _column_order(schema: Any) -> Any:
    """The same columns: those of every table first, the quantities by name."""
    first = [name for name in _FIRST if name in schema.names]
    others = sorted(set(schema.names) - set(first))
    return pa.schema([schema.field(name) for name in (*first, *others)])


_FIRST = ("time", "node", "device", "model", "kind", "code", "text")
