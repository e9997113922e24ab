"""Frames of streams and pipes: cut anywhere, whole again; no length is believed beyond the limit."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.base.errors import WireError
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.frames import FrameReader
from accelwatch.node.sampler.protocol.frames import encode
from accelwatch.node.sampler.protocol.settings import LetIn
from accelwatch.node.store.reports import Component
from accelwatch.schema.stream.compact import Hello
from accelwatch.schema.stream.frames import FrameSizeError, Splitter, body_size, frame
from accelwatch.web.http.stream import MSGPACK, NDJSON, SSE, framed


@given(st.lists(st.binary(max_size=9), max_size=5), st.integers(1, 7))
def test_bodies_come_back_however_they_are_cut(bodies: list[bytes], step: int) -> None:
    stream = b"".join(map(frame, bodies))
    splitter = Splitter(9)
    chunks = [stream[at : at + step] for at in range(0, len(stream), step)]
    assert [body for chunk in chunks for body in splitter.feed(chunk)] == bodies


def test_a_length_beyond_the_limit_is_refused_after_what_came_before() -> None:
    splitter = Splitter(4)
    found = splitter.feed(frame(b"four") + frame(b"fives"))
    assert next(found) == b"four"
    with pytest.raises(FrameSizeError, match="5 bytes; at most 4"):
        next(found)
    assert body_size(frame(b"four")[:4], 4) == 4


def test_every_end_speaks_these_frames() -> None:
    hello = Hello(version="1", host="n01")
    sent = framed(hello, MSGPACK)
    assert sent == frame(msgspec.msgpack.encode(hello))
    assert list(FrameReader(1 << 10).feed(sent)) == [(hello, len(sent) - 4)]
    with pytest.raises(TargetFault) as caught:
        list(FrameReader(len(sent) - 5).feed(sent))
    assert caught.value.reason is Reason.TOO_LARGE
    order = LetIn(component=Component("amd"))
    assert list(Splitter(1 << 10).feed(encode(order))) == [msgspec.msgpack.encode(order)]
    assert issubclass(FrameSizeError, WireError)


def test_a_message_as_a_line_and_as_an_event() -> None:
    hello = Hello(version="1", host="n01")
    line = msgspec.json.encode(hello)
    assert framed(hello, NDJSON) == line + b"\n"
    assert framed(hello, SSE) == b"event: hello\ndata: " + line + b"\n\n"
