"""Frames of a stream that ask for more than anybody may."""

import struct

import msgspec
import pytest

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.frames import MAX_SLOTS, FrameReader, RawTick, Received


def read(devices: int) -> list[Received]:
    one = [0, "healthy", 0.0, "ok", None, []]
    tick = {"type": "tick", "sequence": 1, "time": 1.0, "devices": [one] * devices}
    body = msgspec.msgpack.encode(tick)
    fed = FrameReader(1 << 20).feed(struct.pack(">I", len(body)) + body)
    return [message for message, _ in fed]


def test_a_tick_has_as_many_devices_as_there_are_slots() -> None:
    (tick,) = read(MAX_SLOTS)
    assert isinstance(tick, RawTick)
    assert len(tick.devices) == MAX_SLOTS
    with pytest.raises(TargetFault) as caught:
        read(MAX_SLOTS + 1)
    assert caught.value.reason is Reason.GARBAGE
