"""The firmware has corrected errors of a PCIe port: nothing to do for a few, a warning for many."""

from pathlib import Path

import msgspec
import pytest

from accelwatch.archive.recording import Recorder
from accelwatch.schema.event import ErrorEvent
from backends.kernel_log.memory_log import Log, start
from support.machines import composed as machines
from support.processes.installed_command import accelwatch

from .conftest import Case

pytestmark = pytest.mark.oracle
KMSG = "23-a-corrected-record/kmsg"
PATIENT = ("--timeout", "50s")


def events_of(folder: Path, kmsg: bytes) -> list[ErrorEvent]:
    random = folder / "root/proc/sys/kernel/random"
    random.mkdir(parents=True)
    (random / "boot_id").write_text("11111111-2222-3333-4444-555555555555\n")
    (folder / "root/proc/uptime").write_text("1000.0 1.0\n")
    (folder / "state").mkdir()
    lines = [line + b"\n" for line in kmsg.splitlines()]
    backend = start(folder / "root", Log(lines), backlog=True)
    events = list(backend.wait_events(0.0))
    backend.close()
    return events


def check(folder: Path, events: list[ErrorEvent]) -> tuple[int, str]:
    dated = tuple(msgspec.structs.replace(event, time=machines.NOW - 5) for event in events)
    with Recorder(folder / "node.ndjson.zst") as recorder:
        recorder.write(machines.snapshot(events=dated, errors=()))
    run = accelwatch("check", "--replay", str(folder / "node.ndjson.zst"), *PATIENT)
    return run.returncode, run.stdout


def test_one_event_about_the_port_and_nothing_to_do(case: Case, tmp_path: Path) -> None:
    (event,) = events_of(tmp_path, case(KMSG).read_bytes())
    assert (event.code, event.subject) == ("hardware_error_corrected", "0000:20:03.1")
    status, text = check(tmp_path, [event])
    assert status == 0, text


def test_a_fatal_record_is_critical(case: Case, tmp_path: Path) -> None:
    text = case(KMSG).read_bytes().replace(b"severity: corrected", b"severity: fatal")
    (event,) = events_of(tmp_path, text)
    assert (event.code, event.subject) == ("hardware_error_fatal", "0000:20:03.1")
    assert check(tmp_path, [event])[0] == 2
