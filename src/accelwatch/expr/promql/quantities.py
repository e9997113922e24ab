"""Quantities and their windows as vectors, and what else of a device is a number."""

import math
from collections.abc import Callable, Mapping
from functools import reduce

from accelwatch.expr.checking.tree import Reading, Window
from accelwatch.expr.needs import is_counter
from accelwatch.expr.promql.query import (
    PromqlError,
    Query,
    called,
    duration,
    joined,
    quoted,
)
from accelwatch.expr.promql.query_context import DEVICE, NODE, QueryContext, of_node
from accelwatch.expr.vocabulary.kleene import Key
from accelwatch.expr.vocabulary.rule_names import of_host
from accelwatch.expr.vocabulary.windows import LEAST_SHARE, WindowKind
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.metrics import Series, Tier

_FUNCTIONS: Mapping[str, str] = {
    WindowKind.RATE: "rate",
    WindowKind.INCREASE: "increase",
    WindowKind.DELTA: "delta",
    WindowKind.AVG: "avg_over_time",
    WindowKind.MIN: "min_over_time",
    WindowKind.MAX: "max_over_time",
    WindowKind.QUANTILE: "quantile_over_time",
    WindowKind.CHANGED: "changes",
    WindowKind.SHARE: "avg_over_time",
}
# They say nothing, or nothing true, of a single sample.
_OF_PAIRS = frozenset({"rate", "increase", "delta", "changes"})
_EXTRAPOLATED = frozenset({"rate", "increase", "delta"})


def reading(node: Reading, context: QueryContext) -> Query:
    """A name that is a number. Raises PromqlError."""
    return reduce(
        lambda first, other: joined(first, "or", other), [_now(k, context) for k in node.keys]
    )


def _now(key: Key, context: QueryContext) -> Query:
    if isinstance(key, str):
        if key == "sample_age_s" and context.scope == DEVICE:
            read_at = Query(context.select("device_last_read_timestamp_seconds"))
            return joined(Query("time()"), "-", read_at)
        raise PromqlError(f"agents do not expose {key} as a number")
    if key == ("device_suspended",):
        awake = joined(Query(context.select("device_up")), "*", Query("0"))
        return joined(Query(context.select("device_suspended")), "or", awake)
    return _in_context(key, context, lambda there: Query(_selector(key, there)))


def window(node: Window, context: QueryContext) -> Query:
    """What a quantity did lately, where there are enough samples. Raises PromqlError."""
    queries = [_window(key, node, context) for key in node.reading.keys if isinstance(key, tuple)]
    return reduce(lambda first, other: joined(first, "or", other), queries)


def _window(key: Series, node: Window, context: QueryContext) -> Query:
    function = _FUNCTIONS.get(node.kind)
    if function is None:
        raise PromqlError("PromQL cannot say how long ago a series had its last value")
    if node.kind == WindowKind.CHANGED and is_counter(key):
        function = "increase"
    expected = node.seconds / context.assumed.scrape_s
    if expected < (2 if function in _OF_PAIRS else 1):
        raise PromqlError(
            f"a window of {duration(node.seconds)} is too short where each target is scraped every "
            f"{duration(context.assumed.scrape_s)}"
        )
    if function in _EXTRAPOLATED:
        context.note(f"{function}() of PromQL extrapolates to the ends of the window")
    before = "" if node.quantile is None else f"{node.quantile!r}, "
    least = math.ceil(expected * LEAST_SHARE)

    def over(there: QueryContext) -> Query:
        samples = f"{_selector(key, there)}[{duration(node.seconds)}]"
        value = called(function, before + samples)
        if least <= 1:
            return value
        count = called("count_over_time", samples)
        return joined(value, "and", joined(count, ">=", Query(str(least))))

    return _in_context(key, context, over)


def _selector(key: Series, context: QueryContext) -> str:
    row = by_key()[key[0]]
    if row.tier is Tier.AGGREGATE:
        raise PromqlError(f"{row.key} comes from a hub, not from agents")
    matchers = [f"{name}={quoted(value)}" for name, value in zip(row.labels, key[1:], strict=True)]
    return context.select(row.key, *matchers)


def _in_context(key: Series, context: QueryContext, made: Callable[[QueryContext], Query]) -> Query:
    """The vector without the labels of its family, in the context's scope."""
    labels = by_key()[key[0]].labels
    if not of_host(key):
        return context.stripped(made(context), labels)
    there = QueryContext(NODE, context.assumed, _of_targets(context), context.remarks)
    return of_node(context, there.stripped(made(there), labels))


def _of_targets(context: QueryContext) -> tuple[str, ...]:
    """What a host's series have too of the labels by which devices are chosen."""
    return context.matchers if context.scope == NODE else ()
