"""The bytes of remote write 1.0: `WriteRequest` of prometheus/prompb/remote.proto and types.proto.

WriteRequest{timeseries=1}, TimeSeries{labels=1, samples=2}, Label{name=1, value=2},
Sample{value=1 double, timestamp=2 int64 milliseconds}; labels sorted by name.
"""

import struct
from collections.abc import Mapping
from functools import cache

from accelwatch.backend.kit.grpc.protobuf import encoded_varint
from accelwatch.schema.metrics import Metric, Series

# A sample's number.
number_bytes = struct.Struct("<d").pack
# The NaN that ends a series (model/value in Prometheus: StaleNaN).
STALE = struct.pack("<Q", 0x7FF0000000000002)
_SERIES = b"\x0a"
_LABEL = b"\x0a"
_NAME = b"\x0a"
_VALUE = b"\x12"
_SAMPLE = b"\x12"
_NUMBER = b"\x09"
_TIME = b"\x10"
_FAMILY = "__name__"

# Bytes of a series' own label, or which of its owner's labels stand here.
Piece = bytes | tuple[int, int]


def _field(tag: bytes, body: bytes) -> bytes:
    return tag + encoded_varint(len(body)) + body


def label(name: str, value: str) -> bytes:
    """One label of a series."""
    pair = _field(_NAME, name.encode()) + _field(_VALUE, value.encode())
    return _field(_LABEL, pair)


class OwnerBytes:
    """The labels of an owner as bytes, in order; runs of them are joined once."""

    __slots__ = ("_label_bytes", "labels", "names", "runs")

    def __init__(self, labels: Mapping[str, str]) -> None:
        self.labels = dict(labels)
        kept = sorted((name.encode(), name) for name, value in labels.items() if value)
        self.names = tuple(name for _, name in kept)
        self._label_bytes = [label(name, labels[name]) for name in self.names]
        # Runs that were requested, for a look-up without a call.
        self.runs: dict[Piece, bytes] = {}

    def run(self, piece: Piece) -> bytes:
        """The bytes of a piece: themselves, or the labels from one position up to another."""
        if isinstance(piece, bytes):
            return piece
        encoded = self.runs.get(piece)
        if encoded is None:
            encoded = self.runs[piece] = b"".join(self._label_bytes[piece[0] : piece[1]])
        return encoded


class SeriesPlans:
    """How a series' labels and its owner's are laid side by side, by the names of the owner's."""

    def __init__(self, rows: Mapping[str, Metric]) -> None:
        self._rows = rows
        self._plans: dict[tuple[str, ...], dict[Series, tuple[Piece, ...]]] = {}

    def of(self, names: tuple[str, ...]) -> dict[Series, tuple[Piece, ...]]:
        """The plans made so far for owners with these labels."""
        return self._plans.setdefault(names, {})

    def make(self, names: tuple[str, ...], series: Series) -> tuple[Piece, ...]:
        """The plan of a series, kept for the next time. Its own label hides the owner's."""
        row = self._rows[series[0]]
        own = {name: v for name, v in zip(row.labels, series[1:], strict=True) if v}
        own[_FAMILY] = row.family
        order = sorted({*names, *own}, key=str.encode)
        positions = {name: position for position, name in enumerate(names)}
        pieces: list[Piece] = []
        for name in order:
            before = pieces[-1] if pieces else b""
            if name in own:
                chunk = label(name, own[name])
                pieces[-1:] = [before + chunk] if isinstance(before, bytes) else [before, chunk]
            elif isinstance(before, tuple) and before[1] == positions[name]:
                pieces[-1] = (before[0], positions[name] + 1)
            else:
                pieces.append((positions[name], positions[name] + 1))
        plans = self.of(names)
        if len(plans) >= _MAX_PLANS:
            plans.clear()
        plan = plans[series] = tuple(pieces)
        return plan


# Series of one kind of owner; pids in labels come and go.
_MAX_PLANS = 20_000


def sample_bytes(milliseconds: int) -> tuple[bytes, bytes]:
    """What stands before and after the eight bytes of a sample's number."""
    after = _TIME + encoded_varint(milliseconds)
    return _SAMPLE + encoded_varint(9 + len(after)) + _NUMBER, after


def series_bytes(chunks: list[bytes]) -> bytes:
    """One series of its labels and one sample."""
    body = b"".join(chunks)
    return _heads()[len(body)] + body if len(body) < _USUAL else _field(_SERIES, body)


# Each written series starts with one of these; built on first use, because most hubs do not write.
@cache
def _heads() -> tuple[bytes, ...]:
    return tuple(_SERIES + encoded_varint(size) for size in range(_USUAL))


_USUAL = 4096
