"""The windows that rules ask for, held as long as the rules are in force."""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from accelwatch.base.errors import UsageError
from accelwatch.expr.needs import WindowNeed
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.window import Window
from accelwatch.fleet.table.windows import Windows
from accelwatch.schema.metrics import Series


class WindowRequest(NamedTuple):
    """A window as columns are asked for it."""

    kind: str
    series: Series
    seconds: int
    quantile: float | None
    of_job: bool = False


class Past:
    """Windows over rows whose samples somebody takes."""

    def __init__(self, windows: Windows, needs: Iterable[WindowNeed]) -> None:
        """Raises WindowsError when they take too much memory, and then asks for none."""
        self._windows = windows
        self._by_request: dict[WindowRequest, Window] = {}
        try:
            for need in sorted(needs, key=str):
                request = WindowRequest(
                    need.kind, need.series, need.seconds, need.quantile, need.of_job
                )
                self._by_request[request] = windows.request(
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
        """Let go of what was asked for."""
        for window in self._by_request.values():
            self._windows.release(window)
        self._by_request = {}

    def prepare(self) -> Iterator[None]:
        """Small steps after which all windows are quick to be had."""
        for window in tuple(self._by_request.values()):
            yield from window.prepare()

    def window(self, request: WindowRequest) -> Floats | None:
        """By row; None for one that was not asked for."""
        window = self._by_request.get(request)
        return None if window is None else window.value()

    def coverage(self, series: Series, seconds: int, *, of_job: bool = False) -> Floats | None:
        """Share of the samples of such a window that there are; None for one not asked for."""
        for request, window in self._by_request.items():
            meant = request.series, request.seconds, request.of_job
            if seconds and meant == (series, seconds, of_job):
                return np.where(np.isnan(window.age()), math.nan, window.coverage())
        return None
