"""What was counted outlives who counts: the same sums as without a restart, whatever the file is."""

import asyncio
import json
import logging
from pathlib import Path

import msgspec
import pytest

from accelwatch.agent.using import Using
from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.base.slices import LongWork
from accelwatch.config.usage import UsageSettings
from accelwatch.node.usage.ledger import By, Ledger
from accelwatch.node.usage.ledger_file import FILE, LedgerFile
from accelwatch.node.usage.observation import observations_of
from accelwatch.node.usage.report import UsageReport, report
from accelwatch.schema.snapshot import DeviceView, Snapshot
from accelwatch.schema.stream.frames import frame
from node.usage.test_ledger import BUSY_AT_HALF, ENERGY, LOAD, MEMORY, START, job, process, view
from support.machines import composed as machines
from support.servers.fake_feed import FakeFeed

EACH_S = 10.0
MANY = 300


def reading(step: int) -> Snapshot:
    """A shared device, one of a job with a counter, one whose load is not told, and many of one job."""
    time = START + step * EACH_S
    shared = (
        process(1, "ada", utilization_ratio=0.6, start_time=START - 60.0),
        process(2, "bob", utilization_ratio=0.2),
    )
    views: list[DeviceView] = [
        view(BUSY_AT_HALF, processes=shared, time=time),
        view({**BUSY_AT_HALF, ENERGY: 400.0 * step}, index=1, owners=(job("1", "ada"),), time=time),
        view({MEMORY: 1 << 30}, index=2, owners=(job("2", "eve"),), time=time),
        *(
            view({LOAD: 0.9}, index=at, owners=(job(f"{at}", "kim"),), time=time)
            for at in range(3, MANY)
        ),
    ]
    return Snapshot(time=time, host="n1", version="1", devices=tuple(views))


def counted(ledger: Ledger, steps: range) -> Ledger:
    for step in steps:
        ledger.add(START + step * EACH_S, observations_of(reading(step)))
    return ledger


def reports_of(ledger: Ledger) -> list[UsageReport]:
    return [report(ledger, by, since) for by in By for since in (3600.0, None)]


def kept(path: Path, ledger: Ledger) -> None:
    asyncio.run(LedgerFile(path).save(ledger, LongWork().yield_control))


def loaded(path: Path, now: float) -> Ledger:
    ledger = Ledger(gap_limit_s=30.0)
    LedgerFile(path).load(ledger, now)
    return ledger


def test_a_restart_changes_nothing_of_what_is_reported(tmp_path: Path) -> None:
    path = tmp_path / FILE
    # A reading each 30 s, as rare as counts without a gap: over an hour of them, to outlast its window.
    before = counted(Ledger(gap_limit_s=30.0), range(0, 400, 3))
    kept(path, before)
    after = loaded(path, START + 400 * EACH_S)
    assert reports_of(after) == reports_of(before)
    whole, rest = counted(before, range(402, 450, 3)), counted(after, range(402, 450, 3))
    assert reports_of(rest) == reports_of(whole)
    rows = report(rest, By.JOB, None).rows
    assert len(rows) == MANY + 1  # two share a device
    assert {row.absent.get("load_ratio") for row in rows if row.job == "2"} == {Absence.PERMISSION}
    assert path.stat().st_mode & 0o777 == 0o600


def test_while_nobody_counted_there_is_no_data(tmp_path: Path) -> None:
    path = tmp_path / FILE
    kept(path, counted(Ledger(gap_limit_s=30.0), range(3)))
    rest = counted(loaded(path, START + 600.0), range(60, 61))
    (row,) = [row for row in report(rest, By.JOB, None).rows if row.job == "1"]
    assert (row.device_seconds, row.unseen_seconds) == (20.0, 580.0)


@pytest.mark.parametrize(
    ("later_s", "message"),
    [
        (3600.0, ""),
        (3601.0, "counted from zero: it was counted last 3601 s ago"),
        (-3600.0, ""),
        (-3601.0, "counted from zero: it was counted last 3601 s after what the clock says now"),
    ],
)
def test_after_an_hour_or_with_another_clock_it_is_counted_anew(
    tmp_path: Path, later_s: float, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    kept(tmp_path / FILE, counted(Ledger(gap_limit_s=30.0), range(3)))
    ledger = loaded(tmp_path / FILE, START + 20.0 + later_s)
    assert (ledger.total is None) is bool(message)
    assert message in caplog.text
    assert bool(caplog.text) is bool(message)


def test_a_clock_that_was_set_back_a_little_while_nobody_counted_is_followed(
    tmp_path: Path,
) -> None:
    kept(tmp_path / FILE, counted(Ledger(gap_limit_s=30.0), range(3)))
    ledger = loaded(tmp_path / FILE, START - 600.0)
    for step in range(2):
        ledger.add(
            START - 600.0 + step * EACH_S, observations_of(reading(step)), monotonic=step * EACH_S
        )
    assert {one.seconds for one in reports_of(ledger)} == {30.0}
    (row,) = [row for row in report(ledger, By.JOB, None).rows if row.job == "1"]
    assert (row.device_seconds, row.unseen_seconds) == (30.0, 0.0)


@pytest.mark.parametrize("set_by", [-7200.0, 86400.0])
def test_a_clock_that_was_set_before_a_restart_changes_nothing(
    tmp_path: Path, set_by: float
) -> None:
    ledger = Ledger(gap_limit_s=30.0)
    for monotonic_s, time in ((0.0, START), (10.0, START + 10.0), (20.0, START + 20.0 + set_by)):
        ledger.add(time, observations_of(reading(0)), monotonic=monotonic_s)
    kept(tmp_path / FILE, ledger)
    after = loaded(tmp_path / FILE, START + 25.0 + set_by)
    assert reports_of(after) == reports_of(ledger)
    after.add(START + 30.0 + set_by, observations_of(reading(3)), monotonic=7.0)
    assert {one.seconds for one in reports_of(after)} == {30.0}


def test_an_agent_counts_on_when_its_clock_is_set(tmp_path: Path) -> None:
    clock = ManualClock(wall=START)
    feed = FakeFeed(machines.snapshot(machines.view(0, sample_time=START), time=START))
    using = Using(feed, UsageSettings(), clock, tmp_path)
    for set_by in (0.0, 0.0, -7200.0, 86400.0):
        using.record_usage()
        clock.advance(5.0)
        clock.step_wall(set_by)
        at = clock.wall()
        feed.put(machines.snapshot(machines.view(0, sample_time=at), time=at))
    using.record_usage()
    page = json.loads(using.page({"by": ["job"], "since": ["job"]}, {}).body)
    assert (page["seconds"], page["total"]["device_seconds"]) == (20.0, 20.0)
    assert page["since"] < page["until"]


def _of_another_version(data: bytes) -> bytes:
    size = int.from_bytes(data[:4], "big")
    head = msgspec.msgpack.decode(data[4 : 4 + size])
    return frame(msgspec.msgpack.encode({**head, "version": 2})) + data[4 + size :]


DAMAGES = {
    "empty": lambda _: b"",
    "cut off": lambda data: data[:-10],
    "without its end": lambda data: data[: data.rindex(b"end") - 10],
    "without its head": lambda data: data[4 + int.from_bytes(data[:4], "big") :],
    "garbage": lambda _: b"\xff" * 100,
    "of another version": _of_another_version,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_set_aside(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / FILE
    kept(path, counted(Ledger(gap_limit_s=30.0), range(3)))
    damaged = DAMAGES[damage](path.read_bytes())
    path.write_bytes(damaged)
    ledger = loaded(path, START + 30.0)
    assert (ledger.total, ledger.accounts(By.JOB)) == (None, [])
    assert not path.exists()
    assert path.with_name(f"{FILE}.damaged").read_bytes() == damaged
    assert "usage is counted from zero" in caplog.text


def test_a_file_that_cannot_be_read_is_left_where_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).mkdir()
    assert loaded(tmp_path / FILE, START).total is None
    assert (tmp_path / FILE).is_dir()
    assert "Is a directory" in caplog.text


def test_what_cannot_be_written_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = LedgerFile(tmp_path / "folder" / FILE)
    (tmp_path / "folder").write_text("in the way")
    ledger = counted(Ledger(gap_limit_s=30.0), range(2))

    async def main() -> None:
        for _ in range(2):
            await file.save(ledger, LongWork().yield_control)
        (tmp_path / "folder").unlink()
        await file.save(ledger, LongWork().yield_control)

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    (message,) = caplog.messages
    assert "changes are kept in memory only" in message
    assert str(tmp_path / "folder" / FILE) in message
    assert (tmp_path / "folder" / FILE).exists()


def test_nothing_is_written_where_nothing_was_counted(tmp_path: Path) -> None:
    kept(tmp_path / FILE, Ledger(gap_limit_s=30.0))
    assert not (tmp_path / FILE).exists()
    assert loaded(tmp_path / FILE, START).total is None


def test_an_agent_goes_on_after_a_restart(tmp_path: Path) -> None:
    async def once(step: int) -> float:
        time = START + step * 5.0
        feed = FakeFeed(machines.snapshot(machines.view(0, sample_time=time), time=time))
        using = Using(feed, UsageSettings(), ManualClock(wall=time), tmp_path)
        using.start()
        await asyncio.sleep(0)
        page = using.page({"by": ["job"], "since": ["job"]}, {})
        await using.stop()
        total: float = json.loads(page.body)["total"]["device_seconds"]
        return total

    async def main() -> None:
        assert [await once(step) for step in range(3)] == [0.0, 5.0, 10.0]

    asyncio.run(main())
