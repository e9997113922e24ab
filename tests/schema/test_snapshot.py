"""Reasons that a backend did not give itself are put in where a document is written."""

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.snapshot import DeviceView, absences, filled, is_awaited, with_absences
from support.machines import composed as machines

OWN, OTHER = ("fan_speed_ratio",), ("voltage_volts",)


def view(index: int = 0) -> DeviceView:
    """A view of which one reason is its reading's and one is not."""
    whole = machines.view(index)
    reading = msgspec.structs.replace(whole.reading, absent={OWN: Absence.ERROR})
    return msgspec.structs.replace(
        whole, reading=reading, unreported={OTHER: Absence.NOT_COLLECTED}
    )


def test_a_whole_reading_has_all_reasons() -> None:
    seen, before = filled(view()), view()
    assert seen.reading.absent == {OWN: Absence.ERROR, OTHER: Absence.NOT_COLLECTED}
    assert seen.reading.absent == absences(before)
    assert seen.unreported == {}
    assert seen.reading.values == before.reading.values
    assert seen.device == before.device


def test_a_view_that_is_whole_stays_as_it_is() -> None:
    seen = filled(view())
    assert filled(seen) is seen
    assert absences(seen) is seen.reading.absent


def test_a_snapshot_has_all_reasons_of_devices_and_host() -> None:
    before = msgspec.structs.replace(machines.snapshot(view(0), view(1)), node=view(2))
    seen = with_absences(before)
    assert seen.devices == (filled(view(0)), filled(view(1)))
    assert seen.node == filled(view(2))
    assert (seen.time, seen.host, seen.backends) == (before.time, before.host, before.backends)


def test_a_snapshot_without_a_host_stays_without() -> None:
    before = msgspec.structs.replace(machines.snapshot(view(0)), node=None)
    assert with_absences(before).node is None


@pytest.mark.parametrize(
    ("why", "state", "awaited"),
    [
        (Absence.NOT_COLLECTED, DeviceState.UNRESPONSIVE, True),
        (Absence.NOT_COLLECTED, DeviceState.OK, False),
        (Absence.ERROR, DeviceState.UNRESPONSIVE, False),
        (None, DeviceState.UNRESPONSIVE, False),
    ],
)
def test_a_device_is_awaited_until_its_first_reading(
    why: Absence | None, state: DeviceState, awaited: bool
) -> None:
    read = machines.view(0)
    absent = {} if why is None else {("*",): why}
    reading = msgspec.structs.replace(read.reading, absent=absent)
    assert is_awaited(msgspec.structs.replace(read, reading=reading, state=state)) is awaited
