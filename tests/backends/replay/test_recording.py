"""Recordings: time, loops, recorded states, and every kind of damage."""

import gzip
from pathlib import Path

import msgspec
import pytest

from accelwatch.archive.recording import Recorder
from accelwatch.archive.recording.repair import repair
from accelwatch.backend import Backend, Context, EventSource, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import (
    DeviceLost,
    DevicePermission,
    DeviceSuspended,
    DeviceTimeout,
    ReadError,
)
from accelwatch.schema.device import DeviceState
from accelwatch.schema.json.wire import encode
from accelwatch.schema.reading import Reading, wholly_absent
from accelwatch.schema.snapshot import Snapshot
from accelwatch_lab.replay import ReplayBackend
from support.machines import composed as machines


def busy(ratio: float, energy: float) -> Reading:
    held = machines.view(0).reading
    values = {
        **held.values,
        ("utilization_ratio",): ratio,
        ("energy_joules_total", "hardware"): energy,
    }
    return msgspec.structs.replace(held, values=values)


def documents(count: int = 4) -> list[Snapshot]:
    """A document every 2 s: utilisation 0.0, 0.1, ..., energy grows by 100 J a document."""
    return [
        machines.snapshot(
            machines.view(0, reading=busy(number / 10, 1000.0 + 100 * number)),
            machines.mig_view(1, 0),
            time=machines.NOW + 2 * number,
        )
        for number in range(count)
    ]


def write(path: Path, shots: list[Snapshot], *, tail: bytes = b"") -> Path:
    path.write_bytes(b"".join(encode(shot) + b"\n" for shot in shots) + tail)
    return path


def replay(path: Path, clock: ManualClock | None = None, **options: object) -> ReplayBackend:
    context = Context(clock=clock or ManualClock(), options={"file": str(path), **options})
    backend = ReplayBackend(context)
    backend.open()
    return backend


def first(backend: Backend) -> Reading:
    device = backend.discover()[0]
    return backend.read(backend.identify(device)[0], Request())[0]


def ratio(backend: Backend) -> float:
    return first(backend).values[("utilization_ratio",)]


def test_the_document_of_the_current_time_is_shown(tmp_path: Path) -> None:
    clock = ManualClock()
    backend = replay(write(tmp_path / "r", documents()), clock)
    assert ratio(backend) == 0.0
    clock.advance(3.9)
    assert ratio(backend) == 0.1
    clock.advance(0.1)
    assert ratio(backend) == 0.2
    clock.step_wall(-3600)
    assert ratio(backend) == 0.2


def test_speed_and_start_move_the_current_time(tmp_path: Path) -> None:
    clock = ManualClock()
    backend = replay(write(tmp_path / "r", documents()), clock, speed=2, start="2s")
    assert ratio(backend) == 0.1
    clock.advance(2)
    assert ratio(backend) == 0.3


def test_after_the_end_it_starts_again_and_counters_go_on(tmp_path: Path) -> None:
    clock = ManualClock()
    backend = replay(write(tmp_path / "r", documents()), clock)
    seen = []
    for _ in range(8):
        reading = first(backend)
        seen.append(reading.values[("energy_joules_total", "hardware")])
        clock.advance(2)
    assert seen == [1000, 1100, 1200, 1300, 1300, 1400, 1500, 1600]
    assert ratio(backend) == 0.0


def test_without_loop_the_end_stands_still(tmp_path: Path) -> None:
    clock = ManualClock()
    backend = replay(write(tmp_path / "r", documents()), clock, loop=False)
    clock.advance(1000)
    assert ratio(backend) == 0.3


def test_a_single_reading_is_the_first_document(tmp_path: Path) -> None:
    clock = ManualClock()
    path = write(tmp_path / "r", documents())
    backend = ReplayBackend(Context(clock=clock, one_shot=True, options={"file": str(path)}))
    backend.open()
    clock.advance(5)
    assert ratio(backend) == 0.0


def test_identity_is_as_recorded_but_for_the_backend(tmp_path: Path) -> None:
    backend = replay(write(tmp_path / "r", documents()))
    (device,) = backend.discover()
    whole, part = backend.identify(device)
    assert whole == machines.device(0, backend="replay")
    assert part.parent_id == whole.id
    readings = backend.read(whole, Request())
    assert [one.device_id for one in readings] == [whole.id, part.id]


def test_derived_quantities_are_left_to_be_derived_again(tmp_path: Path) -> None:
    backend = replay(write(tmp_path / "r", documents()))
    keys = {series[0] for series in first(backend).values}
    assert not {"busy_seconds_total", "window_power_max_watts"} & keys


def test_recorded_processes_are_of_another_machine(tmp_path: Path) -> None:
    clock = ManualClock(wall=machines.NOW + 86_400)
    processes = first(replay(write(tmp_path / "r", documents()), clock)).processes or ()
    assert {one.pid_namespace for one in processes} == {"foreign"}
    assert {one.start_time for one in processes} == {machines.NOW + 86_400 - 3600}


@pytest.mark.parametrize(
    ("state", "absence", "kind"),
    [
        (DeviceState.LOST, Absence.LOST, DeviceLost),
        (DeviceState.UNRESPONSIVE, Absence.TIMEOUT, DeviceTimeout),
        (DeviceState.SUSPENDED, Absence.SUSPENDED, DeviceSuspended),
        (DeviceState.EXCLUDED, Absence.PERMISSION, DevicePermission),
        (DeviceState.OK, Absence.ERROR, ReadError),
    ],
)
def test_a_recorded_state_comes_back_as_its_cause(
    tmp_path: Path, state: DeviceState, absence: Absence, kind: type[ReadError]
) -> None:
    gone = machines.view(1, state=state, reading=wholly_absent(machines.device(1).id, absence))
    shot = machines.snapshot(machines.view(0), gone)
    backend = replay(write(tmp_path / "r", [shot]))
    healthy, broken = backend.discover()
    assert len(backend.read(healthy, Request())) == 1
    with pytest.raises(ReadError) as caught:
        backend.read(broken, Request())
    assert type(caught.value) is kind


def test_a_recorded_failure_keeps_its_code_and_text(tmp_path: Path) -> None:
    backend = replay(write(tmp_path / "r", [machines.snapshot(machines.lost_view(3))]))
    (device,) = backend.discover()
    with pytest.raises(DeviceLost, match="GPU is lost") as caught:
        backend.identify(device)
    assert caught.value.code == "NVML_ERROR_GPU_IS_LOST"


def test_absences_stay(tmp_path: Path) -> None:
    reading = Reading(
        device_id=machines.device(0).id,
        absent={
            ("power_watts",): Absence.PERMISSION,
            ("temperature_celsius", "gpu"): Absence.ERROR,
        },
    )
    shot = machines.snapshot(machines.view(0, reading=reading))
    absent = first(replay(write(tmp_path / "r", [shot]))).absent
    assert absent[("power_watts",)] is Absence.PERMISSION
    assert absent[("temperature_celsius", "gpu")] is Absence.ERROR


def test_a_device_that_comes_later_is_found_later(tmp_path: Path) -> None:
    clock = ManualClock()
    shots = [
        machines.snapshot(machines.view(0)),
        machines.snapshot(machines.view(0), machines.view(1), time=machines.NOW + 10),
    ]
    backend = replay(write(tmp_path / "r", shots), clock, loop=False)
    assert len(backend.discover()) == 1
    clock.advance(10)
    late = backend.discover()[1]
    assert backend.read(late, Request())
    reopened = replay(tmp_path / "r")
    with pytest.raises(DeviceLost):
        reopened.read(late, Request())


def test_events_come_once_and_at_the_time_of_playing(tmp_path: Path) -> None:
    clock = ManualClock(wall=machines.NOW + 5000)
    backend = replay(write(tmp_path / "r", documents()), clock)
    assert isinstance(backend, EventSource)
    (event,) = backend.wait_events(0)
    assert (event.code, event.time) == ("xid_79", machines.NOW + 5000 - 600)
    clock.advance(2)
    assert backend.wait_events(0) == ()


@pytest.mark.parametrize("packed", [False, True])
def test_a_cut_off_tail_costs_only_the_last_document(tmp_path: Path, packed: bool) -> None:
    whole = write(tmp_path / "r", documents()).read_bytes()
    content = gzip.compress(whole)[:-40] if packed else whole[:-200]
    (tmp_path / "cut").write_bytes(content)
    backend = replay(tmp_path / "cut")
    assert "recording: the end is missing" in first(backend).notes


def test_what_is_before_a_damaged_line_is_played_and_the_mend_noted(tmp_path: Path) -> None:
    lines = [encode(shot) for shot in documents()]
    lines.insert(2, b"\xff\xfe garbage")
    lines.insert(1, b"")
    path = tmp_path / "r"
    path.write_bytes(b"\n".join(lines) + b"\n")
    clock = ManualClock()
    backend = replay(path, clock, loop=False)
    (note,) = [note for note in first(backend).notes if note.startswith("recording:")]
    assert "only the 2 documents before it are read" in note
    assert note.endswith(f"accelwatch record --repair {path}")
    clock.advance(6)
    assert ratio(backend) == 0.1


def test_a_repaired_copy_is_played_to_its_end(tmp_path: Path) -> None:
    lines = [encode(shot) for shot in documents()]
    lines.insert(1, b"\xff\xfe garbage")
    (tmp_path / "r").write_bytes(b"\n".join(lines) + b"\n")
    repair(tmp_path / "r", tmp_path / "copy")
    clock = ManualClock()
    backend = replay(tmp_path / "copy", clock)
    assert not any(note.startswith("recording:") for note in first(backend).notes)
    clock.advance(6)
    assert ratio(backend) == 0.3


def test_a_document_that_is_json_but_no_snapshot_is_passed_over(tmp_path: Path) -> None:
    lines = [encode(shot) for shot in documents()]
    lines[1] = msgspec.json.encode(
        {**msgspec.json.decode(lines[1]), "devices": [{"state": "purple"}]}
    )
    (tmp_path / "r").write_bytes(b"\n".join(lines) + b"\n")
    clock = ManualClock()
    backend = replay(tmp_path / "r", clock)
    clock.advance(2)
    assert ratio(backend) == 0.0
    assert "recording: 1 documents unreadable" in first(backend).notes


def test_an_overlong_line_ends_the_playing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accelwatch.archive.recording.lines.MAX_LINE", 100_000)
    path = tmp_path / "r"
    path.write_bytes(encode(documents()[2]) + b"\n{" + b"x" * 350_000 + b"\n")
    backend = replay(path)
    assert ratio(backend) == 0.2
    assert any("only the 1 documents before it" in note for note in first(backend).notes)


def test_gzip_and_a_pretty_single_document_are_read(tmp_path: Path) -> None:
    plain = write(tmp_path / "r", documents()).read_bytes()
    (tmp_path / "r.gz").write_bytes(gzip.compress(plain))
    assert ratio(replay(tmp_path / "r.gz")) == 0.0
    pretty = msgspec.json.format(encode(documents()[3]))
    (tmp_path / "pretty").write_bytes(pretty)
    assert ratio(replay(tmp_path / "pretty")) == 0.3


def test_a_newer_major_is_refused(tmp_path: Path) -> None:
    line = encode(documents()[0]).replace(b"accelwatch/2", b"accelwatch/3")
    (tmp_path / "r").write_bytes(line + b"\n")
    with pytest.raises(BackendUnavailable, match="newer") as caught:
        replay(tmp_path / "r")
    assert caught.value.reason == "format"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x28\xb5\x2f\xfd0000", "holds no accelwatch/2 document"),
        (b"{}\n{}\n", "holds no accelwatch/2 document"),
        (b"\x1f\x8b\x08", "holds no accelwatch/2 document"),
    ],
)
def test_what_cannot_be_played_says_why(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "r").write_bytes(content)
    with pytest.raises(BackendUnavailable, match=message):
        replay(tmp_path / "r")


def test_a_document_without_devices_is_a_machine_without_devices(tmp_path: Path) -> None:
    path = tmp_path / "r"
    path.write_bytes(b'{"schema": "accelwatch/1", "time": "2026-01-01T00:00:00Z"}\n')
    assert replay(path).discover() == ()


def test_a_clock_that_was_set_back_while_recording_does_no_harm(tmp_path: Path) -> None:
    shots = documents()
    shots[2] = msgspec.structs.replace(shots[2], time=machines.NOW - 3600)
    clock = ManualClock()
    backend = replay(write(tmp_path / "r", shots), clock)
    clock.advance(6)
    assert ratio(backend) == 0.3


def test_what_the_recorder_writes_is_played(tmp_path: Path) -> None:
    path = tmp_path / "node.ndjson.zst"
    for _ in range(2):
        with Recorder(path) as recorder:
            for shot in documents():
                recorder.write(shot)
    clock = ManualClock()
    backend = replay(path, clock)
    clock.advance(6)
    assert ratio(backend) == 0.3
    assert any("1 older files beside it" in note for note in first(backend).notes)
    backend.close()


def test_rotated_files_are_played_one_after_another(tmp_path: Path) -> None:
    path = tmp_path / "node.ndjson.zst"
    shots = documents(4)
    for half in (shots[:2], shots[2:]):
        with Recorder(path) as recorder:
            for shot in half:
                recorder.write(shot)
    for name in (tmp_path, tmp_path / "node.*"):
        clock = ManualClock()
        backend = replay(name, clock)
        seen = []
        for _ in shots:
            seen.append(ratio(backend))
            clock.advance(2)
        assert seen == [0.0, 0.1, 0.2, 0.3]


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BackendUnavailable, match="no recording") as caught:
        replay(tmp_path / "missing.zst")
    assert caught.value.reason == "file"
