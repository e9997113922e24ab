"""Which quantities are drawn for an incident: those of its evidence, in the evidence's order."""

import re
from collections.abc import Iterator, Sequence

from accelwatch.alerting.rules.verdict import Evidence
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.metrics import Kind, Series
from accelwatch.schema.series import path_of, series_of

MOST_GRAPHS = 3
# What is drawn beside the evidence: it shows what happened to the work.
BESIDE: tuple[Series, ...] = (
    ("power_watts",),
    ("temperature_celsius", "gpu"),
    ("utilization_ratio",),
)
_NUMBERS = (Kind.GAUGE, Kind.COUNTER, Kind.STATE)
# A word of an expression: a key of the catalogue, and what a dot puts behind it.
_TOKEN = re.compile(r"[a-z][a-z0-9_]*(?:\.[A-Za-z0-9_\\.-]+)?")


def numeric_series(evidence: Sequence[Evidence]) -> list[Series]:
    """Series that the evidence names, each once, the first evidence first.

    A signal is the path of a series, a part of a rule in which some stand, or the code of an event.
    """
    named = (series for record in evidence for series in _named(record.signal))
    return list(dict.fromkeys(named))


def _named(signal: str) -> Iterator[Series]:
    exact = series_of(signal)
    if _is_number(exact):
        yield exact
        return
    yield from filter(_is_number, map(series_of, _TOKEN.findall(signal)))


def _is_number(series: Series) -> bool:
    row = by_key().get(series[0])
    return row is not None and row.kind in _NUMBERS


def kept_as(named: Series, kept: Sequence[Series]) -> Series | None:
    """The series of those kept that evidence means: the same, else the first of the same key."""
    if named in kept:
        return named
    if len(named) > 1:
        return None
    candidates = [(named[0], *labels) for labels in by_key()[named[0]].primary]
    candidates += [series for series in kept if series[0] == named[0]]
    return next((series for series in candidates if series in kept), None)


def unkept(named: Series) -> str:
    """Why a series is not drawn."""
    return f"no history of {path_of(named)} is kept on this hub"
