import errno
import json
import logging
import os
import threading
from pathlib import Path

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.node.store import Store
from accelwatch.node.store.persistence.counts import CountFile, Counts
from accelwatch.node.store.reports import Events
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.snapshot import EventCount
from accelwatch.system.files.atomic_file import replace_file
from support.processes.waiting import GUARD_S

COUNTS: Counts = {
    "n:0": {"xid_79": EventCount(code="xid_79", category="bus", total=3, last_time=5.0)}
}


def stored(folder: Path, counts: Counts = COUNTS) -> Path:
    file = CountFile(folder)
    file.offer(counts)
    file.close()
    return folder / "event_counts.json"


def test_counters_survive_a_restart_and_go_on(tmp_path: Path) -> None:
    def run() -> int:
        store = Store(ManualClock(), count_file=CountFile(tmp_path))
        fault = ErrorEvent(
            code="xid_79", category=Category.BUS, time=9.0, text="", source="nvml", device_id="n:0"
        )
        store.apply(Events(backend="nvidia", events=(fault,)))
        store.close()
        return CountFile(tmp_path).load()["n:0"]["xid_79"].total

    assert [run(), run(), run()] == [1, 2, 3]


def test_without_a_file_there_are_no_counters(tmp_path: Path) -> None:
    assert CountFile(tmp_path / "never").load() == {}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b'{"format":1,"counts":{"d":{"c":7}}}',
        b'{"format":9,"counts":{}}',
    ],
)
def test_a_damaged_file_is_set_aside_with_a_warning(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "event_counts.json"
    path.write_bytes(content)
    assert CountFile(tmp_path).load() == {}
    assert (tmp_path / "event_counts.json.damaged").read_bytes() == content
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert CountFile(stored(tmp_path).parent).load() == COUNTS


def test_a_full_disk_costs_one_warning_and_writing_goes_on_when_there_is_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    full = True

    def write(path: Path, data: bytes) -> None:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace_file(path, data)

    file = CountFile(tmp_path, write)
    for _ in range(3):
        file.offer(COUNTS)
        file.close()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    full = False
    file.offer(COUNTS)
    file.close()
    assert CountFile(tmp_path).load() == COUNTS


def test_a_state_directory_that_cannot_be_made_costs_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("not a directory")
    file = CountFile(tmp_path / "file" / "state")
    assert file.load() == {}
    caplog.clear()
    for _ in range(2):
        file.offer(COUNTS)
        file.close()
    assert len(caplog.records) == 1


def test_a_disk_that_hangs_does_not_hold_the_owner(tmp_path: Path) -> None:
    never = threading.Event()

    def write(path: Path, data: bytes) -> None:
        never.wait(GUARD_S)

    file = CountFile(tmp_path, write)
    for _ in range(5):
        file.offer(COUNTS)
    never.set()
    file.close()


def writers() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "event-counts"}


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_folders_above_are_made(tmp_path: Path) -> None:
    assert CountFile(stored(tmp_path / "var" / "lib").parent).load() == COUNTS


def test_every_warning_names_the_file_and_the_cause(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "event_counts.json"
    path.write_bytes(b'{"format":9,"counts":{}}')
    CountFile(tmp_path).load()
    path.write_bytes(b"[]")
    CountFile(tmp_path).load()
    path.mkdir()
    CountFile(tmp_path).load()
    stored(tmp_path)
    lost = (
        "event counters start at 0, since a file is damaged or of another version: it is set aside and "
        f"a new one started; put a good copy in its place and restart, or remove it path={path}"
    )
    assert warnings_in(caplog) == [
        f"{lost} fault=format 9 kept={path}.damaged",
        f"{lost} fault=Expected `object`, got `array` kept={path}.damaged-2",
        f"{path}: event counters start at 0: Is a directory; nothing is written there until it is put "
        "back from a backup or moved away, and this process restarted",
        f"changes are kept in memory only path={path} error=[Errno 21] Is a directory:"
        f" '{tmp_path}/.{path.name}.{os.getpid()}' -> '{path}'",
    ]


def test_a_damaged_file_that_cannot_be_moved_is_no_fault_and_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    (tmp_path / "event_counts.json").write_bytes(b"{")
    file = CountFile(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", refuse)
        assert file.load() == {}
    assert len(caplog.records) == 1
    file.offer(COUNTS)
    file.close()
    assert (tmp_path / "event_counts.json").read_bytes() == b"{"


def test_a_disk_that_fails_again_is_reported_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    outcomes = [False, False, True, False, False]

    def write(path: Path, data: bytes) -> None:
        if not outcomes.pop(0):
            raise OSError(errno.EIO, "Input/output error")

    file = CountFile(tmp_path, write)
    while outcomes:
        file.offer(COUNTS)
        file.close()
    assert len(caplog.records) == 2


def test_the_newest_counters_are_written_and_those_that_waited_are_not(tmp_path: Path) -> None:
    started, go_on = threading.Event(), threading.Event()
    written: list[bytes] = []

    def write(path: Path, data: bytes) -> None:
        started.set()
        go_on.wait(GUARD_S)
        written.append(data)

    def of(total: int) -> Counts:
        return {"n:0": {"x": EventCount(code="x", category="bus", total=total, last_time=5.0)}}

    file = CountFile(tmp_path, write)
    file.offer(of(1))
    assert started.wait(GUARD_S)
    for total in (2, 3, 4):
        file.offer(of(total))
    go_on.set()
    file.close()
    totals = [json.loads(data)["counts"]["n:0"]["x"]["total"] for data in written]
    assert totals == [1, 4]


def test_the_writer_holds_no_exit(tmp_path: Path) -> None:
    started, go_on = threading.Event(), threading.Event()

    def write(path: Path, data: bytes) -> None:
        started.set()
        go_on.wait(GUARD_S)

    before = writers()
    file = CountFile(tmp_path, write)
    file.offer(COUNTS)
    assert started.wait(GUARD_S)
    (writer,) = writers() - before
    assert writer.daemon
    go_on.set()
    file.close()


def test_closing_does_not_wait_for_a_disk_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accelwatch.node.store.persistence.state_file._CLOSE_S", 0.01)
    started, go_on = threading.Event(), threading.Event()

    def write(path: Path, data: bytes) -> None:
        started.set()
        go_on.wait(GUARD_S)

    before = writers()
    file = CountFile(tmp_path, write)
    file.offer(COUNTS)
    assert started.wait(GUARD_S)
    (writer,) = writers() - before
    file.offer(COUNTS)  # waits, and leaves no room for the end
    file.close()
    assert writer.is_alive()
    go_on.set()
