"""HPACK (RFC 7541): decodes header blocks in full; encodes only literals that need no table."""

from collections import deque

from accelwatch.workloads import huffman
from accelwatch.workloads.failure import protocol

Header = tuple[str, str]

MAX_TABLE_BYTES = 4096
"""SETTINGS_HEADER_TABLE_SIZE as it is until told otherwise; we never tell otherwise."""
_MAX_LIST_BYTES = 64 << 10
_ENTRY_OVERHEAD = 32
_MAX_INTEGER = 1 << 24

_PLAIN_NAMES = (
    "accept-language accept-ranges accept access-control-allow-origin age allow"
    " authorization cache-control content-disposition content-encoding content-language"
    " content-length content-location content-range content-type cookie date etag expect"
    " expires from host if-match if-modified-since if-none-match if-range"
    " if-unmodified-since last-modified link location max-forwards proxy-authenticate"
    " proxy-authorization range referer refresh retry-after server set-cookie"
    " strict-transport-security transfer-encoding user-agent vary via www-authenticate"
)

_STATIC: tuple[Header, ...] = (
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    *((":status", code) for code in ("200", "204", "206", "304", "400", "404", "500")),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    *((name, "") for name in _PLAIN_NAMES.split()),
)
"""RFC 7541, appendix A; the first entry has index 1."""


def encode(headers: list[Header]) -> bytes:
    """A header block of literals without indexing and without Huffman code."""
    block = bytearray()
    for name, value in headers:
        block.append(0)
        for text in (name, value):
            octets = text.encode("ascii")
            block += _integer(len(octets), 7) + octets
    return bytes(block)


def _integer(value: int, prefix: int) -> bytes:
    limit = (1 << prefix) - 1
    if value < limit:
        return bytes([value])
    out = bytearray([limit])
    value -= limit
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class HeaderDecoder:
    """Decodes the header blocks of one connection; its dynamic table lives as long as that."""

    def __init__(self) -> None:
        self._table: deque[Header] = deque()
        self._used = 0
        self._limit = MAX_TABLE_BYTES

    def decode(self, block: bytes) -> list[Header]:
        """The headers of a block. Raises SourceError when it is damaged or too large."""
        reader = _Reader(block)
        headers: list[Header] = []
        size = 0
        while reader.more():
            header = self._next(reader)
            if header is None:
                continue
            headers.append(header)
            size += _size(header)
            if size > _MAX_LIST_BYTES:
                raise protocol("hpack: the header list is too large")
        return headers

    def _next(self, reader: "_Reader") -> Header | None:
        first = reader.peek()
        if first & 0x80:
            return self._entry(reader.integer(7))
        if first & 0xE0 == 0x20:
            self._resize(reader.integer(5))
            return None
        keeps = bool(first & 0x40)
        index = reader.integer(6 if keeps else 4)
        name = self._entry(index)[0] if index else reader.string()
        header = (name, reader.string())
        if keeps:
            self._add(header)
        return header

    def _entry(self, index: int) -> Header:
        if 1 <= index <= len(_STATIC):
            return _STATIC[index - 1]
        at = index - len(_STATIC) - 1
        if not 0 <= at < len(self._table):
            raise protocol(f"hpack: no entry {index}")
        return self._table[at]

    def _add(self, header: Header) -> None:
        self._table.appendleft(header)
        self._used += _size(header)
        self._evict()

    def _resize(self, limit: int) -> None:
        if limit > MAX_TABLE_BYTES:
            raise protocol("hpack: the table is made larger than was agreed")
        self._limit = limit
        self._evict()

    def _evict(self) -> None:
        while self._used > self._limit:
            self._used -= _size(self._table.pop())


def _size(header: Header) -> int:
    return len(header[0]) + len(header[1]) + _ENTRY_OVERHEAD


class _Reader:
    def __init__(self, block: bytes) -> None:
        self._block = block
        self._at = 0

    def more(self) -> bool:
        return self._at < len(self._block)

    def peek(self) -> int:
        if not self.more():
            raise protocol("hpack: the block is cut off")
        return self._block[self._at]

    def _byte(self) -> int:
        byte = self.peek()
        self._at += 1
        return byte

    def integer(self, prefix: int) -> int:
        limit = (1 << prefix) - 1
        value = self._byte() & limit
        if value < limit:
            return value
        shift = 0
        while True:
            byte = self._byte()
            value += (byte & 0x7F) << shift
            shift += 7
            if value > _MAX_INTEGER or shift > 35:
                raise protocol("hpack: a number is too large")
            if byte < 0x80:
                return value

    def string(self) -> str:
        coded = bool(self.peek() & 0x80)
        size = self.integer(7)
        octets = self._block[self._at : self._at + size]
        if len(octets) < size:
            raise protocol("hpack: a string is cut off")
        self._at += size
        return (huffman.decode(octets) if coded else octets).decode("latin-1")
