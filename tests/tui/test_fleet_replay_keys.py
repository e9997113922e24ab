"""The Fleet screen over an archive: moving through time by keys and pointer."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.fleet.picture.timeline import Marker
from accelwatch.fleet.replay.archive import ReplayedArchive
from accelwatch.fleet.replay.source import ArchiveSource
from accelwatch.tui.app import Dashboard
from accelwatch.tui.widgets.time_line import TimeLine
from support.archives.history_archives import DAY
from support.archives.replay_archives import (
    END,
    HOUR,
    LOST_FROM,
    MARKS,
    MINUTE,
    SILENT_FROM,
    STEP_S,
    bad_day,
)
from support.dashboards.local import Stage, board_of
from support.processes.waiting import GUARD_S

LAST = END / 1000 - STEP_S


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bad_day(tmp_path_factory.mktemp("archive") / "fleet")


class ReplayStage(Stage):
    """A dashboard over an archive in the hands of a test."""

    source: ArchiveSource

    @property
    def time_ms(self) -> float:
        """Where it is, in milliseconds."""
        return round(self.source.playback.time * 1000)

    async def shown(self, *keys: str) -> None:
        """Keys, then the picture of where they led to."""
        await self.press(*keys)
        async with asyncio.timeout(GUARD_S):
            while (view := self.source.fleet()) is None or abs(
                view.time - self.source.playback.time
            ) > 0.001:
                await self.pilot.pause(0.01)
        self.app.pull_fleet()
        await self.pilot.pause()

    async def scanned(self) -> None:
        """Until the whole archive was looked through."""
        async with asyncio.timeout(GUARD_S):
            while self.source.timeline.note:
                await self.pilot.pause(0.01)
        await self.shown()


@contextlib.asynccontextmanager
async def replaying(
    folder: Path, size: tuple[int, int] = (120, 40), incidents: Sequence[Marker] = MARKS
) -> AsyncIterator[ReplayStage]:
    """The dashboard, stopped at the beginning."""
    clock = ManualClock()
    source = ArchiveSource(
        ReplayedArchive(folder), "archive fleet", incidents=incidents, clock=clock
    )
    source.pause()
    app = Dashboard(board_of(), None, fleet=source, clock=clock)
    async with app.run_test(size=size) as pilot:
        stage = ReplayStage(app, pilot)
        stage.source = source
        await stage.shown()
        yield stage


def on(
    folder: Path,
    check: Callable[[ReplayStage], Awaitable[None]],
    size: tuple[int, int] = (120, 40),
) -> None:
    async def go() -> None:
        async with replaying(folder, size) as stage:
            await check(stage)

    asyncio.run(go())


def test_it_starts_with_the_keys_on_the_time_line(folder: Path) -> None:
    async def check(stage: ReplayStage) -> None:
        text = stage.text()
        assert "archive fleet" in text
        assert "3 nodes" in text
        assert "■ stopped 2026-03-01" in stage.line_with("archive fleet")
        assert isinstance(stage.app.focused, TimeLine)
        assert "n incident   v event" in stage.line_with("quit")

    on(folder, check)


def test_arrows_home_end_and_pages_go_along_the_line(folder: Path) -> None:
    async def check(stage: ReplayStage) -> None:
        cell = (LAST - DAY / 1000) / 120
        await stage.shown("right", "right")
        assert stage.time_ms == pytest.approx(DAY + 2000 * cell, abs=2)
        await stage.shown("left")
        assert stage.time_ms == pytest.approx(DAY + 1000 * cell, abs=2)
        await stage.shown("end")
        assert stage.time_ms == LAST * 1000
        await stage.shown("pageup")
        assert stage.time_ms == pytest.approx(DAY + 0.9 * (LAST * 1000 - DAY), abs=2)
        await stage.shown("home")
        assert stage.time_ms == DAY

    on(folder, check)


def test_minutes_hours_and_steps(folder: Path) -> None:
    async def check(stage: ReplayStage) -> None:
        await stage.shown("right_curly_bracket", "right_square_bracket")
        assert stage.time_ms == DAY + HOUR + MINUTE
        await stage.shown("left_curly_bracket", "full_stop")
        assert stage.time_ms == DAY + MINUTE + STEP_S * 1000
        await stage.shown("comma", "left_square_bracket")
        assert stage.time_ms == DAY

    on(folder, check)


def test_to_incidents_and_back(folder: Path) -> None:
    async def check(stage: ReplayStage) -> None:
        await stage.shown("n")
        assert stage.time_ms == SILENT_FROM + 5 * MINUTE
        assert "watch: node_silent on node001, still open at the end" in stage.text()
        assert "✕ down   node001" in stage.text()
        await stage.shown("n")
        assert stage.time_ms == LOST_FROM + MINUTE
        assert "open: 2  ✕ device_lost node000  ▲ node_silent node001" in stage.text()
        assert "✕ 1 lost" in stage.line_with("devices")
        await stage.shown("n")
        assert "no later incident" in stage.text()
        await stage.shown("N", "N")
        assert "no earlier incident" in stage.text()
        assert stage.time_ms == SILENT_FROM + 5 * MINUTE

    on(folder, check)


def test_the_incidents_screen_has_those_of_the_time(folder: Path) -> None:
    async def check(stage: ReplayStage) -> None:
        await stage.shown("n", "5")
        assert "1 open  ▲ 1 warning" in stage.text()
        await stage.shown("n")
        assert "2 open  ✕ 1 critical  ▲ 1 warning" in stage.text()
        await stage.shown("end", "home", "enter")
        await stage.until("an archive is read-only")
        assert "device_lost" in stage.line_with("rule")
        await stage.press("escape", "2")
        await stage.shown("home")
        assert stage.time_ms == DAY
        await stage.press("5")
        await stage.until("no incident is known up to this moment")

    on(folder, check)


def test_where_nobody_looks_for_incidents_the_screen_says_so(folder: Path) -> None:
    async def go() -> None:
        async with replaying(folder, incidents=()) as stage:
            await stage.press("5")
            await stage.until("no back-test looks for incidents in this archive")
            await stage.press("2", "n")
            assert "no incidents are known" in stage.text()

    asyncio.run(go())


def test_to_events_and_back(folder: Path) -> None:
    async def check(stage: ReplayStage) -> None:
        await stage.press("v")
        await stage.until("node001: oom_kill")
        assert stage.time_ms == SILENT_FROM - MINUTE
        await stage.press("v")
        await stage.until("node000: xid_79")
        await stage.press("V")
        await stage.until("node001: oom_kill")
        await stage.press("V")
        await stage.until("no earlier event")
        await stage.shown("end", "E", "v")
        await stage.until("no later event")
        assert "3 events, newest first" in stage.text()

    on(folder, check)


def test_to_a_time(folder: Path) -> None:
    async def check(stage: ReplayStage) -> None:
        await stage.shown("at", *"2026-03-01T03:00:00Z", "enter")
        assert stage.time_ms == DAY + 3 * HOUR
        await stage.shown("at", *"+90m", "enter")
        assert stage.time_ms == DAY + 3 * HOUR + 90 * MINUTE
        await stage.press("at", *"soon", "enter")
        assert "no moment 'soon'" in stage.text()

    on(folder, check)


def test_it_plays_faster_slower_and_stops(folder: Path) -> None:
    async def check(stage: ReplayStage) -> None:
        clock = stage.app.clock
        assert isinstance(clock, ManualClock)
        await stage.press("space")
        assert stage.source.playback.playing
        clock.advance(10)
        assert stage.time_ms == DAY + 10 * MINUTE
        await stage.press("plus")
        assert stage.source.playback.speed == 300.0
        await stage.press("minus", "minus", "p")
        assert (stage.source.playback.speed, stage.source.playback.playing) == (30.0, False)
        await stage.press("l")
        assert stage.source.playback.loop

    on(folder, check)


def test_up_and_down_lead_from_the_time_line_to_the_nodes_and_back(folder: Path) -> None:
    async def check(stage: ReplayStage) -> None:
        await stage.press("up")
        assert isinstance(stage.app.focused, TimeLine)
        await stage.press("down")
        assert stage.app.focused is stage.app.screen.query_one("#nodes")
        await stage.press("down", "end")
        assert stage.time_ms == DAY
        await stage.press("home", "up")
        assert isinstance(stage.app.focused, TimeLine)

    on(folder, check)


def test_a_click_goes_to_what_is_under_the_pointer(folder: Path) -> None:
    async def check(stage: ReplayStage) -> None:
        await stage.press("down")
        await stage.pilot.click("#timeline", offset=(60, 0))
        await stage.shown()
        assert stage.time_ms == pytest.approx((DAY + LAST * 1000) / 2, abs=1)
        assert isinstance(stage.app.focused, TimeLine)

    on(folder, check)


def test_the_line_shows_events_incidents_maintenance_and_silence(folder: Path) -> None:
    async def check(stage: ReplayStage) -> None:
        await stage.scanned()
        await stage.shown("end")
        line = stage.text().splitlines()[4]
        assert line[(SILENT_FROM + 5 * MINUTE - DAY) * 120 // (9 * HOUR)] == "▲"
        assert "✕" in line
        assert "no maintenance" not in stage.text()

    on(folder, check)


def test_a_node_is_opened_as_it_was_with_its_job_and_its_past(folder: Path) -> None:
    async def check(stage: ReplayStage) -> None:
        await stage.shown("n", "n", "down", "slash", *'node == "node000"', "enter")
        await stage.until("filter node")
        await stage.press("enter")
        await stage.until("drain the node")
        assert stage.screen_name == "local"
        text = stage.text()
        assert "node000" in text
        assert "lost" in text
        assert "2026-03-01" in text
        history = stage.app.board.history
        async with asyncio.timeout(GUARD_S):
            while not any(
                value == 500
                for value in history.series(
                    "nvidia:GPU-0-0", "power_watts", stage.time_ms / 1000, hour=True
                )
            ):
                await stage.pilot.pause(0.01)
        await stage.press("home", "right_curly_bracket")
        await stage.shown()
        await stage.press("escape")
        assert stage.screen_name == "fleet"

    on(folder, check)


def test_nothing_is_acknowledged_in_an_archive(folder: Path) -> None:
    async def check(stage: ReplayStage) -> None:
        await stage.shown("n", "down", "A")
        assert "an archive is read-only" in stage.text()

    on(folder, check)


@pytest.mark.parametrize(("rows", "lines"), [(12, 1), (18, 2), (24, 3)])
def test_the_line_takes_what_the_terminal_has(folder: Path, rows: int, lines: int) -> None:
    async def check(stage: ReplayStage) -> None:
        assert stage.app.screen.query_one(TimeLine).size.height == lines

    on(folder, check, (80, rows))


def test_ages_do_not_grow_while_a_time_is_looked_at(folder: Path) -> None:
    async def check(stage: ReplayStage) -> None:
        await stage.scanned()
        await stage.shown("n")
        before = stage.line_with("node001")
        clock = stage.app.clock
        assert isinstance(clock, ManualClock)
        clock.advance(3600)
        stage.app.snapshot_feed.second()
        await stage.pilot.pause()
        assert stage.line_with("node001") == before

    on(folder, check)
