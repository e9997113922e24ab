"""The fields of Kubernetes' types: what they hold, by which key lists of them are merged.

`types.json` has them of the OpenAPI document of a real server; tests/support/kubernetes/build_types.py
writes it.
"""

import functools
from importlib import resources
from typing import Any, NamedTuple

import msgspec

Object = dict[str, Any]
# Fields that the server writes as null while they are empty: times without `omitempty` in Go.
_NULLS = {
    "core.v1.NodeCondition": ("lastHeartbeatTime", "lastTransitionTime"),
    "core.v1.PodCondition": ("lastProbeTime", "lastTransitionTime"),
    "batch.v1.JobCondition": ("lastProbeTime", "lastTransitionTime"),
    "core.v1.Event": ("eventTime", "firstTimestamp", "lastTimestamp"),
}
_SCALARS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


class Field(NamedTuple):
    """What a field holds: `string`, `any`, or the name of a definition; a list or a map of these."""

    type: str
    is_list: bool = False
    is_map: bool = False
    # Lists are merged by this key; `` by value. None: a list is replaced.
    merge_key: str | None = None


class WrongTypeError(Exception):
    """A field holds something else than its type."""


# The file is part of the package and does not change.
@functools.cache
def definitions() -> dict[str, dict[str, Field]]:
    """By name, `core.v1.Node`."""
    text = resources.files(__package__).joinpath("types.json").read_bytes()
    types = msgspec.json.decode(text, type=dict[str, dict[str, str]])
    return {
        name: {field: _field(expression) for field, expression in fields.items()}
        for name, fields in types.items()
    }


def _field(expression: str) -> Field:
    """Of `T`, `{T}`, `[T]`, `[T]@key`."""
    kind, separator, key = expression.partition("@")
    return Field(
        kind.strip("[]{}"), kind.startswith("["), kind.startswith("{"), key if separator else None
    )


def pruned(definition: str, document: Any, path: str = "") -> tuple[Any, list[str]]:
    """An object without fields that its type has not, and their paths. Raises WrongTypeError."""
    fields = definitions().get(definition)
    if fields is None:
        _check_scalar(definition, document, path)
        return document, []
    if not isinstance(document, dict):
        raise WrongTypeError(f"cannot unmarshal into {definition} at {path}")
    kept: Object = {}
    unknown: list[str] = []
    for key, value in document.items():
        at = f"{path}.{key}" if path else key
        if key not in fields:
            unknown.append(at)
        elif value is not None:
            kept[key], more = _pruned_field(fields[key], value, at)
            unknown += more
    return kept | {key: None for key in _NULLS.get(definition, ()) if key not in kept}, unknown


def _pruned_field(field: Field, value: Any, path: str) -> tuple[Any, list[str]]:
    unknown: list[str] = []
    if field.is_list:
        if not isinstance(value, list):
            raise WrongTypeError(f"cannot unmarshal into a list at {path}")
        kept = []
        for index, item in enumerate(value):
            item_kept, more = pruned(field.type, item, f"{path}[{index}]")
            kept.append(item_kept)
            unknown += more
        return kept, unknown
    if field.is_map:
        if not isinstance(value, dict):
            raise WrongTypeError(f"cannot unmarshal into a map at {path}")
        mapping = {}
        for key, item in value.items():
            mapping[key], more = pruned(field.type, item, f"{path}.{key}")
            unknown += more
        return mapping, unknown
    return pruned(field.type, value, path)


def _check_scalar(kind: str, value: Any, path: str) -> None:
    allowed = _SCALARS.get(kind)
    if allowed is None:
        return
    is_boolean = isinstance(value, bool) and kind != "boolean"
    if is_boolean or not isinstance(value, allowed):
        raise WrongTypeError(f"cannot unmarshal {type(value).__name__} into {kind} at {path}")
