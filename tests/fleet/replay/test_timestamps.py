"""What the picture of a moment of an archive is."""

from collections import Counter
from pathlib import Path

import pytest

from accelwatch.base.absence import Absence
from accelwatch.base.errors import ExpressionError
from accelwatch.fleet.picture.model import POWER as POWER_FIELD
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.replay.archive import ReplayedArchive
from accelwatch.fleet.wire import DeviceNow, DeviceSlot
from accelwatch.schema.device import DeviceState
from support.archives.history_archives import DAY
from support.archives.replay_archives import (
    END,
    GAP_FROM,
    GAP_TO,
    HOUR,
    LOST_FROM,
    LOST_TO,
    MINUTE,
    MISSING_FROM,
    MISSING_TO,
    SILENT_FROM,
    SILENT_TO,
    device,
)


@pytest.fixture(scope="module")
def archive(folder: Path) -> ReplayedArchive:
    """Wholly looked through."""
    archive = ReplayedArchive(folder)
    for _ in archive.scan.steps():
        pass
    return archive


def at(archive: ReplayedArchive, time_ms: int, filter: str = "") -> FleetView:
    return archive.view(time_ms, archive.condition(filter), filter)


def nodes(view: FleetView) -> dict[str, str]:
    return {node.node: node.state for node in view.nodes}


def devices(view: FleetView) -> dict[str, DeviceNow]:
    return {slot_of(view, now).id: now for now in view.devices}


def slot_of(view: FleetView, now: DeviceNow) -> DeviceSlot:
    slot = view.slots[now.slot]
    assert slot is not None
    return slot


def test_a_quiet_time_has_all_nodes_devices_and_sums(archive: ReplayedArchive) -> None:
    view = at(archive, DAY + HOUR + 75_000)
    assert view.recorded
    assert view.time == (DAY + HOUR + 75_000) / 1000
    assert nodes(view) == {"node000": "up", "node001": "up", "node002": "up"}
    assert Counter(now.state for now in view.devices) == {"ok": 6}
    assert {now.sample_age_s for now in view.devices} == {15.0}
    assert view.sums.power_watts == 6 * 200
    assert view.sums.memory_used_bytes == 6 * (10 << 30)
    assert view.sums.memory_size_bytes == 6 * (80 << 30)
    assert view.sums.utilization_ratio == 0.5
    assert (view.sums.nodes_total, view.sums.devices_total) == (3, 6)


def test_values_are_those_of_the_time_and_not_of_the_next_sample(
    archive: ReplayedArchive,
) -> None:
    before = at(archive, DAY + 3 * HOUR - 1)
    after = at(archive, DAY + 3 * HOUR)
    assert {now.values[POWER_FIELD] for now in before.devices if now.values[POWER_FIELD]} == {300}
    assert {now.values[POWER_FIELD] for now in after.devices if now.values[POWER_FIELD]} == {400}


def test_a_device_that_cannot_be_read_is_lost_and_failed(archive: ReplayedArchive) -> None:
    now = devices(at(archive, LOST_FROM + 10_000))[device(0, 1)]
    assert (now.state, now.health) == ("lost", "failed")
    assert set(now.values) == {None}
    assert devices(at(archive, LOST_TO))[device(0, 1)].state == "ok"


def test_a_fatal_event_keeps_a_device_degraded_for_ten_minutes(archive: ReplayedArchive) -> None:
    late = devices(at(archive, LOST_TO + MINUTE))[device(0, 1)]
    assert (late.state, late.health) == ("ok", "ok")
    soon = devices(at(archive, LOST_FROM - 1))[device(0, 1)]
    assert soon.health == "ok"


def test_a_device_without_rows_on_a_node_that_speaks_is_missing(archive: ReplayedArchive) -> None:
    view = at(archive, MISSING_FROM + 30 * MINUTE)
    assert devices(view)[device(2, 1)].state == "missing"
    assert {n.node: n.devices_missing for n in view.nodes} == {
        "node000": 0,
        "node001": 0,
        "node002": 1,
    }
    assert devices(at(archive, MISSING_TO))[device(2, 1)].state == "ok"


@pytest.mark.parametrize(
    ("seconds", "state", "its_devices"),
    [(0, "up", "ok"), (60, "slow", "ok"), (120, "stale", "stale"), (300, "down", "unreachable")],
)
def test_a_node_without_rows_falls_silent(
    archive: ReplayedArchive, seconds: int, state: str, its_devices: str
) -> None:
    view = at(archive, SILENT_FROM + seconds * 1000)
    assert nodes(view)["node001"] == state
    assert devices(view)[device(1, 0)].state == its_devices


def test_a_node_that_was_silent_for_hours_is_still_expected(archive: ReplayedArchive) -> None:
    view = at(archive, SILENT_TO - 1000)
    [node] = [node for node in view.nodes if node.node == "node001"]
    assert (node.state, node.age_s) == ("down", 3 * 3600 + 29)
    assert nodes(at(archive, SILENT_TO))["node001"] == "up"


def test_when_nobody_reports_anything_all_nodes_are_down(archive: ReplayedArchive) -> None:
    view = at(archive, GAP_TO - 1000)
    assert set(nodes(view).values()) == {"down"}
    assert view.sums.power_watts is None
    [silence] = archive.timeline().silences
    assert (silence.start, silence.end) == ((GAP_FROM - 30_000) / 1000, GAP_TO / 1000)


def test_devices_belong_to_the_jobs_of_the_time(archive: ReplayedArchive) -> None:
    def owners(time_ms: int) -> dict[str, tuple[str | None, str | None]]:
        view = at(archive, time_ms)
        return {
            slot.id: (slot.job, slot.user)
            for slot in (slot_of(view, now) for now in view.devices)
            if slot.node == "node000"
        }

    assert set(owners(DAY + HOUR).values()) == {(None, None)}
    assert set(owners(DAY + 3 * HOUR).values()) == {("4711", "ada")}
    assert owners(LOST_TO) == {device(0, 0): ("4712", "grace"), device(0, 1): (None, None)}


def test_a_slot_that_has_not_changed_stays_the_same_object(archive: ReplayedArchive) -> None:
    first, second = at(archive, DAY + HOUR), at(archive, DAY + HOUR + 60_000)
    assert first.slots is second.slots


def test_events_up_to_the_time_with_category_and_severity(archive: ReplayedArchive) -> None:
    assert at(archive, SILENT_FROM - 2 * MINUTE).events == ()
    assert [event.code for event in at(archive, LOST_FROM).events] == ["oom_kill", "xid_79"]
    [_, xid, again] = at(archive, END).events
    assert (xid.node, xid.device, xid.name) == ("node000", device(0, 1), "0-1")
    assert (xid.severity, xid.category) == ("critical", "bus")
    assert (xid.sequence != again.sequence, again.time - xid.time) == (True, 1.0)


def test_a_condition_chooses_devices_also_by_quantities_that_are_not_shown(
    archive: ReplayedArchive,
) -> None:
    def kept(filter: str, time_ms: int = LOST_FROM + 10_000) -> set[str]:
        return set(devices(at(archive, time_ms, filter)))

    assert kept('state == "lost"') == {device(0, 1)}
    assert kept('node_state == "down" and node == "node001"') == {device(1, 0), device(1, 1)}
    assert kept('user == "ada" and state != "lost"') == {device(0, 0)}
    assert kept("temperature_celsius > 41.5") == {device(2, 0), device(2, 1)}
    with pytest.raises(ExpressionError):
        archive.condition("power_wats > 1")


def test_a_silent_node_has_no_quantities_for_a_condition(archive: ReplayedArchive) -> None:
    kept = devices(at(archive, SILENT_FROM + 2 * MINUTE, "power_watts > 1"))
    assert not {device(1, 0), device(1, 1)} & set(kept)


def test_the_hour_of_a_device_up_to_the_time(archive: ReplayedArchive) -> None:
    past = archive.device_history("node000", device(0, 0), DAY + HOUR + 30 * MINUTE)
    assert past is not None
    power = past.values["power_watts"]
    assert (len(power), past.step_s, past.end) == (360, 10.0, (DAY + HOUR + 30 * MINUTE) / 1000)
    assert set(power[:179]) == {100.0}
    assert set(power[180:]) == {200.0}
    assert archive.device_history("node000", "nvidia:none", DAY + HOUR) is None


def test_the_hour_of_a_device_has_holes_where_it_reported_nothing(archive: ReplayedArchive) -> None:
    past = archive.device_history("node002", device(2, 1), MISSING_TO + MINUTE)
    assert past is not None
    power = past.values["power_watts"]
    assert power[-1] == 800.0
    assert power[180] is None


def test_a_node_in_full(archive: ReplayedArchive) -> None:
    shot = archive.snapshot("node000", LOST_FROM + 10_000)
    states = {view.device.id: view.state for view in shot.devices}
    assert states == {device(0, 0): DeviceState.OK, device(0, 1): DeviceState.LOST}
    well, lost = shot.devices
    assert well.reading.values["temperature_celsius", "gpu"] == 40
    assert well.reading.absent["processes",] is Absence.NOT_COLLECTED
    assert lost.reading.absent == {("*",): Absence.LOST}
    assert [(owner.job_id, owner.user) for owner in well.owners] == [("4711", "ada")]
    assert shot.node is not None
    assert shot.node.reading.values["host_load_average", "1"] == 1.5
    assert [event.code for event in shot.events] == ["xid_79", "xid_79"]


def test_a_silent_node_in_full_has_unreachable_devices(archive: ReplayedArchive) -> None:
    shot = archive.snapshot("node001", SILENT_TO - 1000)
    assert [view.state for view in shot.devices] == [DeviceState.UNRESPONSIVE] * 2
    assert {view.reading.absent["*",] for view in shot.devices} == {Absence.STALE}


def test_no_node_is_last_seen_before_what_was_not_read(folder: Path) -> None:
    archive = ReplayedArchive(folder)
    steps = archive.scan.steps()
    archive.scan.position = SILENT_TO - 1000
    seen: set[float | None] = set()
    for _ in steps:
        view = at(archive, SILENT_TO - 1000)
        seen |= {node.age_s for node in view.nodes if node.node == "node001"}
    assert seen == {3 * 3600 + 29}


def test_the_timeline_has_events_maintenance_and_says_what_is_still_looked_for(
    folder: Path,
) -> None:
    archive = ReplayedArchive(folder)
    assert archive.timeline().note
    for _ in archive.scan.steps():
        pass
    timeline = archive.timeline()
    assert (timeline.start, timeline.end) == (DAY / 1000, (END - 30_000) / 1000)
    assert (sum(timeline.events), timeline.note) == (3, "")
    assert [(window.node, window.text) for window in timeline.maintenance] == [
        ("node001", "new power supply"),
        ("", "firmware"),
    ]
