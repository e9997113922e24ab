"""The newest sample of every entity up to a moment, and its hour, from row groups kept in memory."""

from collections import OrderedDict
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accelwatch.archive.history.layout import ArchiveError
from accelwatch.archive.history.row_groups import RowGroup, RowGroups
from accelwatch.archive.history.samples import Entity, Group, Samples
from accelwatch.fleet.replay.failing import Failing
from accelwatch.schema.metrics import Series

LOOK_BACK_MS = 3_660_000
"""An hour for graphs, and a little before it."""
_HELD_BYTES = 96 << 20
"""Of row groups that were read; what a moment needs is held however large it is."""


Moments = npt.NDArray[np.int64]
Columns = dict[Series, npt.NDArray[np.float64]]


class Latest(NamedTuple):
    """Arrays by number of the entity."""

    entities: list[Entity]
    times: Moments
    """When the newest sample was taken, Unix milliseconds; -1 where none is within reach."""
    columns: Columns
    """NaN where it has no value."""
    failing: Failing
    """Since when each was not read."""


class Recent:
    """Samples of one table around the moment that is shown."""

    def __init__(
        self, folder: Path, table: str, groups: RowGroups, wanted: Collection[Series]
    ) -> None:
        self._samples = Samples(folder, table, wanted)
        self._groups = groups
        self._held: OrderedDict[RowGroup, Group] = OrderedDict()
        self._damaged: set[RowGroup] = set()

    @property
    def entities(self) -> list[Entity]:
        """By number; it grows as they are met."""
        return self._samples.entities

    def latest(self, moment: int) -> Latest:
        """The newest samples up to a moment, Unix milliseconds."""
        groups = self._around(moment)
        size = len(self.entities)
        times = np.full(size, -1, dtype=np.int64)
        columns: Columns = {}
        failing = Failing(size)
        for group in groups:
            until = int(np.searchsorted(group.times, moment, side="right"))
            last = np.full(size, -1, dtype=np.intp)
            last[group.entity[:until]] = np.arange(until)
            failing.add(group, until, last)
            known = np.flatnonzero(last >= 0)
            rows = last[known]
            times[known] = group.times[rows]
            for series in columns.keys() - group.columns.keys():
                columns[series][known] = np.nan
            for series, values in group.columns.items():
                column = columns.setdefault(series, np.full(size, np.nan))
                column[known] = values[rows]
        return Latest(self.entities, times, columns, failing)

    def track(self, node: str, device: str, moment: int) -> tuple[Moments, Columns]:
        """Moments and values of one entity in the hour up to a moment."""
        groups = self._around(moment)
        number = next(
            (n for n, one in enumerate(self.entities) if (one.node, one.device) == (node, device)),
            -1,
        )
        times: list[Moments] = [np.empty(0, dtype=np.int64)]
        parts: list[tuple[int, Group, npt.NDArray[np.intp]]] = []
        for group in groups:
            mine = np.flatnonzero(group.entity == number)
            mine = mine[(group.times[mine] <= moment) & (group.times[mine] > moment - LOOK_BACK_MS)]
            times.append(group.times[mine])
            parts.append((len(mine), group, mine))
        series = {one for _, group, _ in parts for one in group.columns}
        return np.concatenate(times), {
            one: np.concatenate(
                [
                    group.columns[one][mine] if one in group.columns else np.full(count, np.nan)
                    for count, group, mine in parts
                ]
            )
            for one in series
        }

    def _around(self, moment: int) -> list[Group]:
        """The row groups of the hour up to a moment, oldest first."""
        wanted = self._groups.between(moment - LOOK_BACK_MS, moment)
        for group in wanted:
            if group not in self._held and not self._load(group):
                continue
            self._held.move_to_end(group)
        while len(self._held) > len(wanted) and sum(map(_bytes, self._held.values())) > _HELD_BYTES:
            self._held.popitem(last=False)
        return [self._held[group] for group in wanted if group in self._held]

    def _load(self, group: RowGroup) -> bool:
        """Whether a row group can be read; a damaged one is noted, and left out."""
        if group in self._damaged:
            return False
        try:
            self._held[group] = self._samples.read(group.path, group.at)
        except ArchiveError as error:
            self._damaged.add(group)
            self._groups.faults.setdefault(group.path, str(error))
            return False
        return True


def _bytes(group: Group) -> int:
    return group.times.nbytes + group.entity.nbytes + sum(c.nbytes for c in group.columns.values())
