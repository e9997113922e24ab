"""The windows that rules read, held as long as the rules are in force."""

import math
from collections.abc import Iterable, Iterator

import numpy as np

from accelwatch.base.errors import UsageError
from accelwatch.expr.needs import WindowNeed
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.window import Window
from accelwatch.fleet.table.windows import Windows
from accelwatch.schema.metrics import Series


class RuleWindows:
    """Windows over rows whose samples somebody adds."""

    def __init__(self, windows: Windows, needs: Iterable[WindowNeed]) -> None:
        """Raises WindowsError when they need too much memory, and then holds none."""
        self._windows = windows
        self._by_need: dict[WindowNeed, Window] = {}
        try:
            for need in sorted(needs, key=str):
                self._by_need[need] = windows.request(
                    need.series,
                    need.seconds,
                    need.kind,
                    quantile=need.quantile or 0.0,
                    of_job=need.of_job,
                )
        except UsageError:
            self.close()
            raise

    def close(self) -> None:
        """Release the windows."""
        for window in self._by_need.values():
            self._windows.release(window)
        self._by_need = {}

    def prepare(self) -> Iterator[None]:
        """Small steps after which all windows are quick to be had."""
        for window in tuple(self._by_need.values()):
            yield from window.prepare()

    def window(self, need: WindowNeed) -> Floats | None:
        """By row; None for a window that is not held."""
        window = self._by_need.get(need)
        return None if window is None else window.value()

    def coverage(self, series: Series, seconds: int, *, of_job: bool = False) -> Floats | None:
        """Share of the samples of such a window that there are; None for one that is not held."""
        for need, window in self._by_need.items():
            meant = need.series, need.seconds, need.of_job
            if seconds and meant == (series, seconds, of_job):
                return np.where(np.isnan(window.age()), math.nan, window.coverage())
        return None
