"""From the source of snapshots to the board and the history: when to read it, and what to paint."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from textual.timer import Timer

from accelwatch.fleet.picture.source import SnapshotSource
from accelwatch.tui.feeds.feed_host import FeedHost
from accelwatch.tui.feeds.fleet_feed import FleetFeed
from accelwatch.tui.feeds.history_feed import HistoryFeed
from accelwatch.tui.local.own_usage import OwnUsage
from accelwatch.tui.local.sources.replay import ReplaySource, banner

# Reports that come together are painted together, in the first seconds.
_GATHER_S = 0.05
# The same for the devices of one tick, of which some are slower to read.
_TICK_S = 0.15
# So long data is painted as it comes.
_YOUNG_S = 3.0
# Between two paintings of data, once the first seconds are over.
_GAP_S = 0.4


class SnapshotHost(FeedHost, Protocol):
    """What shows snapshots: the dashboard, as far as their feed needs it."""

    @property
    def readonly(self) -> bool:
        """Whether nothing may be changed."""
        ...

    def show_age(self) -> None:
        """Paint the present screen with greater ages."""
        ...

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call once, after so many seconds."""
        ...

    def set_interval(self, interval: float, callback: Callable[[], None]) -> Timer:
        """Call again and again."""
        ...


class SnapshotFeed:
    """Owns the source and its task."""

    def __init__(self, host: SnapshotHost, source: SnapshotSource, fleet: FleetFeed) -> None:
        self._host = host
        self.source = source
        self._fleet = fleet
        # Who uses this machine's devices.
        self.using = OwnUsage()
        self._history = HistoryFeed(host.board, host.report_task_failure)
        self._collecting: asyncio.Task[None] | None = None
        self._stopping: set[asyncio.Task[None]] = set()
        self._due = False
        # Paints ages; restarts with each painting of data, which has them too.
        self._ages: Timer | None = None
        # Monotonic seconds.
        self._painted = 0.0
        self._started_at = 0.0
        self._allow()

    def _allow(self) -> None:
        """What can be done with this source."""
        board, fleet = self._host.board, self._fleet.fleet_controller
        board.archive = fleet is not None and fleet.source.player is not None
        board.recorded = self.source.recorded or board.archive
        board.signals = self.source.local and not self._host.readonly

    def start(self) -> None:
        """Start to collect, and to paint ages."""
        self._started_at = self._host.clock.monotonic()
        self._collect()
        self.schedule()  # of a source that knows something already
        self._ages = self._host.set_interval(1.0, self.second)

    def _collect(self) -> None:
        self._collecting = asyncio.create_task(self.source.run(self.schedule))
        self._collecting.add_done_callback(self._host.report_task_failure)

    async def stop(self) -> None:
        """Stop all that was started."""
        tasks = [task for task in (self._history.task, self._collecting, *self._stopping) if task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def follow(self, source: SnapshotSource) -> None:
        """Read another source from now on, as if nothing had been shown before."""
        if self._collecting is not None:
            self._stopping.add(self._collecting)
            self._collecting.add_done_callback(self._stopping.discard)
            self._collecting.cancel()
        self.source.close()
        self.source = source
        self._allow()
        self._history.clear()
        self._host.board.restart()
        self._collect()

    def schedule(self) -> None:
        """There is something new: paint soon, together with what else comes."""
        if self._due:
            return
        self._due = True
        now = self._host.clock.monotonic()
        young = now - self._started_at < _YOUNG_S
        wait = _GATHER_S if young else max(_TICK_S, self._painted + _GAP_S - now)
        self._host.set_timer(wait, self.pull)

    def pull(self) -> None:
        """Read what the source has, and show it."""
        self._due = False
        self._painted = self._host.clock.monotonic()
        if self._ages is not None:
            self._ages.reset()
        snapshot = self.source.snapshot()
        if snapshot is None:
            return
        board = self._host.board
        if isinstance(self.source, ReplaySource):
            self._record_passed_frames(self.source)
        snapshot = self._fleet.aged(snapshot)
        self._fleet.update_banner()
        if not board.archive:
            self._history.note([snapshot])
        board.accept(snapshot)
        if self._fleet.fleet_controller is None:
            live = not isinstance(self.source, ReplaySource)
            self.using.observe(snapshot, self._painted if live else None)
        if not board.paused:
            self._host.show()

    def _record_passed_frames(self, source: ReplaySource) -> None:
        """Frames that were passed over belong to the history; a jump restarts it."""
        jumped, passed = source.drain()
        if jumped:
            self._host.board.forget()
        self._history.note(passed)
        self._host.board.banner = banner(source, self._host.board.paint.glyphs)

    def second(self) -> None:
        """Ages grow, and a source that has fallen silent makes its devices stale."""
        board = self._host.board
        idle = self._host.clock.monotonic() - self._painted
        self._fleet.update_node_status()
        if board.started and idle > board.preferences.interval_s + 1.0 and not self.source.recorded:
            self.pull()
        elif idle > board.preferences.interval_s:
            # A younger picture is about to be replaced, and is painted once.
            self._host.show_age()
