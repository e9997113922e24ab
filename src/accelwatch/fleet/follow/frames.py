"""MessagePack frames of a stream: cut out of the bytes that arrive, decoded without their values.

A tick's values stay bytes until they are read: a tick of eight devices then costs microseconds.
Processes stay bytes too. A message beside the ticks that only a newer agent can read is skipped.
"""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.schema.stream.compact import Hello, Layout, is_spare
from accelwatch.schema.stream.context import Event, Findings, Own, Owners
from accelwatch.schema.stream.frames import FrameSizeError, Splitter

# Devices of one stream; a tick with more is refused before they are read.
MAX_SLOTS = 1024


class RawDevice(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """`compact.DeviceTick` with its values as MessagePack."""

    slot: int
    state: str
    state_since: float
    health: str
    sample_time: float | None
    values: msgspec.Raw
    device_absence: str = ""


class RawTick(msgspec.Struct, frozen=True, kw_only=True, tag="tick"):
    """`compact.Tick` with undecoded values."""

    sequence: int
    time: float
    devices: Annotated[tuple[RawDevice, ...], msgspec.Meta(max_length=MAX_SLOTS)]


class RawProcesses(msgspec.Struct, frozen=True, kw_only=True, tag="processes"):
    """`context.Processes` with undecoded rows."""

    slot: int
    total: int
    users: tuple[str, ...] = ()
    rows: msgspec.Raw = msgspec.Raw(b"\x90")


class RawBackends(msgspec.Struct, frozen=True, kw_only=True, tag="backends"):
    """`context.Backends`, undecoded."""

    backends: msgspec.Raw = msgspec.Raw(b"\x90")
    errors: msgspec.Raw = msgspec.Raw(b"\x90")


RawContext = Owners | RawProcesses | Findings | RawBackends | Event | Own
Received = Hello | Layout | RawTick | RawContext


class FrameReader:
    """Turns chunks into messages; a frame above the limit is refused before it is held."""

    def __init__(self, limit_bytes: int) -> None:
        self._splitter = Splitter(limit_bytes)
        self._decoder = msgspec.msgpack.Decoder(Received)

    def feed(self, chunk: bytes) -> Iterator[tuple[Received, int]]:
        """Messages that are complete now, each with its size in bytes. Raises TargetFault."""
        try:
            for body in self._splitter.feed(chunk):
                message = self._message(body)
                if message is not None:
                    yield message, len(body)
        except FrameSizeError as error:
            raise TargetFault(Reason.TOO_LARGE, str(error)) from error

    def _message(self, body: bytes) -> Received | None:
        try:
            message: Received = self._decoder.decode(body)
        except DECODE_ERRORS as error:
            if is_spare(body):
                return None
            raise TargetFault(Reason.GARBAGE, f"no message of ours: {error}") from error
        return message
