import contextlib
import os

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.base.absence import Absence
from accelwatch.base.errors import WireError
from accelwatch.node.sampler.protocol import frames
from accelwatch.node.sampler.protocol.frames import (
    MAX_FRAME_BYTES,
    ChecksumSplitter,
    Stream,
    decode,
    decode_order,
    encode,
    with_checksum,
    write_all,
)
from accelwatch.node.sampler.protocol.settings import (
    CollectSettings,
    LetIn,
    QuarantinedComponent,
    StartOrder,
)
from accelwatch.node.store.reports import (
    Component,
    Cycle,
    EncodedOutcome,
    Failure,
    Heartbeat,
    Outcome,
    Report,
)
from accelwatch.schema.reading import Process, Reading
from accelwatch.schema.stream.frames import Splitter

READING = Reading(
    device_id="fake:0",
    values={("power_watts",): 412.5, ("temperature_celsius", "gpu"): 55},
    absent={("fan_speed_ratio",): Absence.UNSUPPORTED},
    processes=(Process(device_id="fake:0", pid=7, command='a "b"\\\n'),),
)
REPORTS: list[Report] = [
    Outcome(backend="b", slot="s", monotonic=1.0, wall=2.0, readings=(READING,)),
    Outcome(backend="b", slot="s", monotonic=1.0, wall=2.0, failure=Failure(absence=Absence.LOST)),
    Cycle(backend="b", result="ok", duration_s=0.1, wall=2.0),
    Heartbeat(cpu_s=0.5, resident_bytes=1 << 24),
]


def test_reports_cross_the_pipe_unchanged_however_they_are_cut() -> None:
    data = b"".join(encode(report) for report in REPORTS)
    for size in (1, 3, 7, len(data)):
        splitter = Splitter(MAX_FRAME_BYTES)
        bodies = [
            body
            for start in range(0, len(data), size)
            for body in splitter.feed(data[start : start + size])
        ]
        assert [decode(body) for body in bodies] == REPORTS


def test_a_reading_that_is_bytes_already_crosses_as_it_is() -> None:
    body = msgspec.msgpack.encode((READING,))
    encoded = EncodedOutcome(
        backend="b", slot="s", monotonic=1.0, wall=2.0, duration_s=0.5, readings=msgspec.Raw(body)
    )
    outcome = Outcome(
        backend="b", slot="s", monotonic=1.0, wall=2.0, duration_s=0.5, readings=(READING,)
    )
    (written,) = Splitter(MAX_FRAME_BYTES).feed(encode(encoded))
    assert body in written
    assert decode(written) == encoded.decoded() == outcome


def test_orders_cross_the_pipe_unchanged() -> None:
    settings = CollectSettings(backends=("nvidia",), options={"nvidia": {"library": "x", "n": 3}})
    held = (
        QuarantinedComponent(component=Component("amd", "amd:0"), reason="crashed"),
        QuarantinedComponent(component=Component("intel")),
    )
    for order in (
        StartOrder(settings=settings, quarantined=held),
        LetIn(component=Component("amd", events=True)),
    ):
        (body,) = Splitter(MAX_FRAME_BYTES).feed(encode(order))
        assert decode_order(body) == order


def test_an_impossible_length_is_refused() -> None:
    with pytest.raises(WireError, match="at most"):
        list(Splitter(MAX_FRAME_BYTES).feed((MAX_FRAME_BYTES + 1).to_bytes(4, "big")))


def test_what_cannot_be_encoded_is_refused() -> None:
    lone = Process(device_id="d", pid=1, command="\udcff")
    report = Outcome(
        backend="b",
        slot="s",
        monotonic=0,
        wall=0,
        readings=(Reading(device_id="d", processes=(lone,)),),
    )
    with pytest.raises(WireError):
        encode(report)


@given(st.binary(max_size=200))
def test_damaged_bodies_are_wire_errors_and_nothing_else(body: bytes) -> None:
    for read in (decode, decode_order):
        with contextlib.suppress(WireError):
            read(body)


@given(st.data())
def test_a_flipped_byte_never_escapes_as_another_error(data: st.DataObject) -> None:
    body = bytearray(encode(REPORTS[0])[4:])
    position = data.draw(st.integers(0, len(body) - 1))
    body[position] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(WireError):
        decode(bytes(body))


def test_a_stream_leaves_damaged_reports_out_and_goes_on() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    try:
        stream = Stream(reading)
        assert stream.read() == []
        sent = (encode(REPORTS[3]), b"\0\0\0\x02\xc1\xc1", encode(REPORTS[2]))
        os.write(writing, b"".join(map(with_checksum, sent)))
        assert stream.read() == [REPORTS[3], REPORTS[2]]
        assert stream.damaged == 1
        os.close(writing)
        with pytest.raises(EOFError):
            stream.read()
    finally:
        os.close(reading)


def test_a_report_may_be_as_long_as_a_frame_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    length = len(encode(REPORTS[0])) - 4
    monkeypatch.setattr(frames, "MAX_FRAME_BYTES", length)
    assert decode(encode(REPORTS[0])[4:]) == REPORTS[0]
    monkeypatch.setattr(frames, "MAX_FRAME_BYTES", length - 1)
    with pytest.raises(WireError) as caught:
        encode(REPORTS[0])
    assert str(caught.value) == f"Outcome of {length} bytes is too long for a frame"


def test_a_refusal_says_what_and_why() -> None:
    with pytest.raises(WireError, match="^damaged report of 2 bytes: .*MessagePack"):
        decode(b"\xc1\xc1")
    with pytest.raises(WireError, match="^damaged order of 1 bytes: .*MessagePack"):
        decode_order(b"\xc1")
    with pytest.raises(WireError, match="^Heartbeat cannot be encoded: can't serialize ints"):
        encode(Heartbeat(cpu_s=0.0, resident_bytes=1 << 70))


def test_every_damaged_report_is_counted() -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, with_checksum(b"\0\0\0\x01\xc1") * 3)
        stream = Stream(reading)
        assert stream.read() == []
        assert stream.damaged == 3
    finally:
        os.close(reading)
        os.close(writing)


MARK = with_checksum(b"")[:4]
NOISES = {
    "text": b"NVRM: hello\n",
    "zeros": bytes(64),
    "a long length": b"\xff" * 16,
    "half a mark": MARK[:3],
    "a mark alone": MARK + b"abcd\0\0\0\x02\xc1",
    "a mark with a length that nobody sends": MARK + b"abcd" + b"\xff" * 4,
}


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("step", [1, 7, 1 << 16])
def test_what_a_library_writes_among_reports_is_left_out(noise: bytes, step: int) -> None:
    """A mark of noise may announce so many bytes that what follows is looked at only with the next."""
    sent = b"".join(
        (
            with_checksum(encode(REPORTS[3])),
            noise,
            with_checksum(encode(REPORTS[2])),
            with_checksum(encode(REPORTS[3])),
        )
    )
    splitter = ChecksumSplitter()
    chunks = (sent[at : at + step] for at in range(0, len(sent), step))
    decoded = [decode(body) for chunk in chunks for body in splitter.feed(chunk)]
    assert decoded == [REPORTS[3], REPORTS[2], REPORTS[3]]
    assert splitter.damaged == 1


def test_what_a_library_writes_into_a_report_costs_that_report() -> None:
    broken = with_checksum(encode(REPORTS[0]))
    sent = broken[:20] + b"noise" + broken[20:] + with_checksum(encode(REPORTS[2])) * 2
    splitter = ChecksumSplitter()
    assert [*map(decode, splitter.feed(sent))] == [REPORTS[2]] * 2
    assert splitter.damaged == 1


@given(st.binary(max_size=60), st.integers(1, 20))
def test_no_noise_makes_a_report(noise: bytes, step: int) -> None:
    splitter = ChecksumSplitter()
    sent = noise + with_checksum(encode(REPORTS[2])) + with_checksum(encode(REPORTS[3]))
    chunks = (sent[at : at + step] for at in range(0, len(sent), step))
    bodies = [body for chunk in chunks for body in splitter.feed(chunk)]
    assert bodies == [encode(REPORTS[2])[4:], encode(REPORTS[3])[4:]]


def test_what_does_not_fit_at_once_is_written_piece_by_piece(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[tuple[int, bytes]] = []

    def write(descriptor: int, data: memoryview) -> int:
        written.append((descriptor, bytes(data[:3])))
        return min(3, len(data))

    monkeypatch.setattr(os, "write", write)
    write_all(7, b"abcdefgh")
    write_all(8, b"")
    assert written == [(7, b"abc"), (7, b"def"), (7, b"gh")]
