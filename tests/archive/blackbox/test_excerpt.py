"""A moment read from a frozen file: devices side by side, marks, what nobody knows."""

import math
from pathlib import Path

import msgspec
import pytest

from accelwatch.archive.blackbox.excerpt import Excerpt, read_excerpt
from accelwatch.archive.recording import Recorder
from accelwatch.base.absence import Absence
from accelwatch.cli.history.blackbox_report import excerpt_rows
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.reading import Process, wholly_absent
from accelwatch.schema.snapshot import DeviceView, Snapshot
from accelwatch.system.kernel.xid import category_of
from support.machines import composed as machines

NOW = machines.NOW
XID = ErrorEvent(
    code="xid_79",
    category=category_of("xid_79", ""),
    time=NOW + 59.5,
    text="NVRM: Xid (PCI:0000:19:00): 79, GPU has fallen off the bus.",
    source="kernel_log",
    device_id=machines.device(1).id,
)


def process(index: int, pid: int, **changes: object) -> Process:
    named = Process(
        device_id=machines.device(index).id,
        pid=pid,
        start_time=NOW - 60,
        user="anna",
        command="python3",
    )
    return msgspec.structs.replace(named, **changes)


def view(index: int, second: int, *processes: Process, power: float = 500.0) -> DeviceView:
    whole = machines.view(index)
    reading = msgspec.structs.replace(
        whole.reading,
        values={**whole.reading.values, ("power_watts",): power},
        processes=processes,
    )
    return msgspec.structs.replace(whole, reading=reading, state_since=NOW)


def machine(second: int) -> Snapshot:
    """Device 1 is lost from 60 to 90 s; pid 7 begins at 20 on both, pid 5 ends at 30 on device 0."""
    on_0 = [process(0, 5)] if second < 30 else []
    shared = [process(0, 7), process(1, 7)] if second >= 20 else []
    first = view(0, second, *on_0, *shared[:1], power=400.0 + second)
    other = view(1, second, *shared[1:])
    if 60 <= second < 90:
        other = msgspec.structs.replace(machines.lost_view(1), state_since=NOW + 60)
    events = (XID,) if second >= 60 else ()
    return machines.snapshot(first, other, time=NOW + second, events=events)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("box") / "20270115T080100Z-nvidia1-lost.ndjson.zst"
    with Recorder(path) as recorder:
        for second in range(120):
            recorder.write(machine(second))
    return path


@pytest.fixture(scope="module")
def excerpt(file: Path) -> Excerpt:
    return read_excerpt(file, before_s=600, after_s=600)


def test_the_device_that_it_is_about_is_first(excerpt: Excerpt) -> None:
    assert [track.name for track in excerpt.tracks] == ["nvidia1", "nvidia0"]
    assert excerpt.at == NOW + 60
    assert len(excerpt.times) == 120


def first_seconds(path: Path, *states: tuple[DeviceState, Absence | None]) -> Excerpt:
    with Recorder(path) as recorder:
        for second, (state, why) in enumerate(states):
            first = view(0, second)
            if why is not None:
                first = msgspec.structs.replace(
                    first, state=state, reading=wholly_absent(first.device.id, why)
                )
            recorder.write(machines.snapshot(first, time=NOW + second))
    return read_excerpt(path, before_s=600, after_s=600)


def test_a_device_that_was_not_read_yet_has_no_state_at_the_beginning(tmp_path: Path) -> None:
    awaited = DeviceState.UNRESPONSIVE, Absence.NOT_COLLECTED
    excerpt = first_seconds(tmp_path / "a.ndjson", awaited, awaited, (DeviceState.OK, None))
    assert excerpt.tracks[0].states == ["", "", "ok"]
    assert excerpt.markers == ()


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (DeviceState.UNRESPONSIVE, Absence.TIMEOUT),
        (DeviceState.EXCLUDED, Absence.NOT_COLLECTED),
    ],
)
def test_a_device_that_hangs_or_is_left_alone_at_the_beginning_has_a_state(
    tmp_path: Path, state: DeviceState, why: Absence
) -> None:
    excerpt = first_seconds(tmp_path / "a.ndjson", (state, why), (DeviceState.OK, None))
    assert excerpt.tracks[0].states == [state.value, "ok"]
    assert [mark.code for mark in excerpt.markers] == ["ok"]


def test_a_broken_device_has_no_values(excerpt: Excerpt) -> None:
    lost, beside = excerpt.tracks
    assert lost.states[59:61] == ["ok", "lost"]
    assert math.isnan(lost.values["power_watts"][60])
    assert lost.values["power_watts"][90] == 500.0
    assert beside.values["power_watts"][60] == 460.0
    assert beside.values["memory_ratio"][0] == pytest.approx(61 / 80)
    assert beside.values["temperature_celsius"][0] == 61.0


def test_what_happened_is_in_the_order_of_time(excerpt: Excerpt) -> None:
    assert [(mark.time - NOW, mark.kind, mark.devices) for mark in excerpt.markers] == [
        (20, "start", ("nvidia0", "nvidia1")),
        (30, "end", ("nvidia0",)),
        (59.5, "kernel", ("nvidia1",)),
        (60, "state", ("nvidia1",)),
        (90, "state", ("nvidia1",)),
    ]
    texts = [mark.text for mark in excerpt.markers]
    assert texts[0] == "python3 (pid 7, anna)"
    assert texts[3:] == ["lost, was ok", "ok again, lost for 30 s"]
    assert excerpt.markers[2].severity == "critical"


def test_only_what_is_requested_is_read(file: Path) -> None:
    near = read_excerpt(file, before_s=5, after_s=10)
    assert [round(time - NOW) for time in near.times] == list(range(55, 71))
    other = read_excerpt(file, before_s=5, after_s=0, at=NOW + 25)
    assert [round(time - NOW) for time in other.times] == list(range(20, 26))


def test_a_recording_of_any_name_is_about_the_worst_in_it(file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "night.zst"
    copy.write_bytes(file.read_bytes())
    excerpt = read_excerpt(copy, before_s=5, after_s=5)
    assert (excerpt.at, excerpt.device_id) == (XID.time, XID.device_id)
    assert len(excerpt.times) == 120


def test_processes_of_a_device_that_reports_none_have_not_ended(tmp_path: Path) -> None:
    path = tmp_path / "r.zst"
    with Recorder(path) as recorder:
        for second in range(3):
            whole = view(0, second, process(0, 7))
            if second:
                reading = msgspec.structs.replace(
                    whole.reading, processes=None, absent={("processes",): Absence.TIMEOUT}
                )
                whole = msgspec.structs.replace(whole, reading=reading)
            recorder.write(machines.snapshot(whole, time=NOW + second))
    assert read_excerpt(path, before_s=9, after_s=9).markers == ()


def test_a_device_that_comes_later_has_nothing_before(tmp_path: Path) -> None:
    path = tmp_path / "r.zst"
    with Recorder(path) as recorder:
        recorder.write(machines.snapshot(view(0, 0), time=NOW))
        recorder.write(machines.snapshot(view(0, 1), view(1, 1), time=NOW + 1))
        recorder.write(machines.snapshot(view(1, 2), time=NOW + 2))
    first, second = read_excerpt(path, before_s=9, after_s=9).tracks
    assert first.states == ["ok", "ok", ""]
    assert second.states == ["", "ok", "ok"]
    assert math.isnan(second.values["power_watts"][0])
    assert math.isnan(first.values["power_watts"][2])


def test_a_device_that_hangs_is_reported_too(tmp_path: Path) -> None:
    path = tmp_path / "r.zst"
    with Recorder(path) as recorder:
        recorder.write(machines.snapshot(view(0, 0), time=NOW))
        hung = msgspec.structs.replace(view(0, 1), state=DeviceState.UNRESPONSIVE)
        recorder.write(machines.snapshot(hung, time=NOW + 1))
    excerpt = read_excerpt(path, before_s=9, after_s=9)
    (mark,) = excerpt.markers
    assert (mark.text, mark.severity) == ("hung, was ok", "critical")
    rows = [row.split()[1:3] for row in excerpt_rows(excerpt)]
    assert ["nvidia0", "hung"] in rows, rows
