"""An archive keeps the state of a device that cannot be read, and why."""

import pytest

from accelwatch.archive.history.names import column_of, series_of
from accelwatch.fleet.archive.observed import observed
from accelwatch.fleet.replay.reading.status import unread_state
from accelwatch.schema.device import DeviceState
from support.machines import composed as machines


def test_the_state_of_a_device_that_is_gone_is_a_column() -> None:
    state = observed(machines.snapshot(machines.view(0), machines.lost_view(1)))
    well, lost = (values for _, values in state.devices)
    series = "device_unreadable_info", "lost", "lost"
    assert lost[series] == 1
    assert lost["device_up",] == 0
    assert not [one for one in well if one[0] == "device_unreadable_info"]
    assert series_of(column_of(series)) == series


@pytest.mark.parametrize(
    ("values", "is_lost", "state"),
    [
        ({("device_up",): 1}, False, None),
        ({("device_up",): 1}, True, None),
        ({("device_up",): 0}, False, DeviceState.DEGRADED),
        ({("device_up",): 0}, True, DeviceState.LOST),
        (
            {("device_up",): 0, ("device_unreadable_info", "unresponsive", "timeout"): 1},
            True,
            DeviceState.UNRESPONSIVE,
        ),
        (
            {("device_up",): 0, ("device_unreadable_info", "lost", "lost"): 1},
            False,
            DeviceState.LOST,
        ),
        (
            {("device_up",): 0, ("device_unreadable_info", "new", ""): 1},
            False,
            DeviceState.DEGRADED,
        ),
    ],
)
def test_a_time_of_an_archive_shows_it_lost_only_where_something_says_so(
    values: dict[tuple[str, ...], float], is_lost: bool, state: DeviceState | None
) -> None:
    assert unread_state(values, is_lost=is_lost) is state
