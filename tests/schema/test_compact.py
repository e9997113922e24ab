"""The compact stream form: layouts once, small ticks, gaps noticed, absence kept."""

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.schema.reading import wholly_absent
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.stream.compact import CompactEncoder, Hello, Layout, Message, Tick
from accelwatch.schema.stream.context import Backends, Event, Processes
from support.fleet.stream_reader import StreamFollower
from support.machines.composed import NOW, lost_view, snapshot, view

_WIRE = msgspec.msgpack.Decoder(Message)


def through_the_wire(messages: list[Message], decoder: StreamFollower) -> tuple[DeviceView, ...]:
    views: tuple[DeviceView, ...] = ()
    for message in messages:
        views = decoder.feed(_WIRE.decode(msgspec.msgpack.encode(message))) or views
    return views


def test_a_layout_is_sent_once() -> None:
    encoder = CompactEncoder()
    first = encoder.messages(snapshot())
    context = [Backends, *[Processes] * 8, Event]
    assert [type(message) for message in first] == [Hello, *[Layout] * 8, *context, Tick]
    assert [type(message) for message in encoder.messages(snapshot())] == [Tick]


def test_a_tick_of_eight_devices_stays_small() -> None:
    encoder = CompactEncoder()
    encoder.messages(snapshot())
    (tick,) = encoder.messages(snapshot())
    assert len(msgspec.msgpack.encode(tick)) <= 6 * 1024


def test_values_and_reasons_come_back() -> None:
    before = snapshot(view(0), lost_view(3))
    views = through_the_wire(CompactEncoder().messages(before), StreamFollower())
    assert views[0].device == before.devices[0].device
    assert views[0].reading.values == before.devices[0].reading.values
    assert views[0].reading.absent == before.devices[0].reading.absent
    assert views[1].state is before.devices[1].state
    assert views[1].reading.absent == {("*",): Absence.LOST}


def test_a_device_that_is_lost_keeps_its_layout() -> None:
    encoder, decoder = CompactEncoder(), StreamFollower()
    through_the_wire(encoder.messages(snapshot(view(0))), decoder)
    gone = msgspec.structs.replace(
        lost_view(0), reading=wholly_absent(view(0).device.id, Absence.LOST)
    )
    messages = encoder.messages(snapshot(gone))
    assert [type(message) for message in messages] == [Tick]
    (after,) = through_the_wire(messages, decoder)
    assert after.reading.values == {}
    assert after.reading.absent == {("*",): Absence.LOST}


def test_a_new_series_brings_a_new_layout() -> None:
    encoder, decoder = CompactEncoder(), StreamFollower()
    through_the_wire(encoder.messages(snapshot(view(0))), decoder)
    more = {**view(0).reading.values, ("voltage_volts", "core"): 0.9}
    changed = msgspec.structs.replace(
        view(0), reading=msgspec.structs.replace(view(0).reading, values=more)
    )
    (after,) = through_the_wire(encoder.messages(snapshot(changed)), decoder)
    assert after.reading.values[("voltage_volts", "core")] == 0.9


def test_a_gap_is_counted() -> None:
    encoder, decoder = CompactEncoder(), StreamFollower()
    through_the_wire(encoder.messages(snapshot(view(0))), decoder)
    encoder.messages(snapshot(view(0)))
    encoder.messages(snapshot(view(0)))
    through_the_wire(encoder.messages(snapshot(view(0), time=NOW + 3)), decoder)
    assert decoder.gaps == 2


def test_a_tick_without_its_layout_is_refused() -> None:
    messages = CompactEncoder().messages(snapshot(view(0)))
    decoder = StreamFollower()
    decoder.feed(messages[0])
    with pytest.raises(TargetFault, match="do not fit its layout"):
        decoder.feed(messages[-1])


def test_another_schema_is_refused() -> None:
    with pytest.raises(TargetFault, match="accelwatch/2"):
        StreamFollower().feed(Hello(schema="accelwatch/2", version="9", host="n"))


def test_a_series_that_has_had_a_value_is_in_a_layout_once() -> None:
    encoder = CompactEncoder()
    encoder.messages(snapshot(view(0)))
    reading = view(0).reading
    values = {key: number for key, number in reading.values.items() if key != ("power_watts",)}
    changed = msgspec.structs.replace(
        reading,
        values=values | {("voltage_volts", "core"): 0.9},
        absent=reading.absent | {("power_watts",): Absence.UNSUPPORTED},
    )
    messages = encoder.messages(snapshot(msgspec.structs.replace(view(0), reading=changed)))
    (layout,) = [message for message in messages if isinstance(message, Layout)]
    assert ("power_watts",) in layout.series
    assert not {series for series, _ in layout.absent} & set(layout.series)
