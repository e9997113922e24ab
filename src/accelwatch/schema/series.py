"""Series as people and documents write them: dotted paths, and nested objects in JSON."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from accelwatch.schema.metrics import Metric, Series

_SEPARATOR = re.compile(r"(?<!\\)\.")


def path_of(series: Series) -> str:
    """`("temperature_celsius", "gpu")` as `temperature_celsius.gpu`; dots in labels get a backslash."""
    key, *labels = series
    return ".".join((key, *(label.replace(".", "\\.") for label in labels)))


def series_of(path: str) -> Series:
    """The series a dotted path names; the inverse of `path_of`."""
    return tuple(segment.replace("\\.", ".") for segment in _SEPARATOR.split(path))


def nest(tree: dict[str, Any], labels: Iterable[str], value: object) -> None:
    """Put a value into nested objects, one level a label."""
    *outer, last = labels
    for label in outer:
        tree = tree.setdefault(label, {})
    tree[last] = value


def flatten(key: str, tree: object, depth: int) -> Iterable[tuple[Series, Any]]:
    """Series and values of a nested object `depth` labels deep; what is no object there is left out."""
    level: list[tuple[Series, Any]] = [((key,), tree)]
    for _ in range(depth):
        level = [
            ((*series, str(label)), value)
            for series, node in level
            if isinstance(node, Mapping)
            for label, value in node.items()
        ]
    return level


def primary_value(values: Mapping[Series, Any], metric: Metric) -> Any | None:
    """What the bare key stands for: the value of the first primary label values that are there."""
    if not metric.labels:
        return values.get((metric.key,))
    for labels in metric.primary:
        if (value := values.get((metric.key, *labels))) is not None:
            return value
    return None
