"""The binary telemetry table that the power firmware fills: bytes to named numbers, nothing else.

A revision that is not listed is not read. A field that is all ones is "not available" and is left out,
as is one that the table is too short for.
"""

import struct

import msgspec

from accelwatch_amd.gpu_metrics.layouts import (
    ALWAYS_ARRAYS,
    ATTRIBUTE_NAMES,
    LAYOUTS,
    XCP,
    Layout,
)

_HEADER = struct.Struct("<HBB")
_WIDTHS = {"B": 1, "H": 2, "I": 4, "Q": 8}


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """One decoded table; numbers are as the firmware wrote them."""

    # Format and content revision.
    revision: tuple[int, int]
    numbers: dict[str, int]
    # Per element None where it is not available; an array without any element is left out.
    arrays: dict[str, tuple[int | None, ...]]

    def partitions(self) -> int:
        """Number of partitions that `xcp_stats` describes, 0 where the table has none."""
        return min(self.numbers.get("num_partition", 0), XCP)


# The revision that describes its own fields.
ATTRIBUTES = (1, 9)

_COUNT = struct.Struct("<i")
_ENCODING = struct.Struct("<Q")
# `AMDGPU_METRICS_TYPE_U*`; no attribute that is read here is signed.
_TYPES = {0: "B", 2: "H", 4: "I", 6: "Q"}


def structure_size(layout: Layout) -> int:
    """Bytes of a table with this layout, header and final padding included."""
    offset, widest = _HEADER.size, 2
    for _, code, count in layout:
        width = _WIDTHS[code]
        widest = max(widest, width)
        offset += -offset % width + width * (count or 1)
    return offset + -offset % widest


def parse(content: bytes) -> Table | None:
    """Decode a table; None where it is too short for a header or of a layout that is not known.

    The content may be longer than the table (copies are padded) or shorter (a cut read). A table whose
    header gives another size than its revision has is not read: an early 1.6 had other fields.
    """
    if len(content) < _HEADER.size:
        return None
    size, major, minor = _HEADER.unpack_from(content)
    table_bytes = content[:size]
    if (major, minor) == ATTRIBUTES:
        return _parse_attributes(table_bytes)
    layout = LAYOUTS.get((major, minor))
    if layout is None or size != structure_size(layout):
        return None
    table = Table(revision=(major, minor), numbers={}, arrays={})
    offset = _HEADER.size
    for name, code, count in layout:
        offset += -offset % _WIDTHS[code]
        after = offset + _WIDTHS[code] * (count or 1)
        if after > len(table_bytes):
            break
        if name != "padding":
            _record(
                table, name, _elements(table_bytes, offset, code, count or 1), single=count == 0
            )
        offset = after
    return table


def _elements(content: bytes, offset: int, code: str, count: int) -> tuple[int | None, ...]:
    missing = (1 << 8 * _WIDTHS[code]) - 1
    read = struct.unpack_from(f"<{count}{code}", content, offset)
    return tuple(None if number == missing else number for number in read)


def _record(table: Table, name: str, elements: tuple[int | None, ...], *, single: bool) -> None:
    if single and elements[0] is not None:
        table.numbers[name] = elements[0]
    elif not single and any(element is not None for element in elements):
        table.arrays[name] = elements


def _parse_attributes(content: bytes) -> Table | None:
    """Table 1.9: a count, then packed attributes, each an encoding of 64 bits before its values.

    Bits of the encoding: 0-9 number of values, 10-19 which attribute, 20-23 type, 24-31 unit. Reading
    ends at the first attribute that is cut or of a type that is not known.
    """
    if len(content) < _COUNT.size + _HEADER.size:
        return None
    (count,) = _COUNT.unpack_from(content, _HEADER.size)
    table = Table(revision=ATTRIBUTES, numbers={}, arrays={})
    offset = _HEADER.size + _COUNT.size
    for _ in range(max(count, 0)):
        if offset + _ENCODING.size > len(content):
            break
        (encoding,) = _ENCODING.unpack_from(content, offset)
        offset += _ENCODING.size
        instances, number = encoding & 0x3FF, encoding >> 10 & 0x3FF
        code = _TYPES.get(encoding >> 20 & 0xF)
        if code is None or instances == 0 or offset + _WIDTHS[code] * instances > len(content):
            break
        if number < len(ATTRIBUTE_NAMES):
            name, elements = ATTRIBUTE_NAMES[number], _elements(content, offset, code, instances)
            _record(table, name, elements, single=instances == 1 and name not in ALWAYS_ARRAYS)
        offset += _WIDTHS[code] * instances
    return table
