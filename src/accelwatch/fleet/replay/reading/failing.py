"""Since when devices of an archive are not read: by the samples of an hour, row group by row group."""

import numpy as np
import numpy.typing as npt

from accelwatch.archive.history.reading.samples import Group
from accelwatch.schema.metrics import Series

Timestamps = npt.NDArray[np.int64]
_UP: Series = ("device_up",)


class Failing:
    """Arrays by number of the entity, Unix milliseconds; -1 where there is no such sample."""

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
