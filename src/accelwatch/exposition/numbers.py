"""Numbers as the text format writes them, many at once."""

from collections.abc import Callable
from typing import Annotated

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.exposition.line import MAX_INT_DIGITS, number
from accelwatch.schema.reading import Number

# Whole numbers from here on become floats, in whichever way a line was read.
_FLOAT_FROM = 10**MAX_INT_DIGITS
_Integer = Annotated[int, msgspec.Meta(gt=-_FLOAT_FROM, lt=_FLOAT_FROM)]
_decode: Callable[[bytes], list[Number]] = msgspec.json.Decoder(list[_Integer | float]).decode
_decode_large = msgspec.json.Decoder(list[int | float]).decode


def is_number(token: str) -> bool:
    """Whether a word is a number as the format writes one; Python alone also reads `1_000`."""
    if not token.isascii() or "_" in token:
        return False
    try:
        float(token)
    except ValueError:
        return False
    return True


def numbers_of(tokens: list[bytes]) -> list[Number] | None:
    """The numbers of samples; None when one is none. Nearly all are JSON's too, and read at once."""
    joined = b",".join(tokens)
    try:
        numbers = _json(b"[%b]" % joined)
        if len(numbers) == len(tokens):
            return numbers
    except (*DECODE_ERRORS, OverflowError):
        pass
    if not joined.isascii() or b"_" in joined:
        return None
    try:
        return [number(token.decode()) for token in tokens]
    except ValueError:
        return None


def _json(text: bytes) -> list[Number]:
    try:
        return _decode(text)
    except msgspec.ValidationError:
        numbers = _decode_large(text)
        return [value if -_FLOAT_FROM < value < _FLOAT_FROM else float(value) for value in numbers]
