"""One device as its source reported it last: what it says, and what is not believed of it."""

import math

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.fleet.follow.frames import RawDevice
from accelwatch.fleet.state.nodes.devices import FleetDevice, ReadDevice, StreamDevice
from accelwatch.fleet.state.nodes.usage import UNUSED
from accelwatch.fleet.table.columns import Columns
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.json.wire import to_document
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.values.plausible import SENTINELS, bounds
from support.machines import composed as machines

POWER, GPU, MEMORY = (
    ("power_watts",),
    ("temperature_celsius", "gpu"),
    ("temperature_celsius", "memory"),
)
USED: Series = ("memory_used_bytes",)
NOW = machines.NOW


def streamed(*values: object, whole: str = "", **changes: object) -> StreamDevice:
    """A device whose tick has these values for power, both temperatures and memory in use."""
    columns = Columns((POWER, GPU, MEMORY, USED), ((("fan_speed_ratio",), "u"),))
    device = StreamDevice(machines.device(0), columns)
    tick = RawDevice(
        slot=0,
        state="ok",
        state_since=NOW - 60,
        health="degraded",
        sample_time=NOW - 1,
        values=msgspec.Raw(msgspec.msgpack.encode(values)),
        device_absence=whole,
    )
    device.update(msgspec.structs.replace(tick, **changes))
    return device


def test_a_device_without_a_tick_is_not_known() -> None:
    device = StreamDevice(machines.device(0), Columns((POWER,), ()))
    assert (device.state, device.health) == (DeviceState.UNRESPONSIVE, Health.UNKNOWN)
    assert (device.state_since, device.sample_time, device.usage) == (0.0, None, UNUSED)
    assert device.number(POWER) is None
    assert device.reading() == Reading(
        device_id=machines.device(0).id, values={}, absent={POWER: Absence.ERROR}
    )


def test_a_tick_says_how_a_device_stands() -> None:
    device = streamed(1.5, 60, "u", 7)
    assert (device.state, device.health) == ("ok", "degraded")
    assert (device.state_since, device.sample_time) == (NOW - 60, NOW - 1)


@pytest.mark.parametrize("time", [-1.0, math.nan, math.inf, 253_402_300_800.0])
def test_words_and_times_that_cannot_be_are_not_repeated(time: float) -> None:
    device = streamed(
        1.5, 60, 70, 7, state="dancing", health="blue", state_since=time, sample_time=time
    )
    assert (device.state, device.health) == (DeviceState.DEGRADED, Health.UNKNOWN)
    assert (device.state_since, device.sample_time) == (0.0, None)
    assert streamed(1.5, 60, 70, 7, sample_time=None).sample_time is None


def assert_numbers(device: FleetDevice) -> None:
    """A device of 1.5 W and 60 degrees, whose memory is not known."""
    assert device.number(POWER) == 1.5
    assert device.number(GPU) == 60
    assert device.number(MEMORY) is None
    assert device.number(("no such quantity",)) is None
    assert device.numbers([MEMORY, GPU, ("no such quantity",), POWER]) == [None, 60, None, 1.5]
    assert device.numbers([]) == []
    assert device.keys(["power_watts", "temperature_celsius", "memory_used_bytes"]) == {
        "power_watts",
        "temperature_celsius",
    }
    assert device.keys(["temperature_celsius"]) == {"temperature_celsius"}
    assert device.keys(["memory_used_bytes", "no such quantity"]) == set()
    assert device.keys([]) == set()


def test_values_are_given_by_series_and_by_quantity() -> None:
    assert_numbers(streamed(1.5, 60, "u", "e"))
    values: dict[Series, Number] = {POWER: 1.5, GPU: 60}
    assert_numbers(ReadDevice(machines.view(0, reading=Reading(device_id="x", values=values))))


def test_the_letters_of_a_tick_are_reasons() -> None:
    reading = streamed(1.5, "p", "u", "x").reading()
    assert reading.device_id == machines.device(0).id
    assert reading.values == {POWER: 1.5}
    assert reading.absent == {
        ("fan_speed_ratio",): Absence.UNSUPPORTED,
        GPU: Absence.PERMISSION,
        MEMORY: Absence.UNSUPPORTED,
        USED: Absence.ERROR,
    }


@pytest.mark.parametrize(("letter", "reason"), [("l", Absence.LOST), ("x", Absence.ERROR)])
def test_a_device_that_is_absent_as_a_whole_has_one_reason(letter: str, reason: Absence) -> None:
    reading = streamed(1.5, 60, 70, 7, whole=letter).reading()
    assert reading == Reading(device_id=machines.device(0).id, absent={("*",): reason})


LOW, HIGH = bounds("power_watts")
EMPTY_REGISTER = next(one for one in sorted(SENTINELS) if 0 <= one <= bounds(USED[0])[1])


@pytest.mark.parametrize(
    ("series", "number"),
    [(POWER, LOW - 1), (POWER, HIGH * 2), (POWER, math.nan), (USED, EMPTY_REGISTER)],
)
def test_a_number_that_cannot_be_is_an_error(series: Series, number: Number) -> None:
    reported: dict[Series, Number] = {POWER: 1.5, GPU: 60, MEMORY: 70, USED: 7, series: number}
    absent: dict[Series, Absence] = {("serial",): Absence.PERMISSION}
    view = machines.view(0, reading=Reading(device_id="x", values=reported, absent=absent))
    for device in (streamed(*reported.values()), ReadDevice(view)):
        assert device.number(series) is None
        assert device.numbers([series, GPU]) == [None, 60]
        assert device.keys([series[0], "temperature_celsius"]) == {"temperature_celsius"}
        reading = device.reading()
        assert reading.values == {key: value for key, value in reported.items() if key != series}
        assert reading.absent[series] is Absence.ERROR
        assert len(reading.absent) == 2
    assert ReadDevice(view).reading().absent[("serial",)] is Absence.PERMISSION
    assert ReadDevice(view).reading().device_id == "x"


@pytest.mark.parametrize("number", [LOW, HIGH])
def test_a_number_at_a_bound_can_be(number: float) -> None:
    assert streamed(number, 60, 70, 7).number(POWER) == number
    view = machines.view(0, reading=Reading(device_id="x", values={POWER: number}))
    assert ReadDevice(view).number(POWER) == number
    assert ReadDevice(view).reading() is view.reading


def test_a_device_that_was_read_whole_stands_as_its_view() -> None:
    view = machines.lost_view(3)
    device = ReadDevice(view)
    assert (device.device, device.state, device.health) == (view.device, "lost", "failed")
    assert (device.state_since, device.sample_time) == (NOW - 600, NOW - 600)
    assert device.usage.health_reasons == view.health_reasons
    assert device.usage is device.usage


ODD: tuple[Series, ...] = (
    ("power_watts", "x"),
    ("temperature_celsius",),
    ("temperature_celsius", "gpu", "more"),
    ("no_such_quantity", "x"),
)


@pytest.mark.parametrize("values", [(300, 50, 40, 1, 200), ("t", "t", "t", "t", 200)])
def test_series_of_another_catalogue_have_no_value_and_spoil_no_document(
    values: tuple[object, ...],
) -> None:
    columns = Columns((*ODD, POWER), [(series, "u") for series in ODD])
    device = StreamDevice(machines.device(0), columns)
    device.update(RawDevice(0, "ok", 0.0, "ok", 0.0, msgspec.Raw(msgspec.msgpack.encode(values))))
    reading = device.reading()
    assert reading.values == {POWER: 200}
    assert {series for series in reading.absent if len(series) > 1} == set()
    assert [device.number(series) for series in ODD] == [None] * len(ODD)
    view = msgspec.structs.replace(machines.view(0), reading=reading)
    (document,) = to_document(machines.snapshot(view))["devices"]
    assert document["power_watts"] == 200
