"""Protocol buffer messages field by field. Knows the wire format, no message of its own.

Format: https://protobuf.dev/programming-guides/encoding/ (tags, varints, length-delimited fields).
"""

from collections.abc import Iterator

from accelwatch.backend.kit.grpc.failure import protocol

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}


def varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, offset after it) of the varint at an offset. Raises SourceError when it is damaged."""
    value = 0
    for shift in range(_MAX_VARINT_BYTES):
        if at >= len(data):
            raise protocol("protobuf: a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
    raise protocol("protobuf: a number is longer than 64 bits")


def encoded_varint(number: int) -> bytes:
    """A number as protobuf writes it."""
    if number < 0x80:
        return bytes((number,))
    if number < 0x4000:
        return bytes((number & 0x7F | 0x80, number >> 7))
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(field number, value) in order: varints as int, everything else as bytes.

    Raises SourceError for what no encoder writes: field number 0, groups, lengths past the end.
    """
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        if number == 0:
            raise protocol("protobuf: field number 0")
        if wire_type == _VARINT:
            value, at = varint(data, at)
            yield number, value
            continue
        if wire_type == _BYTES:
            size, at = varint(data, at)
        elif wire_type in _FIXED_SIZES:
            size = _FIXED_SIZES[wire_type]
        else:
            raise protocol(f"protobuf: wire type {wire_type} is not in use")
        if size > len(data) - at:
            raise protocol("protobuf: a field is cut off")
        yield number, data[at : at + size]
        at += size


def messages(data: bytes, number: int) -> Iterator[bytes]:
    """Every length-delimited value of one field, in order; other fields and types are skipped."""
    for field, value in fields(data):
        if field == number and isinstance(value, bytes):
            yield value


def texts(data: bytes, number: int) -> list[str]:
    """Every value of a string field; undecodable bytes are replaced."""
    return [value.decode("utf-8", "replace") for value in messages(data, number)]


def text(data: bytes, number: int) -> str:
    """Value of a singular string field: the last one counts, empty when it is not there."""
    values = texts(data, number)
    return values[-1] if values else ""
