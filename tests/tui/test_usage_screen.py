"""The Usage screen: `u`, of this machine and of a fleet."""

import asyncio
import re

import msgspec
import pytest

from accelwatch.base.errors import AccelwatchError
from accelwatch.node.usage.ledger import By
from accelwatch.node.usage.report import UsageReport
from accelwatch.schema.snapshot import Owner, Snapshot
from accelwatch.tui.drawing.glyphs import ASCII, UNICODE
from accelwatch.tui.fleet.query_cache import QueryCache
from accelwatch.tui.local.own_usage import OwnUsage
from accelwatch.tui.views import usage_lines
from support.dashboards.fleets import FedFleet, FleetStage, fleet_view, following
from support.dashboards.local import FedSource, node, running, texts


def owned(seconds: float) -> Snapshot:
    """Two devices, one of a job of ada's, so many seconds after the first picture."""
    shot = node(2)
    first, second = shot.devices
    owner = Owner(kind="job", scheduler="slurm", job_id="4718", user="ada")
    views = [
        msgspec.structs.replace(
            one,
            owners=owners,
            sample_time=shot.time + seconds,
            reading=msgspec.structs.replace(one.reading, processes=()),
        )
        for one, owners in ((first, (owner,)), (second, ()))
    ]
    return msgspec.structs.replace(shot, time=shot.time + seconds, devices=tuple(views))


def counted() -> OwnUsage:
    own = OwnUsage()
    for seconds in (0.0, 5.0, 9.0, 10.0, 15.0):
        own.observe(owned(seconds))
    return own


def test_a_dashboard_counts_from_its_second_look_on_and_not_at_each_picture() -> None:
    report = counted().report(owned(15.0), By.JOB, None)
    assert [row.job for row in report.rows] == ["4718", None]
    assert report.total is not None
    assert report.total.device_seconds == 20.0
    assert "an agent counts all the time" in report.notes[0]


@pytest.mark.parametrize("set_by", [-7200.0, 86400.0])
def test_a_dashboard_counts_on_when_the_clock_is_set(set_by: float) -> None:
    own = OwnUsage()
    for monotonic, time in ((0.0, 0.0), (5.0, 5.0), (10.0, 10.0), (15.0, 15.0 + set_by)):
        own.observe(owned(time), monotonic)
    report = own.report(owned(15.0 + set_by), By.JOB, None)
    assert report.total is not None
    assert (report.seconds, report.total.device_seconds) == (10.0, 20.0)


def test_the_table_as_lines() -> None:
    report = counted().report(owned(15.0), By.JOB, None)
    lines = texts(usage_lines.lines(report, "", 160, UNICODE, ages=True)).splitlines()
    assert lines[0].split()[:4] == ["JOB", "USER", "DEVICES", "HELD"]
    assert "COUNTED SINCE" in lines[0]
    assert lines[1].split()[:3] == ["4718", "ada", "1"]
    assert lines[2].split()[0] == "(nobody)"
    assert lines[3].split()[0] == "total"


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100])
@pytest.mark.parametrize("ages", [False, True])
def test_columns_give_way_whole_and_sentences_are_wrapped(width: int, ages: bool) -> None:
    report = counted().report(owned(15.0), By.JOB, None)
    wide = texts(usage_lines.lines(report, "", 200, UNICODE, ages=ages)).splitlines()
    lines = texts(usage_lines.lines(report, "", width, UNICODE, ages=ages)).splitlines()
    assert all(len(line) <= width for line in lines)
    assert "HELD" in lines[0]
    for line, whole in zip(lines[:4], wide[:4], strict=True):
        assert set(re.split(r"  +", line.strip())) <= set(re.split(r"  +", whole.strip()))
    assert " ".join(" ".join(lines[4:]).split()) == " ".join(" ".join(wide[4:]).split())


def test_a_name_gives_way_before_a_column_does() -> None:
    report = counted().report(owned(15.0), By.JOB, None)
    rows = tuple(msgspec.structs.replace(row, job="a" * 70) for row in report.rows)
    long = msgspec.structs.replace(report, rows=rows)
    lines = texts(usage_lines.lines(long, "", 80, UNICODE, ages=False)).splitlines()
    assert "aaaa… " in lines[1]
    assert "ENERGY" in lines[0]


def test_without_an_answer_it_says_so() -> None:
    assert "asking" in texts(usage_lines.lines(None, "", 80, ASCII, ages=False))
    assert "no hub" in texts(usage_lines.lines(None, "no hub", 80, ASCII, ages=False))


def test_the_screen_of_this_machine() -> None:
    async def go() -> None:
        async with running(FedSource(owned(0.0))) as stage:
            await stage.press("u")
            assert stage.screen_name == "usage"
            assert stage.line_with("ada").split()[:2] == ["ada", "1"]
            await stage.press("t")
            assert stage.line_with("4718").split()[:2] == ["4718", "ada"]
            assert "COUNTED SINCE" not in stage.text()
            await stage.press("h")
            assert "COUNTED SINCE" in stage.text()
            await stage.press("escape")
            assert stage.screen_name == "local"

    asyncio.run(go())


class UsedFleet(FedFleet):
    """Tells of a report, and keeps what it was asked."""

    queries: tuple[tuple[str, str], ...] = ()
    report: UsageReport | None = None

    async def usage(self, by: str, since: str) -> UsageReport:
        self.queries = (*self.queries, (by, since))
        if self.report is None:
            raise AccelwatchError("hub: no such page")
        return self.report


def test_the_screen_of_a_fleet_asks_its_hub() -> None:
    async def go() -> None:
        source = UsedFleet(fleet_view())
        source.report = counted().report(owned(15.0), By.USER, None)
        async with following(source) as stage:
            await stage.press("u")
            await until_shown(stage, "ada")
            await stage.press("t")
            await until_shown(stage, "ada")
            assert source.queries == (("user", "1h"), ("job", "1h"))

    asyncio.run(go())


def test_a_hub_that_does_not_count_is_named() -> None:
    async def go() -> None:
        async with following(UsedFleet(fleet_view())) as stage:
            await stage.press("u")
            await until_shown(stage, "no such page")

    asyncio.run(go())


async def until_shown(stage: FleetStage, text: str) -> None:
    for _ in range(100):
        if text in stage.text():
            return
        await stage.pilot.pause()
    raise AssertionError(stage.text())


def test_a_hub_is_queried_again_after_a_while_only() -> None:
    async def go() -> None:
        times, queries, tasks = [0.0], list[str](), list["asyncio.Task[None]"]()

        async def ask(by: str, _since: str) -> UsageReport:
            queries.append(by)
            return counted().report(owned(15.0), By.USER, None)

        known = QueryCache(
            ask,
            lambda work: tasks.append(asyncio.create_task(work)),
            lambda: times[0],
            lambda: None,
        )
        for now in (0.0, 9.9, 10.0):
            times[0] = now
            known.newest("user", "1h")
            await asyncio.gather(*tasks)
        assert queries == ["user", "user"]
        assert known.newest("user", "1h") is not None

    asyncio.run(go())
