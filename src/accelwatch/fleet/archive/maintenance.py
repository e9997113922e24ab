"""Which node was announced to be worked on from when to when, from the windows at each look."""

from collections.abc import Iterable

from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.archive.history.rows import MaintenanceRow

# Beyond them those that ended first are forgotten.
MOST_ROWS = 200_000
# Node, beginning in Unix milliseconds, reason: a window of the journal has the same after a restart.
_Key = tuple[str | None, int, str]


class MaintenanceBook:
    """Windows that are announced and windows that are over; times in Unix milliseconds."""

    def __init__(self, existing: Iterable[MaintenanceRow] = ()) -> None:
        """`existing` are those of an archive that is gone on with."""
        self._rows: dict[_Key, MaintenanceRow] = {_key(row): row for row in existing}
        # Those of the look before.
        self._announced: dict[_Key, MaintenanceRow] = {}
        self._windows: tuple[Maintenance, ...] = ()
        self.changed = False

    def observe(self, time: int, windows: Iterable[Maintenance]) -> None:
        """What is announced now; what is so no more, and not over, was ended at this time."""
        windows = tuple(windows)
        if windows == self._windows:
            return
        self._windows = windows
        now = {_key(row): row for window in windows for row in _rows_of(window)}
        for key, row in self._announced.items():
            if key not in now and row.end > time:
                self._finish(key, row, time)
        for key, row in now.items():
            if self._rows.get(key) != row:
                self._rows[key] = row
                self.changed = True
        self._announced = now

    def _finish(self, key: _Key, row: MaintenanceRow, time: int) -> None:
        self.changed = True
        if row.start >= time:
            del self._rows[key]  # revoked before its start
        else:
            self._rows[key] = row._replace(end=time)

    def forget(self, before: int) -> None:
        """Forget the windows that ended before a moment, and the oldest of too many."""
        kept = sorted((row for row in self._rows.values() if row.end >= before), key=_end_time)
        self._rows = {_key(row): row for row in kept[-MOST_ROWS:]}

    def pop_rows(self) -> list[MaintenanceRow] | None:
        """All windows by their start, where they have changed since the last call."""
        if not self.changed:
            return None
        self.changed = False
        return sorted(self._rows.values(), key=lambda row: (row.start, row.node or ""))


def _rows_of(window: Maintenance) -> Iterable[MaintenanceRow]:
    start, end = int(window.starts * 1000), int(window.ends * 1000)
    nodes: Iterable[str | None] = window.names if window.nodes else (None,)
    for node in nodes:
        yield MaintenanceRow(node, start, end, window.reason)


def _key(row: MaintenanceRow) -> _Key:
    return row.node, row.start, row.reason


def _end_time(row: MaintenanceRow) -> int:
    return row.end
