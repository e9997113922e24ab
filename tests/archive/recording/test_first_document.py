"""`accelwatch --replay FILE`: the first document of a recording, as it was written."""

import json
from pathlib import Path

import msgspec
import pytest

from accelwatch.archive.recording import Recorder
from accelwatch.node.snapshots import first_recorded
from accelwatch.schema.json.wire import encode
from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import Snapshot
from archive.recording.shots import shot, write
from support.machines import composed as machines
from support.processes.warm_command import accelwatch

# `machines.NOW`, in which no test runs.
THEN = "2027-01-15T08:00:00.000Z"


def with_process(snapshot: Snapshot) -> Snapshot:
    process = Process(
        device_id=snapshot.devices[0].device.id, pid=7, pid_namespace="pid:[1]", argv=("a", "b")
    )
    view = snapshot.devices[0]
    reading = msgspec.structs.replace(view.reading, processes=(process,))
    return msgspec.structs.replace(
        snapshot, devices=(msgspec.structs.replace(view, reading=reading),)
    )


def test_a_recording_has_its_own_times_and_host(tmp_path: Path) -> None:
    path = write(tmp_path / "r.ndjson.zst", 3)
    run = accelwatch("--replay", str(path), "--json")
    assert (run.returncode, run.stderr) == (0, "")
    document = json.loads(run.stdout)
    written = json.loads(encode(shot(0)))
    assert document["time"] == THEN
    assert (document["time"], document["host"]) == (written["time"], written["host"])
    assert document["devices"][0]["sample_time"] == written["devices"][0]["sample_time"]
    head = accelwatch("--replay", str(path)).stdout.splitlines()[0]
    assert head.startswith(f"{written['host']}  2027-01-15 08:00:00 UTC")


def test_with_watch_it_is_played_as_if_it_were_now(tmp_path: Path) -> None:
    path = write(tmp_path / "r.ndjson.zst", 3)
    run = accelwatch(
        "--replay", str(path), "--json", "--watch", "1s", "-n", "1", "--timeout", "60s"
    )
    assert run.returncode == 0
    assert json.loads(run.stdout)["time"] != THEN


def test_processes_are_none_of_this_machine_and_their_arguments_are_opt_in(
    tmp_path: Path,
) -> None:
    path = tmp_path / "r.ndjson.zst"
    with Recorder(path) as recorder:
        recorder.write(with_process(shot(0)))

    def process(*, argv: bool) -> Process:
        (found,) = first_recorded(path, argv=argv).devices[0].reading.processes or ()
        return found

    assert process(argv=False).pid_namespace == "foreign"
    assert process(argv=False).argv is None
    assert process(argv=True).argv == ("a", "b")


def test_damage_behind_it_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "r.ndjson"
    path.write_bytes(encode(shot(4)) + b'\n{"schema": 7}\n' + encode(shot(5)) + b"\n")
    found = first_recorded(path, argv=False)
    assert found.time == machines.NOW + 4
    assert any("accelwatch record --repair" in note for note in found.devices[0].reading.notes)


def test_damage_before_it_is_a_failure_with_the_mend(tmp_path: Path) -> None:
    path = tmp_path / "r.ndjson"
    path.write_bytes(b'{"schema": 7}\n' + encode(shot(4)) + b"\n")
    run = accelwatch("--replay", str(path))
    assert run.returncode == 1
    assert f"accelwatch record --repair {path}" in run.stderr


def test_a_file_without_a_document_is_a_failure_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "r.ndjson"
    path.write_bytes(b"{}\n")
    run = accelwatch("--replay", str(path))
    assert run.returncode == 1
    assert str(path) in run.stderr


@pytest.mark.parametrize("words", [("-b", "replay"), ("--replay", "demo")])
def test_a_backend_without_a_file_and_a_scenario_are_read_as_before(words: tuple[str, ...]) -> None:
    run = accelwatch(*words, "--json")
    assert json.loads(run.stdout)["time"] != THEN
