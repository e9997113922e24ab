"""Reports and orders over pipes: each is a four-byte length and a MessagePack body of at most 16 MiB.

A library that the collector has loaded may write to any descriptor: what it writes among the reports is
left out. Before each report stand a mark and a checksum, by which the next one is found again.
"""

import os
import zlib
from collections.abc import Iterator
from functools import cache

import msgspec

from accelwatch.base.errors import WireError
from accelwatch.node.sampler.protocol.settings import Order
from accelwatch.node.store.reports import Report, Written
from accelwatch.schema.stream.frames import PREFIX_BYTES, frame

MAX_FRAME_BYTES = 16 << 20
# Exit status of a collector whose pipe for reports a library has closed.
CLOSED = 93
_CHUNK = 1 << 18
# Begins a report; no text has these bytes, and no number of our messages begins with them.
_MAGIC = b"\xf5\xffAR"
_CHECKSUM_BYTES = 4
_HEAD = len(_MAGIC) + _CHECKSUM_BYTES

_encoder = msgspec.msgpack.Encoder()
_orders: msgspec.msgpack.Decoder[Order] = msgspec.msgpack.Decoder(Order)


# Building a msgspec decoder costs memory and milliseconds; it is stateless.
@cache
def _reports() -> msgspec.msgpack.Decoder[Report]:
    """Built at the first use: a collector only writes reports."""
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


def with_checksum(framed: bytes) -> bytes:
    """A frame as it goes over the pipe for reports."""
    return _MAGIC + zlib.crc32(framed).to_bytes(_CHECKSUM_BYTES, "big") + framed


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


class ChecksumSplitter:
    """Cuts a stream of marked frames into their bodies; what is damaged or between them is left out."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._in_noise = False
        # How often there was something else than a whole frame.
        self.damaged = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The bodies that `chunk` completes."""
        buffer = self._buffer
        buffer += chunk
        start = 0
        while (at := buffer.find(_MAGIC, start)) >= 0:
            self._note_noise(at > start)
            start = at
            framed = at + _HEAD
            body = framed + PREFIX_BYTES
            size = int.from_bytes(buffer[framed:body], "big")
            if len(buffer) < body or (size <= MAX_FRAME_BYTES and len(buffer) < body + size):
                break
            end = body + size
            checksum = int.from_bytes(buffer[at + len(_MAGIC) : framed], "big")
            if size > MAX_FRAME_BYTES or zlib.crc32(buffer[framed:end]) != checksum:
                self._note_noise(True)
                start = at + len(_MAGIC)
                continue
            self._in_noise = False
            start = end
            yield bytes(buffer[body:end])
        else:
            kept = max(start, len(buffer) - len(_MAGIC) + 1)  # which may begin a mark
            self._note_noise(kept > start)
            start = kept
        self._buffer = buffer[start:] if start else buffer

    def _note_noise(self, is_noise: bool) -> None:
        """Count a stretch of noise once."""
        if is_noise and not self._in_noise:
            self.damaged += 1
            self._in_noise = True


class Stream:
    """Reports from a non-blocking descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._splitter = ChecksumSplitter()
        self._undecoded = 0

    @property
    def damaged(self) -> int:
        """How often something came that is no report of ours and was left out."""
        return self._undecoded + self._splitter.damaged

    def read(self) -> list[Report]:
        """What has come so far. Raises EOFError at the end."""
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
                self._undecoded += 1
        return reports


def write_all(descriptor: int, data: bytes | bytearray) -> None:
    """Write everything to a blocking descriptor; OSError passes (EPIPE: the reader has gone)."""
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]
