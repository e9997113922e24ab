"""The packed form of a tick's values: a mark for each, then eight bytes for each, little-endian.

A mark is `d` (a double), `q` or `Q` (an integer, signed or unsigned), or the letter of why there is no
value (`compact.py`); the eight bytes of an absent value are zero. Readers of many devices use the
numbers as they are, without decoding each.
"""

import struct
from collections.abc import Sequence
from functools import lru_cache

from accelwatch.schema.reading import Number

# A reader requests this form by this name, and a hello names it.
FORM = "packed"
# Bytes a value.
WIDTH = 9
_NUMBERS = b"dqQ"
_SIGNED = 1 << 63
_MOST = 1 << 64

Values = tuple[Number | str, ...]


# Devices of a model have the same marks; building a Struct parses its format.
@lru_cache(maxsize=64)
def _plan(codes: bytes) -> struct.Struct:
    """How the values of these marks lie; absent ones are eight bytes of padding."""
    return struct.Struct("<" + "".join(chr(code) if code in _NUMBERS else "8x" for code in codes))


def _code_of(value: Number | str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return "d"
    if -_SIGNED <= value < _SIGNED:
        return "q"
    return "Q" if _SIGNED <= value < _MOST else "d"


def pack(values: Sequence[Number | str]) -> bytes:
    """Numbers and letters as bytes; an integer of more than 64 bits becomes a double."""
    codes = "".join([_code_of(value) for value in values]).encode("latin-1")
    return codes + _plan(codes).pack(*[value for value in values if not isinstance(value, str)])


def unpack(packed: bytes) -> Values:
    """The inverse of `pack`. Raises ValueError for a length that none has."""
    count, odd = divmod(len(packed), WIDTH)
    if odd:
        raise ValueError(f"{len(packed)} bytes are not packed values")
    codes = packed[:count]
    numbers = iter(_plan(codes).unpack_from(packed, count))
    return tuple([next(numbers) if code in _NUMBERS else chr(code) for code in codes])
