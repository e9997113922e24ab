"""Text format 0.0.4 and OpenMetrics 1.0 from samples, with cached line prefixes.

A line's prefix (family, identity, labels) hardly ever changes, so it is made once; a scrape only joins
prefixes and numbers. Timestamps are never written: they break staleness handling.
"""

from accelwatch.exposition.families import escape
from accelwatch.schema.metrics import PREFIX, Kind, Metric, Series
from accelwatch.schema.reading import Number

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

# Far above the series of one node; a churn of pids must not grow the cache for ever.
_MAX_PREFIXES = 100_000


class LinePrefixes:
    """Line prefixes by (owner, series), for as long as there are not too many."""

    def __init__(self) -> None:
        # A series keeps its labels, so its prefix stays valid. All go at once beyond _MAX_PREFIXES:
        # eviction one by one would cost every line.
        self.cached: dict[tuple[str, Series], str] = {}

    def make(self, row: Metric, owner: str, series: Series) -> str:
        """`family{labels} ` with the space that precedes the number; remembered."""
        inner = ",".join(filter(None, (owner, labels_of(row, series))))
        prefix = f"{row.family}{{{inner}}} " if inner else f"{row.family} "
        if len(self.cached) >= _MAX_PREFIXES:
            self.cached.clear()
        self.cached[(owner, series)] = prefix
        return prefix


def labels_of(row: Metric, series: Series) -> str:
    """The labels of a series, as they stand between braces."""
    pairs = zip(row.labels, series[1:], strict=True)
    return ",".join(f'{name}="{escape(value)}"' for name, value in pairs if value)


def header(row: Metric, openmetrics: bool) -> str:
    """HELP and TYPE of a family; OpenMetrics names a counter without `_total`."""
    name = row.family
    kind = row.kind if row.kind in (Kind.COUNTER, Kind.HISTOGRAM) else Kind.GAUGE
    if openmetrics and kind is Kind.COUNTER:
        name = name.removesuffix("_total")
    text = row.help.replace("\\", "\\\\").replace("\n", "\\n")
    return f"# HELP {name} {text}\n# TYPE {name} {kind.value}\n"


def histogram_lines(row: Metric, owner: str, counts: tuple[int, ...], total: Number) -> list[str]:
    """Lines of one classic histogram: `counts` are cumulative, +Inf last; `total` is the sum."""
    edges = [repr(float(edge)) for edge in row.buckets] + ["+Inf"]
    lead = f"{owner}," if owner else ""
    plain = f"{{{owner}}}" if owner else ""
    name = PREFIX + row.key
    lines = [
        f'{name}_bucket{{{lead}le="{edge}"}} {count}\n'
        for edge, count in zip(edges, counts, strict=True)
    ]
    return [*lines, f"{name}_sum{plain} {total!r}\n", f"{name}_count{plain} {counts[-1]}\n"]
