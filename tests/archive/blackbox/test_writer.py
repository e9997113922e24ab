"""The black box of a folder over simulated time: what is kept, what freezes it, what goes wrong."""

import errno
import os
from pathlib import Path

import msgspec
import pytest

from accelwatch.archive.blackbox import freezer as freezing
from accelwatch.archive.blackbox.bounds import Bounds
from accelwatch.archive.blackbox.files import Frozen, frozen_files, partial_path, segments
from accelwatch.archive.blackbox.writer import Writer
from accelwatch.archive.recording import Recorder, Recording
from accelwatch.base.errors import AccelwatchError
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.snapshot import Snapshot
from accelwatch.system.kernel.xid import category_of
from support.machines import composed as machines

NOW = machines.NOW
SHORT = Bounds(before_s=60.0, after_s=10.0, most_after_s=30.0, segment_s=20.0)


def shot(
    second: float,
    *,
    states: dict[int, DeviceState] | None = None,
    events: tuple[ErrorEvent, ...] = (),
    boot: str = "b00t-0001",
) -> Snapshot:
    """Two devices at so many seconds after NOW."""
    views = []
    for index in (0, 1):
        state = (states or {}).get(index, DeviceState.OK)
        view = machines.view(index)
        views.append(msgspec.structs.replace(view, state=state, state_since=NOW + second))
    return machines.snapshot(*views, time=NOW + second, events=events, boot_id=boot)


def play(writer: Writer, seconds: range, **changes: object) -> None:
    for second in seconds:
        writer.record(shot(second, **changes))  # type: ignore[arg-type]


def xid(second: float, code: str = "xid_79", index: int = 1) -> ErrorEvent:
    return ErrorEvent(
        code=code,
        category=category_of(code, ""),
        time=NOW + second,
        text=f"Xid {code}",
        source="kernel_log",
        device_id=machines.device(index).id,
    )


def frozen_of(folder: Path) -> list[Frozen]:
    return frozen_files(folder)


def span(path: Path) -> tuple[float, float]:
    """Seconds after NOW of the first and last document of a frozen file, which has no damage."""
    with Recording.open(path) as recording:
        assert recording.notes == ()
        times = recording.times()
        assert [recording.at(index).time for index in range(len(times))] == list(times)
        return times[0] - NOW, times[-1] - NOW


LOST = {1: DeviceState.LOST}


def test_the_ring_keeps_the_last_minutes_and_no_more(tmp_path: Path) -> None:
    writer = Writer(tmp_path, SHORT)
    play(writer, range(300))
    starts = [segment.started - NOW for segment in segments(tmp_path)]
    assert starts == [220, 240, 260, 280]
    writer.close()
    assert span(tmp_path) == (220, 299)
    assert not frozen_of(tmp_path)


def test_a_lost_device_freezes_what_was_before_and_some_time_after(tmp_path: Path) -> None:
    writer = Writer(tmp_path, SHORT)
    play(writer, range(100))
    play(writer, range(100, 109), states=LOST)
    assert not frozen_of(tmp_path)
    play(writer, range(109, 120), states=LOST)
    (frozen,) = frozen_of(tmp_path)
    assert (frozen.device, frozen.reason, frozen.time) == ("nvidia1", "lost", NOW + 100)
    assert span(frozen.path) == (40, 109)
    assert frozen.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("state", "reason"),
    [(DeviceState.LOST, "lost"), (DeviceState.UNRESPONSIVE, "unresponsive")],
)
def test_what_a_broken_device_is_called(tmp_path: Path, state: DeviceState, reason: str) -> None:
    writer = Writer(tmp_path, SHORT)
    play(writer, range(5))
    play(writer, range(5, 30), states={1: state})
    assert [one.reason for one in frozen_of(tmp_path)] == [reason]


@pytest.mark.parametrize(
    ("code", "freezes"), [("xid_79", True), ("xid_63", True), ("xid_31", False)]
)
def test_an_xid_freezes_unless_it_is_an_applications(
    tmp_path: Path, code: str, freezes: bool
) -> None:
    fault = xid(10, code)
    writer = Writer(tmp_path, SHORT)
    play(writer, range(10))
    play(writer, range(10, 30), events=(fault,))
    assert [one.reason for one in frozen_of(tmp_path)] == ([code] if freezes else [])


def test_what_was_so_from_the_beginning_freezes_nothing(tmp_path: Path) -> None:
    writer = Writer(tmp_path, SHORT)
    play(writer, range(30), states=LOST, events=(xid(-100),))
    assert not frozen_of(tmp_path)


def test_an_event_that_is_reported_late_freezes_nothing(tmp_path: Path) -> None:
    writer = Writer(tmp_path, SHORT)
    play(writer, range(2))
    play(writer, range(2, 30), events=(xid(-100),))
    assert not frozen_of(tmp_path)


def test_a_user_who_writes_into_the_kernel_log_freezes_nothing(tmp_path: Path) -> None:
    forged = msgspec.structs.replace(xid(3), trusted=False)
    writer = Writer(tmp_path, SHORT)
    play(writer, range(3))
    play(writer, range(3, 30), events=(forged,))
    assert not frozen_of(tmp_path)


def test_what_follows_within_the_time_after_is_of_the_same_file(tmp_path: Path) -> None:
    writer = Writer(tmp_path, SHORT)
    play(writer, range(10))
    play(writer, range(10, 18), events=(xid(10),))
    play(writer, range(18, 60), events=(xid(10),), states=LOST)
    (frozen,) = frozen_of(tmp_path)
    assert frozen.reason == "xid_79"
    assert span(frozen.path) == (0, 27)


def test_a_device_that_comes_and_goes_freezes_once_an_hour(tmp_path: Path) -> None:
    writer = Writer(tmp_path, SHORT)
    for start in range(0, 200, 40):
        play(writer, range(start, start + 20))
        play(writer, range(start + 20, start + 40), states=LOST)
    assert len(frozen_of(tmp_path)) == 1
    play(writer, range(4000, 4010))
    play(writer, range(4010, 4030), states=LOST)
    assert len(frozen_of(tmp_path)) == 2


def test_the_newest_of_too_many_frozen_files_stay(tmp_path: Path) -> None:
    bounds = msgspec.structs.replace(SHORT, frozen_files=3, again_s=0.0)
    writer = Writer(tmp_path, bounds)
    for start in range(0, 240, 40):
        play(writer, range(start, start + 20))
        play(writer, range(start + 20, start + 40), states=LOST)
    assert [one.time - NOW for one in frozen_of(tmp_path)] == [220, 180, 140]


def test_frozen_files_stay_within_their_bytes(tmp_path: Path) -> None:
    bounds = msgspec.structs.replace(SHORT, frozen_bytes=40_000, again_s=0.0)
    writer = Writer(tmp_path, bounds)
    for start in range(0, 400, 40):
        play(writer, range(start, start + 20))
        play(writer, range(start + 20, start + 40), states=LOST)
        assert sum(one.bytes for one in frozen_of(tmp_path)) <= 40_000
    assert frozen_of(tmp_path)


def test_frozen_files_go_when_they_are_old(tmp_path: Path) -> None:
    bounds = msgspec.structs.replace(SHORT, frozen_age_s=1000.0, again_s=0.0)
    writer = Writer(tmp_path, bounds)
    for start in (0, 2000):
        play(writer, range(start, start + 20))
        play(writer, range(start + 20, start + 40), states=LOST)
    assert [one.time - NOW for one in frozen_of(tmp_path)] == [2020]


def test_the_ring_stays_within_its_bytes(tmp_path: Path) -> None:
    bounds = msgspec.structs.replace(SHORT, segment_bytes=8_000, ring_bytes=24_000)
    writer = Writer(tmp_path, bounds)
    for second in range(200):
        writer.record(shot(second))
        finished = [one for one in segments(tmp_path) if not one.left]
        assert sum(one.bytes for one in finished) <= 24_000
    writer.close()


def test_two_snapshots_of_one_time_are_one_document(tmp_path: Path) -> None:
    writer = Writer(tmp_path, SHORT)
    for quarter in range(40):
        writer.record(shot(quarter / 4))
    writer.close()
    with Recording.open(tmp_path) as recording:
        assert len(recording) == 10


def test_the_time_of_an_event_is_kept_however_soon_after_another(tmp_path: Path) -> None:
    writer = Writer(tmp_path, SHORT)
    writer.record(shot(0))
    writer.record(shot(0.2, states=LOST))
    writer.close()
    with Recording.open(tmp_path) as recording:
        assert [time - NOW for time in recording.times()] == pytest.approx([0, 0.2])


def _abandon(writer: Writer) -> None:
    """What SIGKILL leaves: the file as it is, and the lock gone."""
    assert writer._lock is not None
    os.close(writer._lock)
    writer._lock = None


def test_what_a_killed_writer_left_is_in_the_next_ones_file(tmp_path: Path) -> None:
    killed = Writer(tmp_path, SHORT)
    play(killed, range(30))
    _abandon(killed)
    writer = Writer(tmp_path, SHORT)
    play(writer, range(31, 40))
    play(writer, range(40, 60), states=LOST)
    (frozen,) = frozen_of(tmp_path)
    assert span(frozen.path) == (0, 49)


def test_a_segment_whose_end_did_not_fit_is_joined_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Recorder) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    writer = Writer(tmp_path, SHORT)
    play(writer, range(20))
    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "_close_block", full)
        play(writer, range(20, 22))  # ends the first segment
    play(writer, range(22, 30))
    play(writer, range(30, 50), states=LOST)
    (frozen,) = frozen_of(tmp_path)
    assert span(frozen.path) == (0, 39)
    with Recording.open(frozen.path) as recording:
        assert len(recording) == 40


def test_a_writer_that_was_killed_while_it_mended_costs_nothing(tmp_path: Path) -> None:
    killed = Writer(tmp_path, SHORT)
    play(killed, range(15))
    _abandon(killed)
    (tmp_path / "mending.ndjson.zst.part").write_bytes(b"half")
    writer = Writer(tmp_path, SHORT)
    play(writer, range(15, 20))
    play(writer, range(20, 40), states=LOST)
    (frozen,) = frozen_of(tmp_path)
    assert span(frozen.path) == (0, 29)


def test_a_segment_that_cannot_be_mended_now_is_mended_by_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_: Recorder, *_line: object) -> None:
        raise AccelwatchError("No space left on device")

    killed = Writer(tmp_path, SHORT)
    play(killed, range(30))
    _abandon(killed)
    (left,) = [segment for segment in segments(tmp_path) if segment.left]
    data = left.path.read_bytes()
    writer = Writer(tmp_path, SHORT)
    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "write_line", full)
        writer.record(shot(31))
    play(writer, range(32, 34))
    writer.close()
    assert left.path.read_bytes() == data
    messages = [record.getMessage() for record in caplog.records]
    (message,) = [text for text in messages if "not repaired" in text]
    assert str(left.path) in message
    assert "No space left on device" in message
    again = Writer(tmp_path, SHORT)
    play(again, range(35, 40))
    play(again, range(40, 60), states=LOST)
    assert [segment for segment in segments(tmp_path) if segment.left and segment.number == 2] == []
    (frozen,) = frozen_of(tmp_path)
    assert span(frozen.path) == (0, 49)


@pytest.mark.parametrize("cut", [1, 5, 40, 400])
def test_a_damaged_end_costs_what_was_in_it(tmp_path: Path, cut: int) -> None:
    killed = Writer(tmp_path, SHORT)
    play(killed, range(15))
    _abandon(killed)
    (left,) = segments(tmp_path)
    data = left.path.read_bytes()
    left.path.write_bytes(data[:-cut] + bytes(3))
    writer = Writer(tmp_path, SHORT)
    play(writer, range(20, 30))
    play(writer, range(30, 50), states=LOST)
    (frozen,) = frozen_of(tmp_path)
    first, last = span(frozen.path)
    assert (first in (0, 20), last) == (True, 39)


def test_a_segment_of_rubbish_costs_only_itself(tmp_path: Path) -> None:
    (tmp_path / "ring-7-1800000000000-abc.ndjson.zst.part").write_bytes(b"rubbish" * 100)
    (tmp_path / "pending.json").write_bytes(b"{")
    writer = Writer(tmp_path, SHORT)
    play(writer, range(10))
    play(writer, range(10, 30), states=LOST)
    assert len(frozen_of(tmp_path)) == 1
    assert min(segment.number for segment in segments(tmp_path)) == 8


def test_an_event_of_a_writer_that_was_killed_after_it_is_frozen_by_the_next(
    tmp_path: Path,
) -> None:
    killed = Writer(tmp_path, SHORT)
    play(killed, range(10))
    play(killed, range(10, 14), states=LOST)
    _abandon(killed)
    writer = Writer(tmp_path, SHORT)
    writer.record(shot(3600))
    (frozen,) = frozen_of(tmp_path)
    assert (frozen.reason, span(frozen.path)) == ("lost", (0, 13))


@pytest.mark.parametrize(
    ("boot", "judge", "frozen"),
    [("b00t-0002", True, ["machine_down"]), ("b00t-0002", False, []), ("b00t-0001", True, [])],
)
def test_what_a_machine_left_that_went_down_is_frozen(
    tmp_path: Path, boot: str, judge: bool, frozen: list[str]
) -> None:
    killed = Writer(tmp_path, SHORT)
    play(killed, range(10))
    _abandon(killed)
    writer = Writer(tmp_path, SHORT, detect_restart=judge)
    play(writer, range(600, 602), boot=boot)
    assert [one.reason for one in frozen_of(tmp_path)] == frozen


def test_a_machine_that_was_shut_down_is_not_reported_as_gone_down(tmp_path: Path) -> None:
    ended = Writer(tmp_path, SHORT)
    play(ended, range(10))
    ended.close()
    play(Writer(tmp_path, SHORT), range(600, 602), boot="b00t-0002")
    assert not frozen_of(tmp_path)


def test_one_program_keeps_a_folder_and_the_next_takes_over(tmp_path: Path) -> None:
    one, other = Writer(tmp_path, SHORT), Writer(tmp_path, SHORT)
    one.record(shot(0))
    other.record(shot(1))
    assert other.trouble == "another program of this machine keeps it"
    one.close()
    play(other, range(2, 70))
    assert other.trouble == ""
    other.close()
    assert span(tmp_path) == (0, 69)


def test_a_folder_that_cannot_be_made_is_one_sentence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    writer = Writer(tmp_path / "file" / "box", SHORT)
    play(writer, range(130))
    assert writer.trouble.endswith("Not a directory")
    assert caplog.text.count("keeps nothing now") == 1


def test_a_full_disk_costs_the_black_box_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    writer = Writer(tmp_path, SHORT)
    play(writer, range(10))
    pwrite = os.pwrite

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    play(writer, range(10, 80))
    assert "No space left on device" in writer.trouble
    assert caplog.text.count("keeps nothing now") == 1
    monkeypatch.setattr(os, "pwrite", pwrite)
    play(writer, range(80, 150))
    assert writer.trouble == ""
    writer.close()
    with Recording.open(tmp_path) as recording:
        seconds = [time - NOW for time in recording.times()]
    assert (seconds[:10], seconds[-1]) == (list(range(10)), 149)


def test_a_freeze_that_finds_the_disk_full_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joins = []
    join = freezing._join

    def full_once(*args: object) -> None:
        joins.append(args)
        if len(joins) == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        join(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(freezing, "_join", full_once)
    writer = Writer(tmp_path, SHORT)
    play(writer, range(30))
    play(writer, range(30, 130), states=LOST)
    (frozen,) = frozen_of(tmp_path)
    assert len(joins) == 2
    assert span(frozen.path)[0] == 0
    assert not partial_path(frozen.path).exists()


def test_a_clock_that_is_set_back_neither_stops_nor_fills_it(tmp_path: Path) -> None:
    writer = Writer(tmp_path, SHORT)
    play(writer, range(5000, 5100))
    play(writer, range(200))
    starts = [segment.started - NOW for segment in segments(tmp_path)]
    assert starts == sorted(starts)
    assert starts[-1] >= 180
    writer.close()
