"""The newest sample of every entity up to a moment, and its hour, from row groups kept in memory."""

from collections import OrderedDict
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accelwatch.archive.history.layout import ArchiveError
from accelwatch.archive.history.reading.row_groups import RowGroup, RowGroups
from accelwatch.archive.history.reading.samples import Entity, Group, Samples
from accelwatch.schema.metrics import Series

# An hour for graphs, and a little before it.
LOOKBACK_MS = 3_660_000
# Of row groups that were read; what a moment needs is held however large it is.
_CACHE_BYTES = 96 << 20
_UP: Series = ("device_up",)

Timestamps = npt.NDArray[np.int64]
Columns = dict[Series, npt.NDArray[np.float64]]


class Failing:
    """Since when each is not read, by the samples of an hour, row group by row group.

    Arrays by number of the entity, Unix milliseconds; -1 where there is no such sample.
    """

    def __init__(self, size: int) -> None:
        # The newest sample of a read that did not fail.
        self.read_at: Timestamps = np.full(size, -1, dtype=np.int64)
        # The first one after it of a read that failed.
        self.since: Timestamps = np.full(size, -1, dtype=np.int64)

    def add(self, group: Group, until: int, last: npt.NDArray[np.intp]) -> None:
        """The first `until` rows of a later row group; `last` is each entity's last of them, or -1."""
        entity, times, up = group.entity[:until], group.times[:until], group.columns.get(_UP)
        failed = np.empty(0, dtype=np.intp) if up is None else np.flatnonzero(up[:until] == 0)
        if len(failed):
            read = np.ones(until, dtype=np.bool_)
            read[failed] = False
            rows = np.flatnonzero(read)
            last = np.full(len(last), -1, dtype=np.intp)
            last[entity[rows]] = rows
        present = np.flatnonzero(last >= 0)
        self.read_at[present] = times[last[present]]
        self.since[present] = -1
        failed = failed[failed > last[entity[failed]]]
        first_failed = np.full(len(last), -1, dtype=np.int64)
        first_failed[entity[failed[::-1]]] = times[failed[::-1]]  # of several of a device the first
        new = (self.since < 0) & (first_failed >= 0)
        self.since[new] = first_failed[new]


class Latest(NamedTuple):
    """Arrays by number of the entity."""

    entities: list[Entity]
    # Unix milliseconds of the newest sample; -1 where none is within reach.
    times: Timestamps
    # NaN where it has no value.
    columns: Columns
    # Since when each was not read.
    failing: Failing


class Recent:
    """Samples of one table around the moment that is shown."""

    def __init__(
        self, folder: Path, table: str, groups: RowGroups, series: Collection[Series]
    ) -> None:
        self._samples = Samples(folder, table, series)
        self._groups = groups
        # Archives do not change, so a row group stays valid; the least recently used go beyond
        # _CACHE_BYTES.
        self._cached: OrderedDict[RowGroup, Group] = OrderedDict()
        self._damaged: set[RowGroup] = set()

    @property
    def entities(self) -> list[Entity]:
        """By number; it grows as they are met."""
        return self._samples.entities

    def latest(self, time: int) -> Latest:
        """The newest samples up to a moment, Unix milliseconds."""
        groups = self._around(time)
        size = len(self.entities)
        times = np.full(size, -1, dtype=np.int64)
        columns: Columns = {}
        failing = Failing(size)
        for group in groups:
            until = int(np.searchsorted(group.times, time, side="right"))
            last = np.full(size, -1, dtype=np.intp)
            last[group.entity[:until]] = np.arange(until)
            failing.add(group, until, last)
            present = np.flatnonzero(last >= 0)
            rows = last[present]
            times[present] = group.times[rows]
            for series in columns.keys() - group.columns.keys():
                columns[series][present] = np.nan
            for series, values in group.columns.items():
                column = columns.setdefault(series, np.full(size, np.nan))
                column[present] = values[rows]
        return Latest(self.entities, times, columns, failing)

    def track(self, node: str, device: str, time: int) -> tuple[Timestamps, Columns]:
        """Moments and values of one entity in the hour up to a moment."""
        groups = self._around(time)
        number = next(
            (
                n
                for n, entity in enumerate(self.entities)
                if (entity.node, entity.device) == (node, device)
            ),
            -1,
        )
        times: list[Timestamps] = [np.empty(0, dtype=np.int64)]
        chunks: list[tuple[int, Group, npt.NDArray[np.intp]]] = []
        for group in groups:
            mine = np.flatnonzero(group.entity == number)
            mine = mine[(group.times[mine] <= time) & (group.times[mine] > time - LOOKBACK_MS)]
            times.append(group.times[mine])
            chunks.append((len(mine), group, mine))
        series = {key for _, group, _ in chunks for key in group.columns}
        return np.concatenate(times), {
            key: np.concatenate(
                [
                    group.columns[key][mine] if key in group.columns else np.full(count, np.nan)
                    for count, group, mine in chunks
                ]
            )
            for key in series
        }

    def _around(self, time: int) -> list[Group]:
        """The row groups of the hour up to a moment, oldest first."""
        needed = self._groups.between(time - LOOKBACK_MS, time)
        for group in needed:
            if group not in self._cached and not self._load(group):
                continue
            self._cached.move_to_end(group)
        while (
            len(self._cached) > len(needed)
            and sum(map(_bytes, self._cached.values())) > _CACHE_BYTES
        ):
            self._cached.popitem(last=False)
        return [self._cached[group] for group in needed if group in self._cached]

    def _load(self, group: RowGroup) -> bool:
        """Whether a row group can be read; a damaged one is noted, and left out."""
        if group in self._damaged:
            return False
        try:
            self._cached[group] = self._samples.read(group.path, group.at)
        except ArchiveError as error:
            self._damaged.add(group)
            self._groups.faults.setdefault(group.path, str(error))
            return False
        return True


def _bytes(group: Group) -> int:
    return group.times.nbytes + group.entity.nbytes + sum(c.nbytes for c in group.columns.values())
