"""Changes of state with their ends, events, and their order; of one machine and of a fleet."""

import msgspec
import pytest

from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.wire import FleetEvent
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.snapshot import Snapshot
from accelwatch.schema.status.verdict import CHECK_COLLECTION, REMEDIES
from accelwatch.tui.drawing.glyphs import UNICODE
from accelwatch.tui.drawing.lines import plain, width_of
from accelwatch.tui.events.changes import Change, Changes
from accelwatch.tui.events.event_lines import event_line
from accelwatch.tui.events.fleet_changes import FleetChanges
from accelwatch.tui.views.change_list import change_line, span_text, widths_of
from support.dashboards.fleets import fleet_view
from support.dashboards.local import hung, lost, node, stale, unread
from support.machines import composed as machines

NOW = machines.NOW


def at(second: float, shot: Snapshot, since: float | None = None) -> Snapshot:
    """The snapshot at a time; what is not well is so since `since`."""
    views = tuple(
        msgspec.structs.replace(one, state_since=NOW + (second if since is None else since))
        for one in shot.devices
    )
    return msgspec.structs.replace(shot, time=NOW + second, devices=views, events=(), errors=())


def shown(changes: list[Change]) -> list[tuple[str, str, float, float | None]]:
    return [
        (
            one.name,
            one.label,
            one.started_at - NOW,
            None if one.resolved_at is None else one.resolved_at - NOW,
        )
        for one in changes
    ]


def test_a_lost_device_that_comes_back_is_one_change() -> None:
    changes = Changes()
    changes.record(at(0, node(4)))
    assert changes.rows() == []
    changes.record(at(10, node(4, d3=lost(3))))
    changes.record(at(20, node(4, d3=lost(3)), since=10))
    assert shown(changes.rows()) == [("nvidia3", "lost", 10, None)]
    changes.record(at(163, node(4)))
    assert shown(changes.rows()) == [("nvidia3", "lost", 10, 163)]


def test_what_was_so_at_the_start_is_shown_with_since_when_it_is() -> None:
    changes = Changes()
    changes.record(at(0, node(4, d1=lost(1)), since=-500))
    assert shown(changes.rows()) == [("nvidia1", "lost", -500, None)]


def test_another_state_ends_the_one_before() -> None:
    changes = Changes()
    changes.record(at(0, node(2, d1=stale(1))))
    changes.record(at(5, node(2, d1=hung(1))))
    changes.record(at(9, node(2, d1=lost(1))))
    assert shown(changes.rows()) == [
        ("nvidia1", "lost", 9, None),
        ("nvidia1", "hung", 5, 9),
        ("nvidia1", "stale", 0, 5),
    ]


def test_a_device_that_is_not_listed_any_more_has_no_state() -> None:
    changes = Changes()
    changes.record(at(0, node(2, d1=lost(1))))
    changes.record(at(7, node(1)))
    assert shown(changes.rows()) == [("nvidia1", "lost", 0, 7)]


def test_a_device_that_was_not_read_yet_has_no_state() -> None:
    changes = Changes()
    changes.record(at(0, node(2, d0=unread(0), d1=unread(1))))
    assert changes.rows() == []
    changes.record(at(1, node(2, d1=hung(1)), since=0))
    assert shown(changes.rows()) == [("nvidia1", "hung", 0, None)]
    assert changes.rows()[0].text == "the device does not answer"


def test_a_device_that_is_left_alone_is_shown() -> None:
    changes = Changes()
    changes.record(at(0, node(1, d0=unread(0, DeviceState.EXCLUDED))))
    assert shown(changes.rows()) == [("nvidia0", "excluded", 0, None)]


def test_what_is_shown_of_a_state_is_renewed_while_it_goes_on() -> None:
    changes = Changes()
    changes.record(at(0, node(2, d1=hung(1))))
    rows = changes.rows()
    changes.record(at(1, node(2, d1=hung(1)), since=0))
    assert changes.rows() is rows, "nothing is another"
    out = msgspec.structs.replace(hung(1), health_reasons=("driver call stuck",))
    changes.record(at(2, node(2, d1=out), since=0))
    (one,) = changes.rows()
    assert (one.text, one.started_at, one.key) == (
        "driver call stuck",
        NOW,
        rows[0].key,
    )


def test_what_goes_on_stands_first_the_worst_of_it_at_the_top() -> None:
    changes = Changes()
    degraded = msgspec.structs.replace(node(4).devices[2], state=DeviceState.DEGRADED)
    changes.record(at(0, node(4, d0=lost(0))))
    changes.record(at(1, node(4)))
    changes.record(at(2, node(4, d1=lost(1))))
    changes.record(at(3, node(4, d1=lost(1), d2=degraded)))
    assert [(one.name, one.is_ongoing) for one in changes.rows()] == [
        ("nvidia1", True),
        ("nvidia2", True),
        ("nvidia0", False),
    ]


def event(time: float, code: str = "xid_79") -> ErrorEvent:
    return ErrorEvent(
        code=code,
        category=Category.BUS,
        time=NOW + time,
        text="fell off",
        source="kernel_log",
        device_id=node(4).devices[1].device.id,
    )


def test_an_event_is_one_change_however_often_it_is_reported() -> None:
    changes = Changes()
    for second in range(3):
        shot = msgspec.structs.replace(at(second, node(4)), events=(event(-5),))
        changes.record(shot)
    (one,) = changes.rows()
    assert (one.name, one.label, one.event, one.severity) == ("nvidia1", "xid_79", True, "critical")
    changes.clear()
    assert changes.rows() == []


def test_no_more_is_remembered_than_can_be_looked_at() -> None:
    changes = Changes()
    for second in range(1100):
        changes.record(msgspec.structs.replace(at(second, node(1)), events=(event(second),)))
    assert len(changes.rows()) == 1000
    assert changes.rows()[0].started_at == NOW + 1099


def reported(
    sequence: int, code: str, time: float, *, device: str = "g3", node: str = "n7"
) -> FleetEvent:
    return FleetEvent(
        sequence=sequence,
        node=node,
        device=device,
        name=f"nvidia-{device}" if device else "",
        code=code,
        category="bus",
        severity="info" if code.endswith("recovered") else "critical",
        time=NOW + time,
        text=code,
        source="hub",
        subject="",
        trusted=True,
    )


def test_what_a_hub_reports_of_a_state_and_of_its_end_is_one_change() -> None:
    events = (
        reported(1, "device_lost", 0),
        reported(2, "device_lost", 5, node="n8"),
        reported(3, "xid_79", 6),
        reported(4, "device_recovered", 153),
        reported(5, "node_down", 200, device=""),
    )
    rows = FleetChanges().rows(fleet_view(events=events))
    assert [(one.node, one.label, one.is_ongoing, one.event) for one in rows] == [
        ("n7", "down", True, False),
        ("n8", "lost", True, False),
        ("n7", "xid_79", False, True),
        ("n7", "lost", False, False),
    ]
    assert rows[3].resolved_at == NOW + 153


def test_a_fleets_device_that_is_worse_ends_what_was_before() -> None:
    events = (reported(1, "device_unresponsive", 0), reported(2, "device_lost", 60))
    assert [
        (one.label, one.resolved_at) for one in FleetChanges().rows(fleet_view(events=events))
    ] == [
        ("lost", None),
        ("hung", NOW + 60),
    ]


def test_an_end_whose_start_nobody_reported_stands_alone() -> None:
    (one,) = FleetChanges().rows(fleet_view(events=(reported(1, "device_recovered", 5),)))
    assert (one.label, one.event) == ("back", True)


def test_the_same_events_are_worked_out_once() -> None:
    known, view = FleetChanges(), fleet_view(events=(reported(1, "device_lost", 0),))
    assert known.rows(view) is known.rows(view)


def test_before_the_first_tick_a_fleet_has_no_changes() -> None:
    assert FleetChanges().rows(None) == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(42, "42 s"), (153, "2 min 33 s"), (11100, "3 h 05 min"), (187200, "2 d 4 h")],
)
def test_how_long_is_shown_to_the_second_and_the_minute(seconds: float, text: str) -> None:
    assert span_text(seconds) == text


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_line_shows_when_where_what_and_until_when(width: int) -> None:
    changes = Changes()
    changes.record(at(0, node(4, d3=lost(3))))
    changes.record(at(153, node(4)))
    line = change_line(changes.rows()[0], width, NOW + 400, UNICODE)
    assert width_of(line) == width
    text = plain(line)
    assert "nvidia3" in text
    assert "lost" in text
    assert ("2 min 33 s" in text) is (width >= 80)


@pytest.mark.parametrize("width", [80, 100, 120])
def test_the_words_on_a_lost_device_are_whole_from_eighty_columns_on(width: int) -> None:
    changes = Changes()
    changes.record(at(0, node(4, d3=lost(3))))
    (one,) = changes.rows()
    one = msgspec.structs.replace(one, text="GPU has fallen off the bus.")
    text = plain(change_line(one, width, NOW + 136, UNICODE))
    assert "for 2 min 16 s" in text
    assert "GPU has fallen off the bus." in text


@pytest.mark.parametrize("width", [60, 80, 100, 160])
@pytest.mark.parametrize(
    ("code", "word"),
    [("device_unresponsive", "hung"), ("collector_crashed_twice", "collector_crashed_twice")],
)
def test_what_an_event_is_stands_whole_and_as_on_the_events_screen(
    width: int, code: str, word: str
) -> None:
    text = plain(event_line(reported(1, code, 5), width, NOW + 9, UNICODE))
    assert len(text) == width
    assert f" {word} " in f"{text} "


@pytest.mark.parametrize("width", [120, 200])
def test_what_is_wrong_and_what_to_do_have_the_room_that_names_leave(width: int) -> None:
    changes = Changes()
    changes.record(at(0, node(4, d1=hung(1), d3=lost(3))))
    rows = changes.rows()
    widths = widths_of(rows, width)
    shown = {one.name: plain(change_line(one, width, NOW + 136, UNICODE, widths)) for one in rows}
    assert shown["nvidia3"].rstrip().endswith("→ drain the node and reboot it")
    assert shown["nvidia1"].rstrip().endswith("→ kill its jobs; reset if still hung")
    columns = {shown["nvidia3"].index("lost"), shown["nvidia1"].index("hung")}
    assert columns == {len(" ✕ ") + 10 + len("nvidia3 ")}


def test_what_is_over_asks_for_nothing() -> None:
    changes = Changes()
    changes.record(at(0, node(4, d3=lost(3))))
    changes.record(at(9, node(4)))
    (one,) = changes.rows()
    assert "→" not in plain(change_line(one, 160, NOW + 136, UNICODE))


def test_what_to_do_about_a_state_is_shown_for_a_fleet_too() -> None:
    view = msgspec.structs.replace(fleet_view(2, 2), events=[reported(1, "device_lost", 5)])
    (one, *_) = FleetChanges().rows(view)
    assert (one.label, one.remedy) == ("lost", "drain the node and reboot it")


def hung_in_fleet(health: str, *events: FleetEvent) -> FleetView:
    """A fleet of two nodes whose first device does not answer, with a health."""
    view = fleet_view(2, 2, faults={"n001/0": "unresponsive"}, events=events)
    first, *others = view.devices
    return msgspec.structs.replace(
        view, devices=[msgspec.structs.replace(first, health=health), *others]
    )


HUNG = reported(1, "device_unresponsive", 5, device="nvidia:GPU-000000", node="n001")


@pytest.mark.parametrize("events", [(), (HUNG,)], ids=["before the hub began", "by an event"])
@pytest.mark.parametrize(
    ("health", "remedy"),
    [("failed", REMEDIES["unresponsive"]), ("unknown", CHECK_COLLECTION)],
)
def test_jobs_are_killed_only_where_the_device_is_at_fault(
    health: str, remedy: str, events: tuple[FleetEvent, ...]
) -> None:
    (row,) = FleetChanges().rows(hung_in_fleet(health, *events))
    assert (row.label, row.is_ongoing, row.remedy) == ("hung", True, remedy)


def test_the_remedy_follows_the_health_while_the_events_stay_the_same() -> None:
    known, view = FleetChanges(), hung_in_fleet("unknown", HUNG)
    assert known.rows(view)[0].remedy == CHECK_COLLECTION
    failed = msgspec.structs.replace(hung_in_fleet("failed"), events=view.events)
    assert known.rows(failed)[0].remedy == REMEDIES["unresponsive"]


def test_of_a_hung_device_that_is_not_in_view_nobody_kills_jobs() -> None:
    view = msgspec.structs.replace(hung_in_fleet("failed", HUNG), devices=())
    (row,) = FleetChanges().rows(view)
    assert (row.label, row.remedy) == ("hung", "")


@pytest.mark.parametrize("remedy", [CHECK_COLLECTION, REMEDIES["unresponsive"]])
def test_what_to_do_about_a_hung_device_fits_eighty_columns(remedy: str) -> None:
    assert len(remedy) <= 35
