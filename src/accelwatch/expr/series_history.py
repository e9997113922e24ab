"""The recent history of one series of one device, in steps of ten seconds, as windows read it.

What is gathered, and what it means, is as in a hub's columns (`fleet.table`): a window is the open
step and some closed ones. Memory is bounded by the longest window.
"""

import math
from array import array
from collections.abc import Callable, Iterable, Mapping

from accelwatch.expr.needs import WindowNeed
from accelwatch.expr.vocabulary.windows import GAP_S, LEAST_SHARE, STEP_S, WindowKind, steps_of

# Parts of a step without samples; all others are 0.
_EMPTY = {"least": math.inf, "most": -math.inf}
# What makes one number of many steps, where it is not the sum.
_FOLD: Mapping[str, Callable[[Iterable[float]], float]] = {"least": min, "most": max}


class SeriesHistory:
    """What the windows over one series need; times are monotonic seconds."""

    __slots__ = (
        "_before",
        "_closed",
        "_folded",
        "_last_at",
        "_open",
        "_step",
        "_until",
    )

    def __init__(self, windows: Iterable[WindowNeed]) -> None:
        lengths: dict[str, int] = {}
        for need in windows:
            # By plain text: a sample looks most of them up.
            for name in [component.value for component in need.components]:
                lengths[name] = max(lengths.get(name, 0), steps_of(need.seconds))
        self._closed = {
            component: array("d", [_empty(component)]) * size for component, size in lengths.items()
        }
        self._open = {component: _empty(component) for component in lengths}
        # What was made of the closed steps since the last of them was closed.
        self._folded: dict[tuple[str, int], float | None] = {}
        self._step: int | None = None
        # When the open step is over.
        self._until = -math.inf
        self._before = math.nan
        self._last_at = math.nan

    def add(self, at: float, value: float, interval_s: float) -> None:
        """A sample."""
        if at >= self._until:
            self._roll(at)
        now = self._open
        if "count" in now:
            now["count"] += 1.0
        if "sum" in now:
            now["sum"] += value
        if "true" in now and value != 0:
            now["true"] += 1.0
        if "least" in now:
            now["least"] = min(now["least"], value)
        if "most" in now:
            now["most"] = max(now["most"], value)
        if "rise" in now:
            rise, gap = value - self._before, at - self._last_at
            if rise >= 0 and gap <= max(3 * interval_s, GAP_S):  # NaN is neither
                now["rise"] += rise
                if "span" in now:
                    now["span"] += max(gap, 0.0)
        self._before, self._last_at = value, at

    def age(self, at: float) -> float | None:
        """Seconds since the last sample."""
        return None if math.isnan(self._last_at) else max(at - self._last_at, 0.0)

    def coverage(self, at: float, seconds: int, interval_s: float) -> float:
        """Share of the expected samples of a window that there are, at most 1."""
        self._roll(at)
        return min(self._samples(seconds) / max(self._expected(at, seconds, interval_s), 1.0), 1.0)

    def window(self, at: float, need: WindowNeed, interval_s: float) -> float | None:
        """The value of a window that it was made for; None with too few samples."""
        if need.kind == WindowKind.AGE:
            return self.age(at)
        if at >= self._until:
            self._roll(at)
        samples = self._samples(need.seconds)
        expected = self._expected(at, need.seconds, interval_s)
        if samples < max(expected * LEAST_SHARE, 1.0):
            return None
        return self._value(need, samples)

    def _value(self, need: WindowNeed, samples: float) -> float | None:
        steps = steps_of(need.seconds)
        match need.kind:
            case WindowKind.AVG:
                return self._total("sum", steps) / samples
            case WindowKind.MIN:
                return self._total("least", steps)
            case WindowKind.MAX:
                return self._total("most", steps)
            case WindowKind.SHARE:
                return self._total("true", steps) / samples
            case WindowKind.INCREASE:
                return self._total("rise", steps)
            case WindowKind.RATE:
                span = self._total("span", steps)
                return self._total("rise", steps) / span if span > 0 else None
            case WindowKind.CHANGED if "rise" in need.components:
                return float(self._total("rise", steps) > 0)
            case WindowKind.CHANGED:
                return float(self._total("least", steps) != self._total("most", steps))
            case WindowKind.DELTA:
                return self._delta(steps)
        share = need.quantile or 0.0
        return self._of_means(f"quantile {share}", steps, lambda means: quantile(means, share))

    def _delta(self, steps: int) -> float:
        first = self._of_means("first", steps, lambda means: means[0])
        last = self._of_means("last", steps, lambda means: means[-1])
        if first is None or last is None:
            return 0.0
        count = self._open["count"]
        return (self._open["sum"] / count if count else last) - first

    def _samples(self, seconds: int) -> float:
        return self._total("count", steps_of(seconds))

    def _expected(self, at: float, seconds: int, interval_s: float) -> float:
        step = math.floor(at / STEP_S) if self._step is None else self._step
        return (at - (step - steps_of(seconds)) * STEP_S) / interval_s

    def _of_means(
        self, name: str, steps: int, make: Callable[[list[float]], float]
    ) -> float | None:
        """A number made of the means of the closed steps; None where none has samples."""
        key = name, steps
        if key not in self._folded:
            means = self._means(steps)
            self._folded[key] = make(means) if means else None
        return self._folded[key]

    def _means(self, steps: int) -> list[float]:
        """Means of the closed steps that have samples, oldest first."""
        pairs = zip(self._latest("sum", steps), self._latest("count", steps), strict=True)
        return [total / count for total, count in pairs if count]

    def _total(self, component: str, steps: int) -> float:
        """A component over the open step and so many closed ones."""
        fold = _FOLD.get(component)
        key = component, steps
        closed = self._folded.get(key)
        if closed is None:
            closed = self._folded[key] = (fold or math.fsum)(self._latest(component, steps))
        now = self._open[component]
        return closed + now if fold is None else fold((closed, now))

    def _latest(self, component: str, steps: int) -> "array[float]":
        """A component of so many closed steps, oldest first."""
        ring, step = self._closed[component], self._step or 0
        start, end = (step - steps) % len(ring), step % len(ring)
        return ring[start:end] if start < end else ring[start:] + ring[:end]

    def _roll(self, at: float) -> None:
        """Close the steps that are over."""
        step = math.floor(at / STEP_S)
        if self._step is not None and step > self._step:
            for component, ring in self._closed.items():
                ring[self._step % len(ring)] = self._open[component]
                for skipped in range(max(self._step + 1, step - len(ring)), step):
                    ring[skipped % len(ring)] = _empty(component)
                self._open[component] = _empty(component)
            self._folded.clear()
        self._step = step if self._step is None else max(step, self._step)
        self._until = (self._step + 1) * STEP_S


def quantile(values: list[float], share: float) -> float:
    """Interpolated linearly between the two nearest of at least one value."""
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def _empty(component: str) -> float:
    return _EMPTY.get(component, 0.0)
