"""Reports and orders over pipes: each is a four-byte length and a MessagePack body of at most 16 MiB."""

import os
from functools import cache

import msgspec

from accelwatch.errors import WireError
from accelwatch.sampler.settings import Order
from accelwatch.schema.frames import Splitter, frame
from accelwatch.store.reports import Report, Written

MAX_FRAME_BYTES = 16 << 20
_CHUNK = 1 << 18

_encoder = msgspec.msgpack.Encoder()
_orders: msgspec.msgpack.Decoder[Order] = msgspec.msgpack.Decoder(Order)


@cache
def _reports() -> msgspec.msgpack.Decoder[Report]:
    """Built when first asked for: a collector only writes reports."""
    return msgspec.msgpack.Decoder(Report)


def encode(report: Written | Order) -> bytes:
    """The report or order as a frame. Raises WireError when it cannot be encoded or is too long."""
    try:
        body = _encoder.encode(report)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise WireError(f"{type(report).__name__} cannot be encoded: {error}") from error
    if len(body) > MAX_FRAME_BYTES:
        raise WireError(f"{type(report).__name__} of {len(body)} bytes is too long for a frame")
    return frame(body)


def decode(body: bytes | memoryview) -> Report:
    """The report in a frame's body. Raises WireError when it is damaged or not one of ours."""
    try:
        return _reports().decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise WireError(f"damaged report of {len(body)} bytes: {error}") from error


def decode_order(body: bytes) -> Order:
    """The order in a frame's body. Raises WireError."""
    try:
        return _orders.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise WireError(f"damaged order of {len(body)} bytes: {error}") from error


class Stream:
    """Reports from a non-blocking descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._splitter = Splitter(MAX_FRAME_BYTES)
        self.damaged = 0
        """Reports that could not be read and were left out."""

    def read(self) -> list[Report]:
        """What has come so far. Raises EOFError at the end, WireError when the stream is damaged."""
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return []
        if not chunk:
            raise EOFError
        reports: list[Report] = []
        for body in self._splitter.feed(chunk):
            try:
                reports.append(decode(body))
            except WireError:
                self.damaged += 1
        return reports


def write_all(descriptor: int, data: bytes | bytearray) -> None:
    """Write everything to a blocking descriptor; OSError passes (EPIPE: the reader has gone)."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
