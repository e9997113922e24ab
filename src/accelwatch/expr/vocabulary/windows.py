"""What a rule may read of the recent history: the windows, a row each.

Samples are gathered in steps of ten seconds. A window is the open step and as many closed ones as it is
long, so that it ends now and is up to ten seconds longer than written. It is missing when less than half
of the samples that belong into it are there.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec

from accelwatch.expr.vocabulary.names import Type

STEP_S = 10
# Two samples of a counter that lie further apart say nothing of what was between.
GAP_S = 300.0
LEAST_S, LONGEST_S = 10, 86400
# Of the samples that belong into a window, as many must be there.
LEAST_SHARE = 0.5


class WindowKind(StrEnum):
    """What an environment computes from a series over a number of seconds."""

    # Increase of a counter per second, over the time in which it was seen.
    RATE = "rate"
    # Increase of a counter; where it is less than before, that step is not known and adds nothing.
    INCREASE = "increase"
    # Mean of the newest step of a gauge that has samples, less that of the oldest.
    DELTA = "delta"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    # Over the means of the closed steps, interpolated linearly.
    QUANTILE = "quantile"
    # 1 if a gauge was not always the same, or a counter grew, else 0.
    CHANGED = "changed"
    # Share of the samples that were not 0.
    SHARE = "share"
    # Seconds since there was a value; 0 when there is one now.
    AGE = "age"


class WindowComponent(StrEnum):
    """What a step holds of a series."""

    # Samples.
    COUNT = "count"
    # Samples that are not 0.
    TRUE = "true"
    SUM = "sum"
    LEAST = "least"
    MOST = "most"
    # By how much a counter has grown.
    RISE = "rise"
    # Seconds in which it did.
    SPAN = "span"


# What each step of a window holds.
_COMPONENTS: Mapping[str, tuple[WindowComponent, ...]] = {
    WindowKind.RATE: (WindowComponent.COUNT, WindowComponent.RISE, WindowComponent.SPAN),
    WindowKind.INCREASE: (WindowComponent.COUNT, WindowComponent.RISE),
    WindowKind.DELTA: (WindowComponent.COUNT, WindowComponent.SUM),
    WindowKind.AVG: (WindowComponent.COUNT, WindowComponent.SUM),
    WindowKind.MIN: (WindowComponent.COUNT, WindowComponent.LEAST),
    WindowKind.MAX: (WindowComponent.COUNT, WindowComponent.MOST),
    WindowKind.QUANTILE: (WindowComponent.COUNT, WindowComponent.SUM),
    WindowKind.CHANGED: (WindowComponent.COUNT, WindowComponent.LEAST, WindowComponent.MOST),
    WindowKind.SHARE: (WindowComponent.COUNT, WindowComponent.TRUE),
    WindowKind.AGE: (),
}
# Bytes of a component of a step: counts are bytes, all others single-precision numbers.
_WIDTH = {WindowComponent.COUNT: 1, WindowComponent.TRUE: 1}
_WIDE = 4
# Bytes of a component beside its closed steps: the open one, and a sum of closed ones.
_BESIDE = 16


def components_of(kind: str, *, counter: bool) -> tuple[WindowComponent, ...]:
    """What each step of a window holds; of a counter `changed` is whether it grew."""
    grew = counter and kind == WindowKind.CHANGED
    return _COMPONENTS[WindowKind.INCREASE if grew else kind]


def bytes_of(lengths: Mapping[WindowComponent, int]) -> int:
    """Memory of the components of one series of one device, each for so many closed steps."""
    return sum(
        _WIDTH.get(component, _WIDE) * count + _BESIDE for component, count in lengths.items()
    )


class WindowRow(msgspec.Struct, frozen=True, kw_only=True):
    """One function; `gauge` and `counter` are what it computes of each, None where it accepts none."""

    name: str
    usage: str
    help: str
    gauge: WindowKind | None = None
    counter: WindowKind | None = None
    flags_only: bool = False
    # What to write for a quantity that it does not accept.
    instead: str = ""
    result: Type = Type.NUMBER


_TABLE = (
    WindowRow(
        name="rate",
        usage='rate(counter, "5m")',
        counter=WindowKind.RATE,
        instead="delta",
        help="increase of a counter per second; a reset makes no spike",
    ),
    WindowRow(
        name="delta",
        usage='delta(quantity, "5m")',
        gauge=WindowKind.DELTA,
        counter=WindowKind.INCREASE,
        help="increase of a counter, or by how much a gauge is above where it was",
    ),
    WindowRow(
        name="avg",
        usage='avg(gauge, "5m")',
        gauge=WindowKind.AVG,
        instead="rate",
        help="mean of the samples",
    ),
    WindowRow(
        name="min",
        usage='min(gauge, "5m")',
        gauge=WindowKind.MIN,
        instead="rate",
        help="least sample",
    ),
    WindowRow(
        name="max",
        usage='max(gauge, "5m")',
        gauge=WindowKind.MAX,
        instead="rate",
        help="greatest sample",
    ),
    WindowRow(
        name="quantile",
        usage='quantile(gauge, 0.95, "5m")',
        gauge=WindowKind.QUANTILE,
        instead="rate",
        help="quantile of the means of the closed ten-second steps",
    ),
    WindowRow(
        name="changed",
        usage='changed(quantity, "1h")',
        gauge=WindowKind.CHANGED,
        counter=WindowKind.CHANGED,
        result=Type.FLAG,
        help="whether a gauge was not always the same, or a counter grew",
    ),
    WindowRow(
        name="duty",
        usage='duty(flag, "10m")',
        gauge=WindowKind.SHARE,
        flags_only=True,
        instead="avg",
        help="share of the samples in which a flag was set",
    ),
    WindowRow(
        name="age",
        usage="age(quantity)",
        gauge=WindowKind.AGE,
        counter=WindowKind.AGE,
        help="seconds since there was a value, 0 if there is one now; missing if there never was",
    ),
)

# Every window function by name; `min` and `max` are also functions of two or more numbers.
WINDOWS: Mapping[str, WindowRow] = MappingProxyType({row.name: row for row in _TABLE})


def steps_of(seconds: int) -> int:
    """How many closed steps a window has beside the open one."""
    return -(-seconds // STEP_S)
