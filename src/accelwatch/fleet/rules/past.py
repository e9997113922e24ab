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


class Asked(NamedTuple):
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
        self._held: dict[Asked, Window] = {}
        try:
            for one in sorted(needs, key=str):
                asked = Asked(one.kind, one.series, one.seconds, one.quantile, one.of_job)
                self._held[asked] = windows.want(
                    one.series,
                    one.seconds,
                    one.kind,
                    quantile=one.quantile or 0.0,
                    of_job=one.of_job,
                )
        except UsageError:
            self.close()
            raise

    def close(self) -> None:
        """Let go of what was asked for."""
        for one in self._held.values():
            self._windows.let_go(one)
        self._held = {}

    def prepare(self) -> Iterator[None]:
        """Small steps after which all windows are quick to be had."""
        for one in tuple(self._held.values()):
            yield from one.prepare()

    def window(self, asked: Asked) -> Floats | None:
        """By row; None for one that was not asked for."""
        window = self._held.get(asked)
        return None if window is None else window.value()

    def coverage(self, series: Series, seconds: int, *, of_job: bool = False) -> Floats | None:
        """Share of the samples of such a window that there are; None for one not asked for."""
        for asked, window in self._held.items():
            meant = asked.series, asked.seconds, asked.of_job
            if seconds and meant == (series, seconds, of_job):
                return np.where(np.isnan(window.age()), math.nan, window.coverage())
        return None
