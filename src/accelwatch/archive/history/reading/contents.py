"""What of an archive a path names: all of it, what is left of one, or a single file of a day."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np

from accelwatch.archive.history import layout
from accelwatch.archive.history.arrays import coded, milliseconds
from accelwatch.archive.history.files import groups, opened
from accelwatch.archive.history.layout import (
    DESCRIPTION,
    DEVICES,
    NODES,
    TABLES,
    ArchiveError,
    Segment,
)
from accelwatch.archive.history.reading.row_groups import RowGroups

USUAL_INTERVAL_S = 30.0


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """Files by table, and between which moments (Unix milliseconds) they have samples."""

    # Where jobs and maintenance are.
    folder: Path
    groups: Mapping[str, RowGroups]
    interval_s: float
    first: int
    last: int
    source: str = ""


def contents(path: Path) -> Contents:
    """What a path has. Raises ArchiveError for what is no archive, or has no sample at all."""
    if path.is_file():
        return _of_file(path.absolute())
    if not path.is_dir():
        raise ArchiveError(f"{path}: no such folder")
    folder = path.parent if path.name in TABLES and not (path / DESCRIPTION).exists() else path
    described = layout.describe(folder) if (folder / DESCRIPTION).exists() else None
    segments = {table: layout.segments(folder, table) for table in TABLES}
    if not segments[DEVICES] and not segments[NODES]:
        have = "has no samples yet" if described else "is not a history archive"
        text = f"{folder}: {have}: there is no devices/date=YYYY-MM-DD.parquet or nodes/..."
        raise ArchiveError(text)
    return _made(
        folder,
        segments,
        None if described is None else described.interval_s,
        "" if described is None else described.source,
    )


def _of_file(path: Path) -> Contents:
    """One file of samples, whatever folder it is in; those of its day in an archive belong to it."""
    table = path.parent.name
    folder = path.parent.parent
    if table in TABLES and (folder / DESCRIPTION).exists():
        described = layout.describe(folder)
        mine = [segment for segment in layout.days(folder, table) if segment.path == path]
        if mine:
            start, end = mine[0].start, mine[0].end
            segments = {
                name: [
                    other for other in layout.segments(folder, name) if start <= other.start < end
                ]
                for name in TABLES
            }
            return _made(folder, segments, described.interval_s, described.source)
    single = [Segment(path, 0, 1 << 62)]
    names = _names(path)
    table = DEVICES if "device" in names and "kind" not in names else NODES
    return _made(path.parent, {table: single}, None, "")


def _names(path: Path) -> list[str]:
    with opened(path) as file:
        names: list[str] = file.schema_arrow.names
    if not {"time", "node"} <= set(names) or "kind" in names:
        text = f"{path}: no file of samples: it has no columns time and node, or it is of events"
        raise ArchiveError(text)
    return names


def _made(
    folder: Path,
    segments: Mapping[str, list[Segment]],
    interval_s: float | None,
    source: str,
) -> Contents:
    tables = {table: RowGroups(segments.get(table, ())) for table in TABLES}
    spans = [span for table in (DEVICES, NODES) if (span := tables[table].span()) is not None]
    if not spans:
        faults = [text for row_groups in tables.values() for text in row_groups.faults.values()]
        raise ArchiveError(faults[0] if faults else f"{folder}: the archive has no sample")
    return Contents(
        folder=folder,
        groups=tables,
        interval_s=interval_s or _interval(tables),
        first=min(first for first, _ in spans),
        last=max(last for _, last in spans),
        source=source,
    )


def _interval(tables: Mapping[str, RowGroups]) -> float:
    """Between two samples of one node, from the first row group, where no description says it."""
    for table in (NODES, DEVICES):
        group = next(iter(tables[table]), None)
        if group is None:
            continue
        key = "node" if table == NODES else "device"
        for rows in groups(group.path, ["time", key]):
            _, at = coded(rows[key])
            times = np.sort(milliseconds(rows["time"])[at == at[0]])
            steps = np.diff(times)
            if len(steps):
                return max(round(float(np.median(steps)) / 1000), 1)
            break
    return USUAL_INTERVAL_S
