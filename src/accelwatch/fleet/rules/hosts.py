"""What hosts tell of themselves, for each of their devices: current numbers and windows by node."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from accelwatch.alerting.rules.timing import LEAST_SILENCE_S, silence_s
from accelwatch.base.slices import LongWork
from accelwatch.expr.needs import Needs
from accelwatch.expr.vocabulary.rule_names import of_host
from accelwatch.expr.vocabulary.windows import WindowKind
from accelwatch.fleet.names import SPEAKING
from accelwatch.fleet.rules.past import Asked, Past
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.node import Node
from accelwatch.fleet.table.belief import Bools, Floats
from accelwatch.fleet.table.rows import grown
from accelwatch.fleet.table.windows import Heard, Windows
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

_AT_ONCE = 48
"""Nodes that are asked without a rest."""
_LEAST = 64


def _finite(number: Number | None) -> float:
    return math.nan if number is None or not math.isfinite(number) else float(number)


class Hosts:
    """Columns by number of node."""

    def __init__(self, fleet: Fleet, needs: Needs) -> None:
        """Raises WindowsError when the windows take too much memory."""
        self._fleet = fleet
        windows = [one for one in needs.windows if of_host(one.series)]
        self._windows = Windows()
        self.past = Past(self._windows, windows)
        self._series = tuple(sorted(one for one in needs.series if of_host(one)))
        self._values: Floats = np.empty((len(self._series), 0))
        self._current: Bools = np.zeros(0, dtype=np.bool_)
        """Who said something within the last two of its intervals."""
        self._names: list[str] = []
        self._generation = np.zeros(0, dtype=np.uint32)

    async def bring(self, work: LongWork) -> None:
        """Ask every node, and take samples."""
        fleet = self._fleet
        count = max(len(fleet.table.at_number), _LEAST)
        values = np.full((len(self._series), count), math.nan)
        arrived, interval_s = np.full(count, math.nan), np.ones(count)
        names = [seats.node for seats in fleet.table.at_number]
        for number, name in enumerate(names):
            node = fleet.nodes.get(name)
            if node is None:
                continue
            if self._series and fleet.state_of(node) in SPEAKING:
                told, arrived[number], interval_s[number] = self._told(node)
                values[:, number] = told
            if number % _AT_ONCE == _AT_ONCE - 1:
                await work.rest()
        self._values = values
        now = self._fleet.clock.monotonic()
        self._current = now - arrived <= np.maximum(LEAST_SILENCE_S, 2 * interval_s)
        self._take(names, arrived, interval_s)

    def _told(self, node: Node) -> tuple[list[float], float, float]:
        host = node.host
        source = None if host is None else node.origin(host)
        own = next((one for one in node.sources.values() if one.own), None)
        told = source or own
        if told is None or told.arrived is None:
            return [math.nan] * len(self._series), math.nan, 1.0
        if self._is_silent(told.arrived, told.interval_s):
            return [math.nan] * len(self._series), told.arrived, told.interval_s
        if host is None or source is None:
            numbers: Sequence[Number | None] = [None] * len(self._series)
        else:
            numbers = host.numbers(self._series)
        said: Mapping[Series, Number] = {} if own is None else own.own
        whole = [
            said.get(key) if number is None else number
            for key, number in zip(self._series, numbers, strict=True)
        ]
        return [_finite(one) for one in whole], told.arrived, told.interval_s

    def _is_silent(self, arrived: float, interval_s: float) -> bool:
        return self._fleet.clock.monotonic() - arrived > silence_s(interval_s)

    def _take(self, names: list[str], arrived: Floats, interval_s: Floats) -> None:
        now, place = self._fleet.clock.monotonic(), {one: at for at, one in enumerate(self._series)}
        old = self._names + [""] * (len(names) - len(self._names))
        anew = np.zeros(len(arrived), dtype=np.bool_)
        anew[: len(names)] = [a != b for a, b in zip(old, names, strict=False)]
        self._names = names
        self._generation = grown(self._generation, len(arrived), 0) + anew
        heard = Heard(len(arrived), arrived, interval_s, self._generation)
        self._windows.sample(now, heard, lambda series: self._values[place[series]])

    def number(self, series: Series, size: int) -> Floats:
        """A current number."""
        if series not in self._series:
            return np.full(size, math.nan)
        return self._by_row(self._values[self._series.index(series)], size)

    def window(self, asked: Asked, size: int) -> Floats:
        """A window."""
        found = self.past.window(asked)
        if found is None:
            return np.full(size, math.nan)
        if asked.kind != WindowKind.AGE:
            found = np.where(self._current[: len(found)], found, math.nan)
        return self._by_row(found, size)

    def coverage(self, series: Series, seconds: int, size: int) -> Floats:
        """Share of the samples of a window that there are."""
        found = self.past.coverage(series, seconds)
        return np.full(size, math.nan) if found is None else self._by_row(found, size)

    def _by_row(self, values: Floats, size: int) -> Floats:
        """For each row what is known of its node; rows that are empty have some node's."""
        nodes = self._fleet.table.node[:size]
        # A node that has come since is none of those that were asked.
        asked = np.minimum(nodes, len(values) - 1)
        found: Floats = np.where(nodes == asked, values[asked], math.nan)
        return found
