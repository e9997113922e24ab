"""Reading Prometheus text 0.0.4 and OpenMetrics: tolerant, bounded, fast on a target read before."""

from accelwatch.exposition.line import Key
from accelwatch.exposition.reader import ExpositionReader, Limits, PageSeries, Scrape

__all__ = ["ExpositionReader", "Key", "Limits", "PageSeries", "Scrape"]
