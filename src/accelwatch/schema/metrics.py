"""What a row of the catalogue is, and how to look one up. The rows are in `schema/catalogue/`.

One row per quantity. JSON keys, Prometheus families, CSV headers, `--fields`, expression names and
docs/metrics.md all come from these rows, so adding a quantity is adding a row.
"""

from enum import StrEnum
from functools import cache

import msgspec

PREFIX = "accel_"

# A catalogue key followed by one value per label, in the row's label order.
Series = tuple[str, ...]

# Least and greatest number that can be true, in base units.
Bounds = tuple[float, float]
# Of a quantity that is 1 or 0.
FLAG: Bounds = (0.0, 1.0)


class Kind(StrEnum):
    """What may be done with the numbers of a family."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"
    # Always 1; the labels are the data.
    INFO = "info"
    # One series per possible value, exactly one of them 1.
    STATE = "state"


class Tier(StrEnum):
    """Who gets a family without asking."""

    MINIMAL = "minimal"
    DEFAULT = "default"
    OPT_IN = "opt_in"
    WORKLOAD = "workload"
    SELF = "self"
    AGGREGATE = "aggregate"


class Scope(StrEnum):
    """What a family describes, and so which identity labels it carries."""

    # Carries vendor, device and uuid.
    DEVICE = "device"
    # Carries vendor only.
    VENDOR = "vendor"
    # Carries none: the host, or ourselves.
    NODE = "node"


class MetricSource(StrEnum):
    """Who fills a family."""

    # A backend, from the device or the host.
    READ = "read"
    # We, from readings over time.
    DERIVED = "derived"
    # We, from what a device, link, process or partition is.
    IDENTITY = "identity"
    # We, about ourselves.
    SELF = "self"


class Metric(msgspec.Struct, frozen=True):
    """One quantity. `primary` lists, best first, the label values that the bare key stands for."""

    key: str
    kind: Kind
    tier: Tier
    unit: str
    help: str
    labels: tuple[str, ...] = ()
    group: str = ""
    scope: Scope = Scope.DEVICE
    source: MetricSource = MetricSource.READ
    primary: tuple[tuple[str, ...], ...] = ()
    buckets: tuple[float, ...] = ()
    otel: str = ""
    prefix: str = PREFIX
    # What can be true, where the unit does not say it (`schema/plausible.py`).
    bounds: Bounds | None = None
    # The quantity of which the readings over time make this one; it exists only so.
    over_time: str = ""

    @property
    def family(self) -> str:
        """Name of the Prometheus family."""
        return self.prefix + self.key


# Built on first use: the tables are large, and a command such as --version needs none. Constant
# after that.
@cache
def catalogue() -> tuple[Metric, ...]:
    """Every row, in the order in which families are exposed."""
    from accelwatch.schema.catalogue import (
        device,
        fleet,
        health,
        host,
        ownership,
        remedy,
        service,
        window,
    )

    modules = (device, window, health, ownership, host, service, fleet, remedy)
    return tuple(row for module in modules for row in module.METRICS)


# The catalogue is constant, so the result is never invalid.
@cache
def by_key() -> dict[str, Metric]:
    """Rows by key."""
    return {metric.key: metric for metric in catalogue()}


# The catalogue is constant, so the result is never invalid.
@cache
def made_over_time(*kinds: Kind) -> dict[str, str]:
    """Of these kinds, the keys of rows that exist only over time, each with that of its quantity."""
    return {row.key: row.over_time for row in catalogue() if row.over_time and row.kind in kinds}


# The catalogue is constant, so the result is never invalid.
@cache
def reading_metrics() -> tuple[Metric, ...]:
    """The rows a backend fills for a device, and so those whose absence must have a reason."""
    return tuple(
        row for row in catalogue() if row.scope is Scope.DEVICE and row.source is MetricSource.READ
    )


# The catalogue is constant, so the result is never invalid.
@cache
def host_metrics() -> tuple[Metric, ...]:
    """The rows the host backend fills."""
    return tuple(
        row for row in catalogue() if row.scope is Scope.NODE and row.source is MetricSource.READ
    )


# The catalogue is constant, so the result is never invalid.
@cache
def opt_in_groups() -> tuple[str, ...]:
    """Names of the opt-in groups, in catalogue order."""
    return tuple(dict.fromkeys(row.group for row in catalogue() if row.group))


def nearest(name: str, candidates: list[str]) -> str:
    """The known word most like `name`, or an empty string; for "did you mean"."""
    import difflib

    return next(iter(difflib.get_close_matches(name, candidates)), "")
