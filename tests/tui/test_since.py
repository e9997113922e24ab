"""How long a device has been in its state: said only where somebody saw that begin, on every screen."""

from collections.abc import Callable

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.reading import wholly_absent
from accelwatch.schema.snapshot import DeviceView, ReadFailure, Snapshot
from accelwatch.tui.drawing.glyphs import UNICODE
from accelwatch.tui.drawing.lines import plain
from accelwatch.tui.events.changes import Changes
from accelwatch.tui.local.devices import facts as device_facts
from accelwatch.tui.local.devices import rows as device_rows
from accelwatch.tui.views import doctor_lines
from accelwatch.tui.views.change_list import change_line
from accelwatch.tui.views.graphs import device_graphs as strip_graphs
from support.dashboards.local import board_of, lost, node, texts
from support.machines.composed import NOW

WIDTH = 120


def unreadable(state: DeviceState, why: Absence, *, was_read: bool) -> DeviceView:
    """A device without values for 37 seconds, which was read before or never."""
    one = lost(1)
    return msgspec.structs.replace(
        one,
        state=state,
        state_since=NOW - 37,
        reading=wholly_absent(one.device.id, why),
        sample_time=NOW - 38 if was_read else None,
        sample_age_s=38.0 if was_read else None,
        health=Health.FAILED,
    )


def of_row(shot: Snapshot) -> str:
    return plain(device_rows.row(shot.devices[1], shot, WIDTH, UNICODE))


def of_row_without_room(shot: Snapshot) -> str:
    return plain(device_rows.why_not(shot.devices[1], shot, 40, UNICODE))


def of_facts(shot: Snapshot) -> str:
    return texts(device_facts.state_lines(shot.devices[1], shot, WIDTH, UNICODE))


def of_graphs(shot: Snapshot) -> str:
    board = board_of()
    board.accept(shot)
    board.selected_id = shot.devices[1].device.id
    return texts(strip_graphs.strip(board, WIDTH, 6)[:1])


def of_doctor(shot: Snapshot) -> str:
    lines = texts(doctor_lines.lines(shot, WIDTH, UNICODE)).splitlines()
    return next(line for line in lines if "nvidia1 " in line)


def of_events(shot: Snapshot) -> str:
    changes = Changes()
    changes.record(msgspec.structs.replace(shot, events=()))
    (one,) = changes.rows()
    return plain(change_line(one, WIDTH, shot.time, UNICODE))


SCREENS = (of_row, of_row_without_room, of_facts, of_graphs, of_doctor, of_events)
KINDS = (
    (DeviceState.LOST, Absence.LOST),
    (DeviceState.UNRESPONSIVE, Absence.STALE),
    (DeviceState.UNRESPONSIVE, Absence.TIMEOUT),
    (DeviceState.DEGRADED, Absence.ERROR),
    (DeviceState.EXCLUDED, Absence.PERMISSION),
)


def shot_of(view: DeviceView, *failures: ReadFailure) -> Snapshot:
    return msgspec.structs.replace(node(3, d1=view), errors=failures)


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize(("state", "why"), KINDS)
def test_a_state_that_started_while_somebody_looked_has_a_duration(
    screen: Callable[[Snapshot], str], state: DeviceState, why: Absence
) -> None:
    assert "37 s" in screen(shot_of(unreadable(state, why, was_read=True)))


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize(("state", "why"), KINDS)
def test_a_device_that_was_never_read_has_no_duration(
    screen: Callable[[Snapshot], str], state: DeviceState, why: Absence
) -> None:
    text = screen(shot_of(unreadable(state, why, was_read=False)))
    assert "37 s" not in text
    assert " for" not in text
    assert "since" not in text
    assert "  ," not in text


@pytest.mark.parametrize("screen", SCREENS)
def test_a_single_reading_has_no_duration(screen: Callable[[Snapshot], str]) -> None:
    shot = shot_of(unreadable(DeviceState.LOST, Absence.LOST, was_read=True))
    assert "37 s" not in screen(msgspec.structs.replace(shot, interval_s=None))


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize(
    ("row", "why", "counted"),
    [(1, Absence.TIMEOUT, True), (1, Absence.ERROR, False), (2, Absence.TIMEOUT, False)],
)
def test_a_driver_call_that_has_not_returned_is_counted_from_the_call(
    screen: Callable[[Snapshot], str], row: int, why: Absence, *, counted: bool
) -> None:
    view = unreadable(DeviceState.UNRESPONSIVE, Absence.TIMEOUT, was_read=False)
    other = node(3).devices[row].device.id
    stuck = ReadFailure(backend="nvidia", device_id=other, absence=why, message="driver call stuck")
    assert ("37 s" in screen(shot_of(view, stuck))) is counted


def test_a_lost_device_is_not_dated_by_a_call_that_timed_out() -> None:
    view = unreadable(DeviceState.LOST, Absence.LOST, was_read=False)
    late = ReadFailure(backend="nvidia", device_id=view.device.id, absence=Absence.TIMEOUT)
    assert "37 s" not in of_facts(shot_of(view, late))


@pytest.mark.parametrize(("width", "shown"), [(120, "back 08:00:05"), (80, " - ")])
def test_the_end_of_a_state_without_a_start_is_dated(width: int, shown: str) -> None:
    changes = Changes()
    view = unreadable(DeviceState.LOST, Absence.LOST, was_read=False)
    changes.record(msgspec.structs.replace(shot_of(view), events=()))
    changes.record(msgspec.structs.replace(node(3), time=NOW + 5, events=()))
    (one,) = changes.rows()
    line = plain(change_line(one, width, NOW + 60, UNICODE))
    assert shown in line
    assert "ongoing" not in line
    assert " s " not in line


def answering(state: DeviceState, state_since: float) -> Snapshot:
    """One that answers, and is not well."""
    view = msgspec.structs.replace(
        node(3).devices[1], state=state, state_since=state_since, health=Health.DEGRADED
    )
    return node(3, d1=view)


@pytest.mark.parametrize("screen", [of_facts, of_events])
def test_a_device_that_answers_and_is_degraded_since_it_was_seen_has_a_duration(
    screen: Callable[[Snapshot], str],
) -> None:
    assert "37 s" in screen(answering(DeviceState.DEGRADED, NOW - 37))


@pytest.mark.parametrize("screen", [of_row, of_facts, of_graphs, of_doctor, of_events])
def test_a_device_that_was_degraded_at_the_first_look_has_no_duration(
    screen: Callable[[Snapshot], str],
) -> None:
    text = screen(answering(DeviceState.DEGRADED, 0.0))
    assert " for" not in text
    assert "since" not in text
    assert "1970" not in text


def test_health_has_no_duration_from_since_when_the_device_answers() -> None:
    assert "37 s" not in of_facts(answering(DeviceState.OK, NOW - 37))
