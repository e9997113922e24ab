"""The server's own counts: scrapes by code, their durations, whether reloads worked."""

from collections import Counter
from collections.abc import Callable, Mapping

from accelwatch.exposition.histogram import Distribution, Histogram
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

_DURATION = "exporter_scrape_duration_seconds"


class OwnMetrics:
    """Counters of one server; the loop's thread only."""

    def __init__(self) -> None:
        self._durations = Distribution(by_key()[_DURATION].buckets)
        self._codes: Counter[int] = Counter({200: 0, 503: 0})
        # Configuration (`agent`, `web`) to whether it was last read without a mistake.
        self.reloads: dict[str, bool] = {}
        # What the rules say of themselves; nothing while there are none.
        self.of_rules: Callable[[], Mapping[Series, Number]] = dict
        # Metrics of OTLP export; empty while there is none.
        self.of_pushing: Callable[[], Mapping[Series, Number]] = dict

    def scraped(self, code: int, seconds: float) -> None:
        """A scrape was answered."""
        self._codes[code] += 1
        self._durations.add(seconds)

    def series(self) -> dict[tuple[str, ...], Number]:
        """Series to number."""
        own: dict[tuple[str, ...], Number] = {
            ("exporter_scrapes_total", str(code)): total
            for code, total in sorted(self._codes.items())
        }
        for name, well in sorted(self.reloads.items()):
            own["exporter_config_last_reload_successful", name] = int(well)
        own.update(self.of_rules())
        own.update(self.of_pushing())
        return own

    def histograms(self) -> dict[str, Histogram]:
        """Cumulative bucket counts, +Inf last, and the sum."""
        return {_DURATION: self._durations.histogram()}
