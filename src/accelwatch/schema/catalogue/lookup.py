"""The rows of the catalogue in order, by key, and by who fills them."""

from functools import cache

from accelwatch.schema.metrics import Kind, Metric, MetricSource, Scope


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
