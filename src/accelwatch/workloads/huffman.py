"""The Huffman code of HPACK (RFC 7541, appendix B), kept as code lengths.

The code is canonical: symbols sorted by (length, value) get consecutive codes, so lengths say it all.
"""

from functools import cache

from accelwatch.workloads.failure import protocol

_EOS = 256
_LENGTHS: dict[int, str] = {
    5: "30-32 61 63 65 69 6f 73-74",
    6: "20 25 2d-2f 33-39 3d 41 5f 62 64 66-68 6c-6e 70 72 75",
    7: "3a 42-57 59 6a-6b 71 76-7a",
    8: "26 2a 2c 3b 58 5a",
    10: "21-22 28-29 3f",
    11: "27 2b 7c",
    12: "23 3e",
    13: "00 24 40 5b 5d 7e",
    14: "5e 7d",
    15: "3c 60 7b",
    19: "5c c3 d0",
    20: "80 82-83 a2 b8 c2 e0 e2",
    21: "99 a1 a7 ac b0-b1 b3 d1 d8-d9 e3 e5-e6",
    22: "81 84-86 88 92 9a 9c a0 a3-a4 a9-aa ad b2 b5 b9-bb bd-be c4 c6 e4 e8-e9",
    23: "01 87 89-8d 8f 93 95-98 9b 9d-9e a5-a6 a8 ae-af b4 b6-b7 bc bf c5 e7 ef",
    24: "09 8e 90-91 94 9f ab ce d7 e1 ec-ed",
    25: "c7 cf ea-eb",
    26: "c0-c1 c8-ca cd d2 d5 da-db ee f0 f2-f3 ff",
    27: "cb-cc d3-d4 d6 dd-df f1 f4-f8 fa-fe",
    28: "02-08 0b-0c 0e-15 17-1f 7f dc f9",
    30: "0a 0d 16 100",
}
"""Code length in bits to the symbols that have it, as ranges of hexadecimal byte values; 100 is EOS."""


def _symbols(ranges: str) -> list[int]:
    found: list[int] = []
    for part in ranges.split():
        first, _, last = part.partition("-")
        found += range(int(first, 16), int(last or first, 16) + 1)
    return found


@cache
def _codes() -> dict[tuple[int, int], int]:
    codes: dict[tuple[int, int], int] = {}
    code = before = 0
    for length, ranges in _LENGTHS.items():
        code <<= length - before
        before = length
        for symbol in _symbols(ranges):
            codes[length, code] = symbol
            code += 1
    return codes


def decode(data: bytes) -> bytes:
    """The octets behind Huffman-coded data. Raises SourceError for EOS or wrong padding inside it."""
    codes = _codes()
    out = bytearray()
    code = length = 0
    for byte in data:
        for bit in range(7, -1, -1):
            code = code << 1 | byte >> bit & 1
            length += 1
            symbol = codes.get((length, code))
            if symbol is not None:
                if symbol == _EOS:
                    break
                out.append(symbol)
                code = length = 0
        if length > 30 or (length, code) in codes:
            raise protocol("hpack: no such Huffman code")
    if length > 7 or code != (1 << length) - 1:
        raise protocol("hpack: wrong Huffman padding")
    return bytes(out)
