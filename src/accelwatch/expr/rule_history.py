"""What was kept of a node's devices, as far as rules look back."""

from accelwatch.expr.event_history import EventHistory
from accelwatch.expr.needs import Needs, WindowNeed
from accelwatch.expr.series_history import SeriesHistory
from accelwatch.expr.vocabulary.kleene import Lookup, number
from accelwatch.expr.vocabulary.rule_names import of_host
from accelwatch.schema.metrics import Series

# The node itself, among the ids of its devices.
HOST = ""


class RuleHistory:
    """What a set of rules needs of the past of some devices; bounded by its windows."""

    def __init__(self, needs: Needs, interval_s: float) -> None:
        """`interval_s` is how often samples are added."""
        self.interval_s = interval_s
        self.events = EventHistory(needs.events)
        self._windows: dict[Series, list[WindowNeed]] = {}
        for need in needs.windows:
            self._windows.setdefault(need.series, []).append(need)
        items = self._windows.items()
        # Series that have windows: those of the host, and those of devices.
        self._of = {
            whose: [(series, some) for series, some in items if of_host(series) is whose]
            for whose in (True, False)
        }
        self._by_series: dict[tuple[str, Series], SeriesHistory] = {}

    def sample(self, at: float, device: str, lookup: Lookup) -> None:
        """The values of a device, or of `HOST`, at a moment (monotonic seconds)."""
        for series, windows in self._of[device == HOST]:
            value = number(lookup(series))
            if value is not None:
                kept = self._by_series.get((device, series))
                if kept is None:
                    kept = self._by_series[device, series] = SeriesHistory(windows)
                kept.add(at, float(value), self.interval_s)

    def forget(self, device: str) -> None:
        """Another device stands there from now on, or none."""
        self.events.forget(device)
        for key in [entry for entry in self._by_series if entry[0] == device]:
            del self._by_series[key]

    def adopt(self, before: "RuleHistory") -> None:
        """Go on with what another has kept of series of which the same windows are needed."""
        same = {
            series
            for series, windows in self._windows.items()
            if set(windows) == set(before._windows.get(series, ()))
        }
        if self.interval_s == before.interval_s:
            self._by_series.update(
                {key: kept for key, kept in before._by_series.items() if key[1] in same}
            )

    def series_history(self, device: str, series: Series) -> SeriesHistory | None:
        """What was kept of a series; None where there never was a value."""
        return self._by_series.get((HOST if of_host(series) else device, series))
