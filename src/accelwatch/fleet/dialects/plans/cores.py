"""Cores that are counted through all devices of a node, assigned to their devices."""

from collections.abc import Sequence

import msgspec

from accelwatch.exposition import Key
from accelwatch.fleet.dialects.base.table import Cores, Dialect

_MOST_CORES = 64
_MOST_DIGITS = 5

# A dialect whose rows know how many cores a device has, by the one without and that number; others keep
# what they work out of a dialect by its identity, so each is made once.
_dialects: dict[tuple[int, int], Dialect] = {}


def by_device(dialect: Dialect, keys: Sequence[Key]) -> tuple[Dialect, Sequence[Key]]:
    """The dialect to read a page with, and its keys, of which those of a core name its device.

    Where the page does not say how many cores a device has, a row is a core.
    """
    cores = dialect.cores
    if cores is None:
        return dialect, keys
    count = _cores_of_a_device(cores, keys)
    if count is None:
        return cores.otherwise, keys
    return _with_cores(dialect, count), [_renumbered(cores, count, key) for key in keys]


def _cores_of_a_device(cores: Cores, keys: Sequence[Key]) -> int | None:
    texts = {key.get(cores.per_device) for key in keys if key.name == cores.info}
    counts = [int(text) for text in texts if _is_number(text)]
    return counts[0] if len(texts) == 1 and counts and 0 < counts[0] <= _MOST_CORES else None


def _with_cores(dialect: Dialect, count: int) -> Dialect:
    slot = id(dialect), count
    if slot not in _dialects:
        rows = tuple(
            msgspec.structs.replace(row, scale=(1, count), high=1.0) if row.per_core else row
            for row in dialect.rows
        )
        _dialects[slot] = msgspec.structs.replace(dialect, rows=rows)
    return _dialects[slot]


def _renumbered(cores: Cores, count: int, key: Key) -> Key:
    text = key.get(cores.label)
    if not _is_number(text):
        return key
    device, core = divmod(int(text), count)
    at = key.labels.index(cores.label)
    return Key(
        key.name,
        (*key.labels, cores.device),
        (*key.values[:at], str(core), *key.values[at + 1 :], str(device)),
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
