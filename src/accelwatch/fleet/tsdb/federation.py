"""The whole fleet as one exposition, made in short slices and sent in pieces.

The text format wants the lines of a family together while nodes are walked one by one: each family's
text is packed as it grows, so that a hundred megabytes of text use some megabytes until they are sent.
"""

import asyncio
import struct
import zlib
from collections.abc import AsyncIterator, Mapping

import msgspec

from accelwatch.base.slices import LongWork
from accelwatch.exposition.families import escape
from accelwatch.exposition.text import header
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.tsdb.remote_write.outgoing import Outgoing, Owned, node_labels
from accelwatch.schema.metrics import Metric, Series

# Characters of a family that are packed together.
_PIECE = 64 << 10
_CACHE_S = 0.5
_MAX_HEADS = 50_000
_MAX_CACHED = 4

# Profile and groups.
Chosen = tuple[str, frozenset[str]]


class Joined:
    """Pieces of deflated text, each made for itself, as one gzip stream (RFC 1952).

    Several streams one after the other would be as good by the RFC, but curl reads only the first.
    """

    def __init__(self) -> None:
        self._sum = 0
        self._size = 0

    def start(self) -> bytes:
        """The header."""
        return b"\x1f\x8b\x08\0\0\0\0\0\0\xff"

    def add(self, piece: bytes) -> bytes:
        """The piece itself, counted."""
        text = _inflated(piece)
        self._sum = zlib.crc32(text, self._sum)
        self._size += len(text)
        return piece

    def finish(self) -> bytes:
        """An empty last block, the checksum and the size."""
        return b"\x03\0" + struct.pack("<II", self._sum, self._size & 0xFFFFFFFF)


def _deflated(text: bytes) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(text) + packer.flush(zlib.Z_FULL_FLUSH)


def _inflated(piece: bytes) -> bytes:
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(piece)


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """One exposition of the fleet: packed pieces of text by family."""

    # Monotonic seconds.
    at: float
    families: tuple[tuple[Metric, tuple[bytes, ...]], ...]

    async def chunks(self, openmetrics: bool, packed: bool) -> AsyncIterator[bytes]:
        """The body, as one gzip stream or as text."""
        stream, work = Joined(), LongWork()
        if packed:
            yield stream.start()
        for row, pieces in self.families:
            first = _deflated(header(row, openmetrics).encode())
            for piece in (first, *pieces):
                yield stream.add(piece) if packed else _inflated(piece)
                await work.yield_control()
        last = _deflated(b"# EOF\n") if openmetrics else b""
        if packed:
            yield stream.add(last) + stream.finish()
        else:
            yield _inflated(last)


class _Family:
    """The text of one family while it grows."""

    __slots__ = ("_length", "_lines", "pieces")

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._length = 0
        self.pieces: list[bytes] = []

    def add(self, line: str) -> None:
        self._lines.append(line)
        self._length += len(line)
        if self._length >= _PIECE:
            self.close()

    def close(self) -> None:
        if self._lines:
            self.pieces.append(_deflated("".join(self._lines).encode()))
            self._lines, self._length = [], 0


class Federating:
    """Makes expositions; simultaneous requests share one."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        # Prometheus servers that scrape together share a page; it expires after _CACHE_S, and a
        # timer frees it.
        self._made: dict[Chosen, Made] = {}
        # Prometheus servers that scrape together wait for one page instead of making it once each.
        self._making = asyncio.Lock()
        self._heads: dict[Series, tuple[str, str]] = {}

    async def made(self, profile: str, groups: frozenset[str]) -> Made:
        """The fleet's exposition, at most half a second old."""
        async with self._making:
            now = self._fleet.clock.monotonic()
            fresh = {key: made for key, made in self._made.items() if now - made.at < _CACHE_S}
            page = fresh.get((profile, groups))
            if page is None:
                page = await self._make(profile, groups)
                if len(fresh) < _MAX_CACHED:
                    fresh[profile, groups] = page
                asyncio.get_running_loop().call_later(2 * _CACHE_S, self._evict_expired)
            self._made = fresh
            return page

    def _evict_expired(self) -> None:
        now = self._fleet.clock.monotonic()
        self._made = {key: made for key, made in self._made.items() if now - made.at < _CACHE_S}

    async def _make(self, profile: str, groups: frozenset[str]) -> Made:
        outgoing = Outgoing(profile, groups)
        families = {key: _Family() for key in outgoing.rows}
        work = LongWork()
        for name in sorted(self._fleet.nodes):
            node = self._fleet.nodes.get(name)
            if node is not None:
                labels = node_labels(node, {})
                for owned in outgoing.of(self._fleet, node):
                    self._add(owned, labels, outgoing.rows, families)
            await work.yield_control()
        for family in families.values():
            family.close()
            await work.yield_control()
        return Made(
            at=self._fleet.clock.monotonic(),
            families=tuple(
                (row, tuple(families[key].pieces))
                for key, row in outgoing.rows.items()
                if families[key].pieces
            ),
        )

    def _add(
        self,
        owned: Owned,
        labels: Mapping[str, str],
        rows: Mapping[str, Metric],
        families: Mapping[str, _Family],
    ) -> None:
        shown = {name: value for name, value in labels.items() if name not in owned.labels}
        label_text = _text(shown)
        for series, value in dict(owned.samples).items():
            row = rows[series[0]]
            of_node = label_text
            if not shown.keys().isdisjoint(row.labels):  # the family's own label hides the node's
                of_node = _text({name: v for name, v in shown.items() if name not in row.labels})
            start, end = self._heads.get(series) or self._head(row, series)
            comma = "," if owned.text else ""
            families[series[0]].add(f"{start}{of_node}{comma}{owned.text}{end}{value!r}\n")

    def _head(self, row: Metric, series: Series) -> tuple[str, str]:
        """What stands before a node's labels and after a device's."""
        own = {name: v for name, v in zip(row.labels, series[1:], strict=True) if v}
        if len(self._heads) >= _MAX_HEADS:
            self._heads.clear()
        head = f"{row.family}{{", ("," if own else "") + _text(own) + "} "
        self._heads[series] = head
        return head


def _text(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{escape(value)}"' for name, value in labels.items() if value)
