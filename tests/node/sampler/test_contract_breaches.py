"""What a backend may return, and the words for what it may not."""

import math
from typing import Any

import msgspec
import pytest

from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DevicePermission, ReadError
from accelwatch.node.sampler.turns.contract import (
    MAX_DEVICES,
    MAX_EVENTS,
    ContractError,
    failure_of,
    sound_devices,
    sound_events,
    sound_identity,
    sound_readings,
)
from accelwatch.node.store.reports import Failure
from accelwatch.schema.device import Device
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.reading import MAX_PROCESSES, Process, Reading

DEVICE = Device(id="v:1", vendor="v", backend="b", index=0, name="v0")
PART = msgspec.structs.replace(DEVICE, id="v:1/p", parent_id="v:1")


def numbered(number: int, **more: Any) -> Device:
    return msgspec.structs.replace(DEVICE, id=f"v:{number}", **more)


def reading(**more: Any) -> Reading:
    return msgspec.structs.replace(Reading(device_id="v:1"), **more)


def sound(given: Reading, *groups: str) -> Reading:
    (found,) = sound_readings((given,), (DEVICE,), frozenset(groups))
    return found


def breach(call: Any, *arguments: Any) -> str:
    with pytest.raises(ContractError) as caught:
        call(*arguments)
    return str(caught.value)


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (DeviceLost("gone"), Failure(absence=Absence.LOST, code="DeviceLost", message="gone")),
        (
            DevicePermission("no", code="EPERM"),
            Failure(absence=Absence.PERMISSION, code="EPERM", message="no"),
        ),
        (
            ReadError("code 999", code="NVML_999"),
            Failure(absence=Absence.ERROR, code="NVML_999", message="code 999"),
        ),
        (
            BackendUnavailable("unloaded", reason="driver_gone"),
            Failure(absence=Absence.ERROR, code="driver_gone", message="unloaded"),
        ),
        (
            ContractError("nothing"),
            Failure(absence=Absence.ERROR, code="contract", message="nothing"),
        ),
        (
            KeyError("k"),
            Failure(absence=Absence.ERROR, code="KeyError", message="KeyError('k')"),
        ),
    ],
)
def test_what_an_error_of_a_backend_means(error: Exception, failure: Failure) -> None:
    assert failure_of(error) == failure


def test_a_long_error_is_cut() -> None:
    assert failure_of(ValueError("x" * 1000)).message == f"ValueError('{'x' * 488}"


@pytest.mark.parametrize("take", [sound_devices, sound_identity])
def test_devices_are_a_sequence_of_devices(take: Any) -> None:
    assert breach(take, None) == ("a sequence of devices was expected, not NoneType None")
    assert breach(take, [DEVICE, 7]).startswith(
        "a sequence of devices was expected, not list [Device(id='v:1'"
    )
    assert breach(take, "x" * 99) == (f"a sequence of devices was expected, not str '{'x' * 59}")


def test_how_many_devices_there_may_be() -> None:
    most = [numbered(n) for n in range(MAX_DEVICES)]
    assert len(sound_devices(most)) == MAX_DEVICES == 1024
    assert breach(sound_devices, [*most, DEVICE]) == "1025 devices are more than 1024"


def test_devices_under_one_id_go_by_address_or_name() -> None:
    one, other, third = (
        numbered(1, pci_bus_id="0000:01:00.0"),
        numbered(1, name="v1"),
        numbered(2, pci_bus_id="0000:02:00.0"),
    )
    assert [found.id for found in sound_devices([one, other, third])] == [
        "v:0000:01:00.0",
        "v:v1",
        "v:2",
    ]
    assert breach(sound_devices, [DEVICE, DEVICE]) == "two devices have the same id"


def test_an_identity_is_one_device_and_its_partitions() -> None:
    assert sound_identity([DEVICE, PART]) == (DEVICE, PART)
    assert breach(sound_identity, []) == "a device was identified as nothing"
    assert breach(sound_identity, [DEVICE, DEVICE]) == "two devices have the same id"


def test_what_cannot_be_sent_is_refused() -> None:
    wrong: Any = "first"
    assert breach(sound_devices, [numbered(1, index=wrong)]).startswith(
        "the data cannot be sent: Expected `int`"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "a sequence of readings was expected, not NoneType None"),
        ([7], "a sequence of readings was expected, not list [7]"),
        ([reading(), reading(device_id="x")], "readings of unknown devices: ['x']"),
        (
            [reading(device_id=name) for name in "dcba"],
            "readings of unknown devices: ['a', 'b', 'c']",
        ),
        ([], "no reading of v:1"),
        ([reading(device_id="v:1/p")], "no reading of v:1"),
    ],
)
def test_readings_are_those_of_the_devices(given: object, message: str) -> None:
    assert breach(sound_readings, given, (DEVICE, PART), frozenset()) == message


def test_a_device_may_be_read_without_its_partitions() -> None:
    assert sound_readings([reading()], (DEVICE, PART), frozenset()) == (reading(),)


@pytest.mark.parametrize(
    "value", [-1, 1e9, 2**32 - 1, math.nan, math.inf, True, None, "5", 10**400]
)
def test_a_number_that_cannot_be_true_becomes_an_error(value: Any) -> None:
    found = sound(reading(values={("power_watts",): value, ("utilization_ratio",): 0.5}))
    assert found.values == {("utilization_ratio",): 0.5}
    assert found.absent == {("power_watts",): Absence.ERROR}
    ((series, text),) = found.implausible.items()
    assert series == ("power_watts",)
    assert "0 to 50000 watts can be true" in text


def test_other_reasons_stay_beside_those_of_refused_numbers() -> None:
    absent = {("fan_speed_ratio",): Absence.PERMISSION}
    found = sound(reading(values={("power_watts",): -1}, absent=absent, notes=("n",)))
    assert found.absent == {**absent, ("power_watts",): Absence.ERROR}
    assert found.notes == ("n",)


@pytest.mark.parametrize("series", [(), "power_watts", ("power_watts", 7), (None,)])
def test_what_is_no_series_is_left_out_without_a_name(series: Any) -> None:
    found = sound(reading(values={series: 1, ("power_watts",): 1}))
    assert (found.values, found.absent, found.implausible) == ({("power_watts",): 1}, {}, {})


def test_a_part_is_held_against_its_whole() -> None:
    used, size = ("memory_used_bytes",), ("memory_size_bytes",)
    found = sound(reading(values={used: 102, size: 100}))
    assert (found.values, found.absent) == ({size: 100}, {used: Absence.ERROR})
    assert sound(reading(values={used: 101, size: 100})).values == {used: 101, size: 100}


def test_processes_beyond_the_most_are_cut_and_that_is_noted() -> None:
    many = tuple(
        Process(device_id="v:1", pid=n, gpu_memory_bytes=n) for n in range(MAX_PROCESSES + 2)
    )
    found = sound(reading(processes=many, notes=("first",)))
    assert found.processes == many[2:]
    assert found.notes == ("first", "processes are cut: 1024 of 1026, those with the most memory")
    whole = sound(reading(processes=many[2:]))
    assert (whole.processes, whole.notes) == (many[2:], ())


def test_processes_are_sound_beside_a_refused_number() -> None:
    bad = Process(device_id="v:1", pid=1, gpu_memory_bytes=-1)
    found = sound(reading(values={("power_watts",): -1}, processes=(bad,)))
    assert found.processes is not None
    assert found.processes[0].absent == {"gpu_memory_bytes": Absence.ERROR}


def test_processes_that_are_none_are_refused() -> None:
    wrong: Any = (7,)
    assert breach(sound, reading(processes=wrong)).startswith("the data cannot be sent")
    assert sound(reading(processes=())).processes == ()


def test_only_what_was_not_requested_is_left_out() -> None:
    given = reading(
        values={("voltage_volts", "core"): 0.9, ("power_watts",): 5.0},
        absent={
            ("voltage_volts", "soc"): Absence.NOT_COLLECTED,
            ("voltage_volts",): Absence.ERROR,
            ("fan_speed_ratio",): Absence.ERROR,
        },
    )
    found = sound(given)
    assert found.values == {("power_watts",): 5.0}
    assert found.absent == {
        ("voltage_volts", "soc"): Absence.NOT_COLLECTED,
        ("fan_speed_ratio",): Absence.ERROR,
    }
    assert sound(given, "components") == given
    only_absent = reading(absent={("voltage_volts",): Absence.ERROR})
    assert sound(only_absent).absent == {}


def test_the_newest_events_are_taken() -> None:
    def event(number: int) -> ErrorEvent:
        return ErrorEvent(code="c", category=Category.BUS, time=float(number), text="", source="s")

    many = [event(number) for number in range(MAX_EVENTS + 1)]
    assert sound_events(many) == tuple(many[1:])
    assert sound_events([]) == ()
    assert breach(sound_events, [7]) == "a sequence of events was expected, not list [7]"
    assert breach(sound_events, 7) == "a sequence of events was expected, not int 7"
