"""All records of a node of an archive up to a time: all columns, of its devices and its own."""

from pathlib import Path

import numpy as np

from accelwatch.archive.history.layout import ArchiveError
from accelwatch.archive.history.reading.row_groups import RowGroup, RowGroups
from accelwatch.archive.history.reading.samples import Group, Samples
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

# How old a last row may be.
_REACH_MS = 3_600_000


class NodeRows:
    """Row groups of one table with the rows of one node in memory, those of the last look."""

    def __init__(self, folder: Path, table: str, groups: RowGroups) -> None:
        self._samples = Samples(folder, table)
        self._groups = groups
        self._node = ""
        # Archives do not change, so a row group stays valid. Only those of the node and time shown
        # are kept.
        self._cached: dict[RowGroup, Group] = {}

    def newest(self, node: str, time: int) -> dict[str, tuple[int, dict[Series, Number]]]:
        """By device: when it was last read (Unix milliseconds), and its values."""
        needed = self._groups.between(time - _REACH_MS, time)
        cached = self._cached if node == self._node else {}
        self._node, self._cached = node, {}
        by_device: dict[str, tuple[int, dict[Series, Number]]] = {}
        for group in needed:
            rows = cached.get(group) or self._read(group, node)
            if rows is None:
                continue
            self._cached[group] = rows
            until = int(np.searchsorted(rows.times, time, side="right"))
            for number in np.unique(rows.entity[:until]).tolist():
                at = int(np.flatnonzero(rows.entity[:until] == number)[-1])
                values = {
                    series: float(column[at])
                    for series, column in rows.columns.items()
                    if not np.isnan(column[at])
                }
                entity = self._samples.entities[number]
                by_device[entity.device] = int(rows.times[at]), dict(values)
        return by_device

    def _read(self, group: RowGroup, node: str) -> Group | None:
        """The node's rows; None where they cannot be read, which is noted."""
        try:
            return self._samples.read_node(group.path, group.at, node)
        except ArchiveError as error:
            self._groups.faults.setdefault(group.path, str(error))
            return None
