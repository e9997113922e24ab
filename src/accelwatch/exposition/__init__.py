"""Reading Prometheus text 0.0.4 and OpenMetrics: tolerant, bounded, fast on a target read before."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accelwatch.exposition.line import Key
    from accelwatch.exposition.reader import ExpositionReader, Limits, PageSeries, Scrape

__all__ = ["ExpositionReader", "Key", "Limits", "PageSeries", "Scrape"]


def __getattr__(name: str) -> object:
    """The reader is loaded when it is first used: who only writes expositions needs none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("accelwatch.exposition.reader"), name)
