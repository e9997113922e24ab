"""The hosts' own quantities, for each of their devices: current numbers and windows by node."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from accelwatch.alerting.rules.timing import LEAST_SILENCE_S, silence_s
from accelwatch.base.slices import LongWork
from accelwatch.expr.checking.boot import UPTIME_SERIES
from accelwatch.expr.needs import Needs, WindowNeed
from accelwatch.expr.vocabulary.rule_names import of_host
from accelwatch.expr.vocabulary.windows import WindowKind
from accelwatch.fleet.names import SPEAKING
from accelwatch.fleet.rules.columns.rule_windows import RuleWindows
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.table.belief import Bools, Floats
from accelwatch.fleet.table.rows import grown
from accelwatch.fleet.table.windows import Arrivals, Windows
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

# Nodes that are read before control is yielded.
_AT_ONCE = 48
_LEAST = 64


def _finite(number: Number | None) -> float:
    return math.nan if number is None or not math.isfinite(number) else float(number)


class Hosts:
    """Columns by number of node."""

    def __init__(self, fleet: Fleet, needs: Needs) -> None:
        """Raises WindowsError when the windows need too much memory."""
        self._fleet = fleet
        windows = [need for need in needs.windows if of_host(need.series)]
        self._windows = Windows()
        self.rule_windows = RuleWindows(self._windows, windows)
        self._series = tuple(sorted(series for series in needs.series if of_host(series)))
        self._values: Floats = np.empty((len(self._series), 0))
        # Who said something within the last two of its intervals.
        self._current: Bools = np.zeros(0, dtype=np.bool_)
        self._names: list[str] = []
        self._generation = np.zeros(0, dtype=np.uint32)

    async def refresh(self, work: LongWork) -> None:
        """Read every node, and add samples."""
        fleet = self._fleet
        count = max(len(fleet.table.at_number), _LEAST)
        values = np.full((len(self._series), count), math.nan)
        arrived, interval_s = np.full(count, math.nan), np.ones(count)
        names = [slots.node for slots in fleet.table.at_number]
        for number, name in enumerate(names):
            node = fleet.nodes.get(name)
            if node is None:
                continue
            if self._series and fleet.state_of(node) in SPEAKING:
                host_values, arrived[number], interval_s[number] = self._read_host(node)
                values[:, number] = host_values
            if number % _AT_ONCE == _AT_ONCE - 1:
                await work.yield_control()
        self._values = values
        now = self._fleet.clock.monotonic()
        self._current = now - arrived <= np.maximum(LEAST_SILENCE_S, 2 * interval_s)
        self._add_samples(names, arrived, interval_s)

    def _read_host(self, node: Node) -> tuple[list[float], float, float]:
        host = node.host
        source = None if host is None else node.origin(host)
        agents = (s for s in node.sources.values() if s.own or s.boot_time is not None)
        own = next(agents, None)
        origin = source or own
        if origin is None or origin.arrived is None:
            return [math.nan] * len(self._series), math.nan, 1.0
        if self._is_silent(origin.arrived, origin.interval_s):
            return [math.nan] * len(self._series), origin.arrived, origin.interval_s
        if host is None or source is None:
            numbers: Sequence[Number | None] = [None] * len(self._series)
        else:
            numbers = host.numbers(self._series)
        own_values: Mapping[Series, Number] = {} if own is None else own.own
        booted: Mapping[Series, Number] = {}
        if own is not None and own.boot_time is not None:
            # Of this moment, and from agents without the group `host`, too.
            uptime = self._fleet.clock.wall() - own.skew.ours(own.boot_time)
            booted = {UPTIME_SERIES: uptime}
        merged = [
            booted.get(key, own_values.get(key) if number is None else number)
            for key, number in zip(self._series, numbers, strict=True)
        ]
        return [_finite(value) for value in merged], origin.arrived, origin.interval_s

    def _is_silent(self, arrived: float, interval_s: float) -> bool:
        return self._fleet.clock.monotonic() - arrived > silence_s(interval_s)

    def _add_samples(self, names: list[str], arrived: Floats, interval_s: Floats) -> None:
        now, index = self._fleet.clock.monotonic(), {key: at for at, key in enumerate(self._series)}
        old = self._names + [""] * (len(names) - len(self._names))
        replaced = np.zeros(len(arrived), dtype=np.bool_)
        replaced[: len(names)] = [a != b for a, b in zip(old, names, strict=False)]
        self._names = names
        self._generation = grown(self._generation, len(arrived), 0) + replaced
        arrivals = Arrivals(len(arrived), arrived, interval_s, self._generation)
        self._windows.sample(now, arrivals, lambda series: self._values[index[series]])

    def number(self, series: Series, size: int) -> Floats:
        """A current number."""
        if series not in self._series:
            return np.full(size, math.nan)
        return self._by_row(self._values[self._series.index(series)], size)

    def window(self, request: WindowNeed, size: int) -> Floats:
        """A window."""
        values = self.rule_windows.window(request)
        if values is None:
            return np.full(size, math.nan)
        if request.kind != WindowKind.AGE:
            values = np.where(self._current[: len(values)], values, math.nan)
        return self._by_row(values, size)

    def coverage(self, series: Series, seconds: int, size: int) -> Floats:
        """Share of the samples of a window that there are."""
        values = self.rule_windows.coverage(series, seconds)
        return np.full(size, math.nan) if values is None else self._by_row(values, size)

    def _by_row(self, values: Floats, size: int) -> Floats:
        """For each row what is known of its node; rows that are empty have some node's."""
        nodes = self._fleet.table.node[:size]
        # A node that has come since was not read.
        clamped = np.minimum(nodes, len(values) - 1)
        result: Floats = np.where(nodes == clamped, values[clamped], math.nan)
        return result
