"""Parts of a document (events, owners, processes, ...) as plain objects and back.

Every moment is RFC 3339 in UTC, every unknown text or moment null. Documents of `accelwatch/1` had Unix
seconds and empty texts in these parts; both are read.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any, TypeVar

import msgspec

from accelwatch.schema.timestamps import timestamp_or_none, unix_seconds

_TIMES = frozenset({"time", "last_time", "start_time"})
_T = TypeVar("_T", bound=msgspec.Struct)


def plain(entry: msgspec.Struct) -> dict[str, Any]:
    """One part as an object."""
    return {
        name: timestamp_or_none(value) if name in _TIMES else None if value == "" else value
        for name, value in msgspec.structs.asdict(entry).items()
    }


def plain_all(entries: Iterable[msgspec.Struct]) -> list[dict[str, Any]]:
    """Parts as objects."""
    return [plain(entry) for entry in entries]


def entries_of(items: Iterable[Any] | None, kind: type[_T]) -> tuple[_T, ...]:
    """The inverse. Raises WireError (no moment) and msgspec.ValidationError (no such part)."""
    return tuple([msgspec.convert(_filled(item, kind), kind) for item in items or ()])


def _filled(item: Any, kind: type[msgspec.Struct]) -> Any:
    if not isinstance(item, dict):
        return item
    texts, times = _fields(kind)
    filled = dict(item)
    for name in texts:
        if name in item and item[name] is None:
            filled[name] = ""
    for name, required in times:
        value = item.get(name)
        if isinstance(value, str):
            filled[name] = unix_seconds(value)
        elif value is None and required:
            filled[name] = 0.0
    return filled


# Reflection over a struct, for each document that is written. Types do not change.
@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, ...], tuple[tuple[str, bool], ...]]:
    """(fields that are texts, fields that are moments with whether they must be one)."""
    fields = msgspec.structs.fields(kind)
    texts = tuple(field.name for field in fields if field.type is str)
    times = tuple((field.name, field.type is float) for field in fields if field.name in _TIMES)
    return texts, times
