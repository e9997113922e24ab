"""Keeps the hub's archive: a round gathers the fleet in short slices, a thread encodes and writes.

A part is cut a minute behind the beginning of a round: whatever has an older time was gathered then.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.archive.history.rows import EventRow, Gathering
from accelwatch.base.clock import Clock
from accelwatch.base.errors import AccelwatchError
from accelwatch.base.slices import LongWork
from accelwatch.fleet.archive.jobs import JobBook
from accelwatch.fleet.archive.maintenance import MaintenanceBook
from accelwatch.fleet.archive.observed import observed, owners_of
from accelwatch.fleet.archive.settings import History
from accelwatch.fleet.rounds import rounds
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.node import Node, speaks_for
from accelwatch.fleet.state.snapshots import snapshot_of
from accelwatch.schema.reading import Number
from accelwatch.system.daemon.memory import give_back

logger = logging.getLogger(__name__)

# A kill costs no more than this.
_CUT_EVERY_S = 300.0
_BEHIND_S = 60.0
# An agent that reconnects sends the events of the gap; older events are not new.
_EVENTS_BEHIND_MS = 600_000
# A pause is at most so many times as long as the slice before it.
_MAX_PAUSE = 3.0
_MAX_EVENTS = 100_000
# Nodes that the log names in a day because they have too many series.
_MOST_WARNINGS = 20


Windows = Callable[[], Iterable[Maintenance] | None]


class Recorder:
    """Writes one archive; the loop's thread only, but for what `_writing` says."""

    def __init__(
        self, settings: History, fleet: Fleet, clock: Clock, windows: Windows = lambda: None
    ) -> None:
        """`windows` gives the maintenance that is not over, or None when nobody can say.

        Raises ArchiveError when the folder cannot be written or is somebody else's.
        """
        from accelwatch.archive.history.bounds import Bounds
        from accelwatch.archive.history.reading.reader import Archive
        from accelwatch.archive.history.writer import Writer

        assert settings.folder is not None
        self._settings = settings
        self._fleet = fleet
        self._clock = clock
        folder = Path(settings.folder)
        self._writer: Writer = Writer(
            folder,
            interval_s=settings.interval_s,
            source="accelwatch hub",
            bounds=Bounds(keep_s=settings.keep_s, max_bytes=settings.max_size_bytes),
        )
        self._jobs = JobBook(Archive(folder).jobs())
        self._maintenance = MaintenanceBook(Archive(folder).maintenance())
        self._windows = windows
        self._gathering = Gathering()
        # Time of the newest sample of each node, Unix milliseconds.
        self._newest_sample: dict[str, int] = {}
        self._event = fleet.events.last
        self._cut_at = 0.0
        # The newest batch that a thread was given.
        self._handed: asyncio.Future[None] | None = None
        self._complaint = ""
        self._dropped = 0
        # Nodes of which people were notified today that they have too many series.
        self._crowded: set[str] = set()

    async def run(self) -> None:
        """Record at the interval until cancelled."""
        await rounds(self._settings.interval_s, self.round, "the history archive")

    async def round(self) -> None:
        """Gather what is new of the fleet, hand it to the thread, and cut a part when one is due."""
        started = self._clock.wall()
        work = LongWork()
        for name in list(self._fleet.nodes):
            node = self._fleet.nodes.get(name)
            if node is not None:
                self._node(node)
            await work.yield_control(_MAX_PAUSE)
        self._warn_of_refused()
        self._events()
        windows = self._windows()
        if windows is not None:
            self._maintenance.observe(int(self._clock.wall() * 1000), windows)
        batch = self._gathering.pop_batch(self._jobs.pop_rows(), self._maintenance.pop_rows())
        now = self._clock.monotonic()
        since = now - self._cut_at
        cut = since >= _CUT_EVERY_S or (since >= _BEHIND_S and self._writer.is_backlogged)
        if cut:
            self._cut_at = now
            oldest = int((started - self._settings.keep_s) * 1000)
            self._jobs.forget(oldest)
            self._maintenance.forget(oldest)
        before = int((started - _BEHIND_S) * 1000) if cut else 0
        self._handed = asyncio.ensure_future(asyncio.to_thread(self._writing, batch, before))
        # A thread goes on when who waits for it is cancelled: `close` has to know of it.
        await asyncio.shield(self._handed)

    def _writing(self, batch: object, before: int) -> None:
        """On a thread: encode, and write when a part is due; log each failure once."""
        self._writer.add(batch)  # type: ignore[arg-type]
        if not before:
            return
        try:
            self._writer.cut(before, before - _EVENTS_BEHIND_MS)
        except AccelwatchError as error:
            if self._complaint != str(error):
                logger.error("%s", error)
            self._complaint = str(error)
        else:
            if self._complaint:
                logger.info("the history archive goes well again")
            self._complaint = ""
        finally:
            _release_memory()
        if self._writer.dropped > self._dropped:
            more, self._dropped = self._writer.dropped - self._dropped, self._writer.dropped
            logger.warning("the history archive lacks %d samples", more)

    def _warn_of_refused(self) -> None:
        """Say once a day of each node that not all of its series are archived."""
        refused = self._gathering.admission.refused
        self._crowded &= refused.keys()
        for node in refused.keys() - self._crowded:
            self._crowded.add(node)
            if len(self._crowded) <= _MOST_WARNINGS:
                logger.warning(
                    "node %s has too many different series for the history archive today; "
                    "what is new is left out",
                    node,
                )

    def _node(self, node: Node) -> None:
        """A node's sample, if a new one has arrived."""
        best = node.best
        if best is None or not speaks_for(self._fleet.state_of(node)):
            return
        stamp = int(best.arrived_wall * 1000)
        if stamp <= self._newest_sample.get(node.name, 0):
            return
        self._newest_sample[node.name] = stamp
        snapshot = snapshot_of(self._fleet, node)
        observation = observed(snapshot)
        for device, values in observation.devices:
            self._gathering.device(stamp, node.name, device.id, device.model, values)
        values = {**observation.node, **_of_reading(node)}
        self._gathering.node(stamp, node.name, values)
        self._jobs.observe(stamp, node.name, owners_of(snapshot))

    def _events(self) -> None:
        """The events since the round before; their times are on the hub's clock."""
        new = self._fleet.events.after(self._event)
        self._event = self._fleet.events.last
        for noted in new:
            event = noted.event
            if len(self._gathering.events) < _MAX_EVENTS and 0 < event.time < 1e11:
                self._gathering.events.append(
                    EventRow(
                        time=int(event.time * 1000),
                        node=noted.node,
                        device=event.device_id or None,
                        kind=kind_of(event.code),
                        code=event.code,
                        text=event.text,
                    )
                )

    async def close(self) -> None:
        """Write what waits and let another write."""
        if self._handed is not None:
            await asyncio.wait([self._handed])
        batch = self._gathering.pop_batch(self._jobs.pop_rows(), self._maintenance.pop_rows())
        self._writer.add(batch)
        try:
            await asyncio.to_thread(self._writer.close, int(self._clock.wall() * 1000) + 1)
        except AccelwatchError as error:
            logger.error("%s", error)


def _release_memory() -> None:
    """Return to the kernel what a part, or the merge of an hour, needed: much, and seldom."""
    from accelwatch.archive.history.files import release_unused

    release_unused()
    give_back()


def kind_of(code: str) -> str:
    """The kind of an event: what stands before the number or detail of its code."""
    return code.partition("_")[0]


def _of_reading(node: Node) -> dict[tuple[str, ...], Number]:
    """How the node was read."""
    best = node.best
    values: dict[tuple[str, ...], Number] = {}
    if best is not None and best.read_s is not None:
        values["fleet_target_read_duration_seconds",] = best.read_s
    if best is not None and best.skew.seconds is not None:
        values["fleet_target_clock_skew_seconds",] = best.skew.seconds
    return values
