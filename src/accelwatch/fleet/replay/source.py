"""A history archive as the Fleet screen's source: the moment that is shown, made on a reading thread."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from accelwatch.alerting.evaluation.explanation import Explanation
from accelwatch.base.clock import Clock, SystemClock
from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch.expr import Expression
from accelwatch.fleet.documents.graphs import IncidentGraphs
from accelwatch.fleet.picture.model import FleetView, Problem, RecentHistory
from accelwatch.fleet.picture.timeline import Marker, Playback, Timeline
from accelwatch.fleet.replay.archive import ReplayedArchive
from accelwatch.fleet.replay.backtest_process import BacktestProcess
from accelwatch.fleet.replay.incident_markers import IncidentMarkers, described
from accelwatch.fleet.replay.incident_notes import incidents_at, rules_now
from accelwatch.fleet.replay.node import ArchivedNode
from accelwatch.fleet.replay.pace import Pace
from accelwatch.fleet.replay.worker import ReadingThread
from accelwatch.node.usage.report import UsageReport

# Between two pictures.
_LEAST_S = 0.2
# How often the time line is remade while the archive is scanned.
_SCAN_POLL_S = 0.5


class ArchiveSource:
    """Implements `FleetSource` and its `Player`; the loop's thread only, but for what is read."""

    def __init__(
        self,
        archive: ReplayedArchive,
        name: str,
        *,
        incidents: Iterable[Marker] = (),
        backtest_command: Sequence[str] = (),
        clock: Clock | None = None,
    ) -> None:
        """`name` describes the source in a few words; `backtest_command` starts the search for
        incidents.
        """
        self._clock = clock or SystemClock()
        self._archive = archive
        self.name = name
        self.player = self
        self.changes = self.remedies = None
        contents = self._archive.contents
        self._step_s = contents.interval_s
        self._pace = Pace(contents.first / 1000, contents.last / 1000, self._clock.monotonic)
        self._thread = ReadingThread("archive")
        self._scan = self._archive.scan
        self._incidents = IncidentMarkers(self._pace.first, self._pace.last, incidents)
        self._timeline = self._archive.timeline()
        # How the scan goes.
        self._scan_note = self._timeline.note
        self._backtest_command = backtest_command
        self._backtest_note = ""
        self._with_incidents()
        self._view: FleetView | None = None
        self._problem: Problem | None = None
        self._filter = ""
        self._condition: Expression | None = None
        self._moved = asyncio.Event()
        self._changed: Callable[[], None] = lambda: None
        self._interval_s = _LEAST_S
        self._nodes: list[ArchivedNode] = []

    def fleet(self) -> FleetView | None:
        """The picture of the moment; None until the first."""
        return self._view

    def problem(self) -> Problem | None:
        """What is wrong with the archive as a whole; files that cannot be read are in the view."""
        return self._problem

    def set_interval(self, interval_s: float) -> None:
        """A picture this often while it plays."""
        self._interval_s = max(interval_s, _LEAST_S)

    def close(self) -> None:
        """Let the reading thread go."""
        self._thread.stop()

    async def acknowledge(self, node: str, device: str | None) -> str:  # noqa: ARG002 - protocol
        """Always refused. Raises UsageError."""
        raise UsageError("an archive is read-only")

    async def explain(self, rule: str, entity: str) -> Explanation:  # noqa: ARG002 - protocol
        """Nobody judges. Raises UsageError."""
        raise UsageError("an archive is read-only; accelwatch rules backtest evaluates it")

    async def usage(self, by: str, since: str) -> UsageReport:  # noqa: ARG002 - protocol
        """Nobody counts. Raises UsageError."""
        raise UsageError("usage is not counted of an archive; accelwatch usage asks a hub")

    def open_node(self, node: str) -> ArchivedNode:
        """A node as it was at the moment."""
        opened = ArchivedNode(self._archive, self._thread, node, lambda: self._pace.position)
        self._nodes = [opened]
        return opened

    async def device_history(self, node: str, device: str) -> RecentHistory | None:
        """The hour of a device before the moment."""
        now = _ms(self._shown)
        with contextlib.suppress(AccelwatchError):
            return await self._thread.call(lambda: self._archive.device_history(node, device, now))
        return None

    async def graphs(self, incident: str) -> IncidentGraphs | None:  # noqa: ARG002 - protocol
        """A hub makes them of what it keeps; of an archive the history of the device is drawn."""
        return None

    async def fleet_history(self) -> RecentHistory | None:
        """Sums over the fleet are not kept in an archive."""
        return None

    @property
    def _shown(self) -> float:
        return self._pace.position if self._view is None else self._view.time

    def set_filter(self, text: str) -> None:
        """Show only devices for which this condition holds; empty: all."""
        if text != self._filter:
            self._filter = text
            self._moved.set()

    @property
    def timeline(self) -> Timeline:
        """The whole span, as far as it is known by now."""
        return self._timeline

    @property
    def playback(self) -> Playback:
        """Where it is and how it plays."""
        pace = self._pace
        return Playback(
            time=pace.position,
            playing=pace.playing,
            is_finished=pace.is_finished,
            speed=pace.speed,
            loop=pace.loop,
        )

    @property
    def progress(self) -> tuple[float, float, float]:
        """First, present and last moment, Unix seconds."""
        return self._pace.first, self._pace.position, self._pace.last

    def toggle_loop(self) -> None:
        """Begin again at the end, or not."""
        self._pace.seek(self._pace.position)
        self._pace.loop = not self._pace.loop
        self._refresh()

    def _update_incidents(self, markers: Iterable[Marker], note: str) -> None:
        """The incidents that are known by now, and how the search goes."""
        if self._incidents.replace(markers) or note != self._backtest_note:
            self._backtest_note = note
            self._with_incidents()
            self._moved.set()

    def _with_incidents(self) -> None:
        notes = [note for note in (self._scan_note, self._backtest_note) if note]
        self._timeline = msgspec.structs.replace(
            self._timeline, incidents=self._incidents.markers, note="; ".join(notes)
        )

    def pause(self) -> None:
        """Stop, or go on; at the end, begin again."""
        self._pace.pause()
        self._refresh()

    def faster(self, step: int) -> None:
        """The next speed of the list; a negative step is slower."""
        self._pace.faster(step)
        self._refresh()

    def step(self, intervals: int) -> None:
        """Stop, so many intervals on."""
        self._pace.stop()
        self._pace.seek(self._pace.position + intervals * self._step_s)
        self._refresh()

    def seek(self, time: float) -> None:
        """Go to a moment, Unix seconds; beyond the ends, to the end."""
        self._pace.seek(time)
        self._refresh()

    def seek_incident(self, step: int) -> str:
        """Go to where the next incident was opened, or the one before; what it is, in words."""
        marker = self._incidents.nearest(self._pace.position, step)
        if isinstance(marker, str):
            return marker
        self.seek(marker.opened)
        return described(marker)

    async def seek_event(self, step: int) -> str:
        """Go to the next event, or the one before; what it is, in words."""
        now, events = _ms(self._pace.position), self._archive.events
        search = events.following if step > 0 else events.preceding
        event = await self._thread.call(lambda: search(now))
        if event is None:
            return "no later event" if step > 0 else "no earlier event"
        self.seek(event.time / 1000)
        return f"{event.node}: {event.code or event.kind}"

    def _refresh(self) -> None:
        self._moved.set()
        self._changed()

    async def run(self, changed: Callable[[], None]) -> None:
        """Play until cancelled."""
        self._changed = changed
        self._thread.start(self._scan.steps())
        self._pace.start()
        beside = [asyncio.create_task(self._watch())]
        if self._backtest_command:
            backtest = BacktestProcess(
                self._backtest_command, self._pace.first, self._pace.last, self._update_incidents
            )
            beside.append(asyncio.create_task(backtest.run()))
        try:
            while True:
                self._moved.clear()
                await self._picture()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._wait()):
                        await self._moved.wait()
        finally:
            for task in beside:
                task.cancel()
            self._thread.stop()
            await asyncio.gather(*beside, return_exceptions=True)

    def _wait(self) -> float | None:
        """Seconds to the next picture; None until somebody moves."""
        if not self._pace.playing or self._pace.is_finished:
            return None
        return max(self._interval_s, min(self._step_s / self._pace.speed, 1.0))

    async def _picture(self) -> None:
        """Make the picture of the moment; the nodes that are open follow."""
        now, text = _ms(self._pace.position), self._filter
        try:
            view = await self._thread.call(lambda: self._made(now, text))
        except AccelwatchError as error:
            since = self._clock.wall() if self._problem is None else self._problem.since
            self._problem = Problem(text=str(error).partition("\n")[0], since=since)
        else:
            arrived = self._clock.monotonic()
            self._view = msgspec.structs.replace(
                view, arrived_s=arrived, **self._incident_fields(now)
            )
            self._problem = None
        for node in self._nodes:
            node.refresh()
        self._changed()

    def _incident_fields(self, now: int) -> dict[str, Any]:
        """What is known of incidents; nothing where nobody looks for them."""
        if not self._backtest_command and not self._incidents.markers:
            return {}
        incidents = incidents_at(self._incidents.markers, now / 1000)
        if self._view is not None and incidents == self._view.incidents:
            incidents = self._view.incidents
        return {"rules": rules_now(incidents), "incidents": incidents}

    def _made(self, now: int, text: str) -> FleetView:
        """On the reading thread. Raises ExpressionError."""
        condition = self._archive.condition(text)
        return self._archive.view(now, condition, text)

    async def _watch(self) -> None:
        """Keep the time line up to date while the archive is looked through."""
        complete, wait = False, _LEAST_S / 2
        while not complete:
            await asyncio.sleep(wait)
            wait = min(2 * wait, _SCAN_POLL_S)
            complete = await self._thread.call(lambda: self._scan.complete)
            self._timeline = await self._thread.call(self._archive.timeline)
            self._scan_note = self._timeline.note
            self._with_incidents()
            self._moved.set()  # more is known of who is expected


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
