"""Values of NVML's fields, packed for one call and unpacked from its answer.

The binding's own function makes several objects of each field, and a GPU has some hundreds of them.
"""

from collections.abc import Callable, Iterator
from ctypes import c_int, create_string_buffer
from functools import lru_cache
from struct import Struct
from typing import Any

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Number
from accelwatch_nvidia import returns

NAME = "nvmlDeviceGetFieldValues"
# (field id, scope id).
FieldPair = tuple[int, int]
# nvmlFieldValue_t (nvml.h): field, scope, moment, latency, type of the value, return code, value.
_FIELD = Struct("@IIqqII8s")
# How each nvmlValueType_t is read out of nvmlValue_t (nvml.h).
_KINDS = tuple(Struct(f"@{kind}").unpack_from for kind in "dILQqiH")
_ALL_BITS_SET = frozenset({0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF})


def query(
    call: Callable[..., int], handle: Any, pairs: tuple[FieldPair, ...]
) -> tuple[int, Iterator[tuple[int, Number | Absence]]]:
    """The return code of the whole call; then of each field in turn its own, and its value."""
    question = _packed(pairs)
    rows = create_string_buffer(question, len(question))
    code = call(handle, c_int(len(pairs)), rows)
    return code, map(_answer, _FIELD.iter_unpack(rows))


# The same request goes to every device at every turn.
@lru_cache(maxsize=128)
def _packed(pairs: tuple[FieldPair, ...]) -> bytes:
    return b"".join(_FIELD.pack(field, scope, 0, 0, 0, 0, b"") for field, scope in pairs)


def _answer(row: tuple[Any, ...]) -> tuple[int, Number | Absence]:
    kind, code, value = row[4:]
    return code, _number(kind, value) if code == returns.SUCCESS else Absence.ERROR


def _number(kind: int, value: bytes) -> Number | Absence:
    """All ones mean that there is none."""
    if kind >= len(_KINDS):
        return Absence.ERROR
    number: Number = _KINDS[kind](value)[0]
    return Absence.UNSUPPORTED if number in _ALL_BITS_SET else number
