"""What is not well in a fleet and no event tells of: since when, how bad, and what is left out."""

import msgspec
import pytest

from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.wire import FleetEvent, IncidentNow, NodeNow
from accelwatch.schema.timestamps import timestamp
from accelwatch.tui.drawing.glyphs import UNICODE
from accelwatch.tui.drawing.lines import plain, width_of
from accelwatch.tui.events.fleet_changes import FleetChanges
from accelwatch.tui.views.change_list import change_line
from support.dashboards.fleets import Faults, event, fleet_view
from support.incidents.incident_documents import low_power
from support.machines.composed import NOW


def silent(view: FleetView, age_s: float) -> FleetView:
    """The same with the time since those that do not answer did."""
    devices = [
        msgspec.structs.replace(one, sample_age_s=age_s) if one.sample_age_s is None else one
        for one in view.devices
    ]
    return msgspec.structs.replace(view, devices=devices)


def shown(faults: Faults, *events: FleetEvent) -> list[tuple[str, str, str, str]]:
    rows = FleetChanges().rows(fleet_view(4, faults=faults, events=events))
    return [(one.node, one.name, one.label, one.severity) for one in rows if one.is_ongoing]


@pytest.mark.parametrize(
    ("state", "word", "level"),
    [
        ("lost", "lost", "critical"),
        ("unresponsive", "hung", "critical"),
        ("missing", "missing", "critical"),
        ("stale", "stale", "warning"),
        ("unreachable", "unreachable", "warning"),
        ("worn", "worn", "warning"),
        ("degraded", "degraded", "warning"),
    ],
)
def test_a_device_that_was_not_well_before_its_hub_started_goes_on(
    state: str, word: str, level: str
) -> None:
    assert shown({"n002/3": state}) == [("n002", "nvidia3", word, level)]


def test_a_device_that_answers_and_has_failed_goes_on() -> None:
    assert shown({"n002/3!": "failed"}) == [("n002", "nvidia3", "failed", "critical")]


@pytest.mark.parametrize("faults", [{}, {"n002/3!": "unknown"}, {"n002/3": "suspended"}])
def test_what_is_well_or_left_alone_is_not_shown(faults: Faults) -> None:
    assert shown(faults) == []


def test_a_node_that_is_silent_says_it_for_its_devices() -> None:
    assert shown({"n001": "down", "n002": "stale", "n003": "never", "n004": "slow"}) == [
        ("n001", "", "down", "critical"),
        ("n002", "", "stale", "warning"),
    ]


def test_what_an_event_reports_is_not_shown_twice() -> None:
    known = event(1, code="device_lost", node="n002", device="nvidia:GPU-000011", name="nvidia3")
    assert shown({"n002/3": "lost"}, known) == [("n002", "nvidia3", "lost", "warning")]
    assert len(shown({"n002/3": "lost", "n002/4": "lost"}, known)) == 2
    down = event(1, code="node_down", node="n001", device="", name="")
    assert shown({"n001": "down"}, down) == [("n001", "", "down", "warning")]


def test_what_does_not_answer_is_so_since_it_answered_last() -> None:
    known = FleetChanges()
    view = silent(fleet_view(2, faults={"n002/3": "lost", "n001": "down"}), 90.0)
    lost, down = sorted(known.rows(view), key=lambda one: one.label, reverse=True)
    assert (lost.started_at, lost.dated) == (NOW - 90, True)
    assert (down.started_at, down.dated) == (NOW - 340, True)
    later = msgspec.structs.replace(
        silent(fleet_view(2, faults={"n002/3": "lost"}), 94.9), time=NOW + 5
    )
    (again,) = known.rows(later)
    assert (again.started_at, again.key) == (lost.started_at, lost.key), (
        "the second does not flicker"
    )


def test_another_time_of_silence_is_another_start() -> None:
    known = FleetChanges()
    faults = {"n002/3": "lost"}
    known.rows(silent(fleet_view(2, faults=faults), 90.0))
    (one,) = known.rows(silent(fleet_view(2, faults=faults), 10.0))
    assert one.started_at == NOW - 10


@pytest.mark.parametrize("width", [80, 120])
def test_where_nobody_reports_since_when_no_time_is_made_up(width: int) -> None:
    rows = FleetChanges().rows(
        silent(fleet_view(2, faults={"n001/1!": "failed", "n002/3": "lost"}), 90.0)
    )
    assert [one.label for one in rows] == ["lost", "failed"], "what nobody knows comes last"
    line = change_line(rows[1], width, NOW, UNICODE)
    assert width_of(line) == width
    words = plain(line).split()
    assert words[1:5] == ["-", "n001", "nvidia1", "failed"]
    assert "ongoing" in plain(line)
    assert " for " not in plain(line)


def test_a_device_whose_last_answer_nobody_knows_has_no_time() -> None:
    (one,) = FleetChanges().rows(fleet_view(2, faults={"n002/3": "lost"}))
    assert not one.dated
    assert one.text == "start time unknown"


def test_slots_that_are_nobodys_and_nodes_that_are_not_listed_are_left_out() -> None:
    view = fleet_view(2, faults={"n001/0": "lost"})
    nobody = msgspec.structs.replace(view, slots=[None, *view.slots[1:]])
    assert FleetChanges().rows(nobody) == []
    unlisted = msgspec.structs.replace(view, nodes=[NodeNow("n002", "up", 0.4, 0)])
    assert FleetChanges().rows(unlisted) == []


@pytest.mark.parametrize(
    ("changes", "dated"),
    [
        ({}, True),
        ({"severity": "warning"}, False),
        ({"severity": "info"}, False),
        ({"severity": "of a newer hub"}, False),
        ({"severity": "warning", "family": "device.health"}, True),
        ({"state": "closed"}, False),
        ({"group": "rack=r1"}, False),
        ({"device": "nvidia:GPU-another"}, False),
        ({"node": "n003"}, False),
        ({"since": ""}, False),
    ],
)
def test_an_open_incident_says_since_when(changes: dict[str, str], dated: bool) -> None:
    view = fleet_view(4, faults={"n002/3!": "failed"})
    (before,) = FleetChanges().rows(view)
    assert not before.dated
    known = low_power()
    subject = {"node": before.node, "device": before.device_id, "severity": "critical"}
    incidents = [
        IncidentNow(
            incident=msgspec.structs.replace(known.incident, **{**subject, **extra, **changes}),
            nodes_total=1,
            members_total=0,
        )
        for extra in ({}, {"since": timestamp(NOW - 60)})
    ]
    (now,) = FleetChanges().rows(msgspec.structs.replace(view, incidents=incidents))
    assert now.dated is dated
    assert now.started_at == (NOW - 420 if dated else before.started_at)
    assert ("start time unknown" in now.text) is not dated


def since_of(health: str, *incidents: dict[str, str]) -> float | None:
    """Seconds since when a device has a health, as its row says; None where that is not known."""
    view = fleet_view(4, faults={"n002/3!": health})
    (before,) = FleetChanges().rows(view)
    subject = {"node": before.node, "device": before.device_id}
    known = [
        IncidentNow(
            incident=msgspec.structs.replace(low_power().incident, **{**subject, **one}),
            nodes_total=1,
            members_total=0,
        )
        for one in incidents
    ]
    (row,) = FleetChanges().rows(msgspec.structs.replace(view, incidents=known))
    return NOW - row.started_at if row.dated else None


STRAGGLER = {"severity": "warning", "since": timestamp(NOW - 10800)}
OF_HEALTH = {"family": "device.health", "severity": "critical", "since": timestamp(NOW - 120)}
HOT = {"family": "nvidia.heat", "severity": "critical", "since": timestamp(NOW - 7200)}


@pytest.mark.parametrize(
    ("health", "incidents", "seconds"),
    [
        ("failed", [STRAGGLER, OF_HEALTH], 120),
        ("degraded", [STRAGGLER, OF_HEALTH], 120),
        ("failed", [OF_HEALTH, HOT], 120),
        ("failed", [HOT, OF_HEALTH], 120),
        ("failed", [STRAGGLER, HOT], 7200),
        ("degraded", [STRAGGLER], 10800),
        ("degraded", [{**STRAGGLER, "severity": "info"}], None),
    ],
)
def test_an_older_incident_of_another_kind_does_not_make_a_state_older(
    health: str, incidents: list[dict[str, str]], seconds: float | None
) -> None:
    assert since_of(health, *incidents) == seconds
