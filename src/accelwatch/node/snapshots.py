"""Readings of this machine for programs: one snapshot, or one each interval.

The command line and the Python API (`accelwatch.snapshot`, `accelwatch.watch`) both come here.
"""

import contextlib
from collections.abc import AsyncGenerator, Generator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from accelwatch.base.errors import UsageError
from accelwatch.node.sampler.one_shot import LATE, Isolation, OneShot, failure_of, read_once
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.schema.snapshot import with_absences

if TYPE_CHECKING:
    from pathlib import Path

    from accelwatch.base.clock import Clock
    from accelwatch.node.sampler.supervisor import Supervisor
    from accelwatch.node.store.reports import Report
    from accelwatch.node.store.store import Store
    from accelwatch.schema.snapshot import DeviceView, Snapshot

__all__ = [
    "CollectSettings",
    "Isolation",
    "OneShot",
    "first_recorded",
    "read_once",
    "read_repeatedly",
    "read_repeatedly_async",
    "recorded",
]


def read_repeatedly(
    settings: CollectSettings, *, count: int | None = None
) -> Generator["Snapshot", None, None]:
    """A snapshot every `settings.interval_s` seconds, `count` of them or for ever.

    A collector process reads the devices, and is restarted when a driver kills it. The first snapshot
    comes when every backend has had its turn, or after `settings.timeout_s`. Ticks do not drift: a
    consumer that is too slow skips some. Closing the generator ends the process.
    """
    from accelwatch.base.clock import SystemClock
    from accelwatch.node.sampler.stores import store_for
    from accelwatch.node.sampler.supervisor import Supervisor

    clock = SystemClock()
    store = store_for(settings, clock)
    first = _FirstTurn(settings)

    def sink(report: "Report") -> None:
        first.note(report)
        store.apply(report)

    supervisor = Supervisor(settings, sink, clock=clock)
    try:
        supervisor.check()
        until = clock.monotonic() + settings.timeout_s
        while first.waiting and (left := until - clock.monotonic()) > 0:
            supervisor.pump(left)
        first.report_missing(store)
        started = clock.monotonic()
        yielded = 0
        while True:
            yield with_absences(store.snapshot())
            yielded += 1
            if yielded == count:
                return
            _pump_until(supervisor, clock, _next_tick(started, settings.interval_s, clock))
    finally:
        supervisor.stop()
        store.close()


async def read_repeatedly_async(
    settings: CollectSettings, *, count: int | None = None
) -> AsyncGenerator["Snapshot", None]:
    """As `read_repeatedly`, on the running event loop, which is never kept waiting."""
    import asyncio

    from accelwatch.base.clock import SystemClock
    from accelwatch.node.sampler.stores import store_for
    from accelwatch.node.sampler.supervising import supervise

    clock = SystemClock()
    store = store_for(settings, clock)
    first = _FirstTurn(settings)
    ready = asyncio.Event()

    def sink(report: "Report") -> None:
        first.note(report)
        store.apply(report)
        if not first.waiting:
            ready.set()

    collector = asyncio.create_task(supervise(settings, sink, clock=clock))
    collector.add_done_callback(lambda _: ready.set())
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(settings.timeout_s):
                await ready.wait()
        first.report_missing(store)
        started = clock.monotonic()
        yielded = 0
        while not collector.done():
            yield with_absences(store.snapshot())
            yielded += 1
            if yielded == count:
                return
            tick = _next_tick(started, settings.interval_s, clock)
            await asyncio.wait((collector,), timeout=max(0.0, tick - clock.monotonic()))
        collector.result()
    finally:
        collector.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await collector
        store.close()


def recorded(path: "Path") -> Generator["Snapshot", None, None]:
    """Every snapshot of a recording, without waiting; what is wrong with its files is a warning.

    Raises UsageError for a name without a file.
    """
    from accelwatch.archive.recording import names_recording

    if not names_recording(path):
        raise UsageError(f"no recording {str(path)!r}")
    return _played(path)


def _played(path: "Path") -> Generator["Snapshot", None, None]:
    import logging  # not for a single reading, which logs nothing

    from accelwatch.archive.recording import Recording

    with Recording.open(path) as recording:
        for note in recording.notes:
            logging.getLogger(__name__).warning("%s", note)
        for index in range(len(recording)):
            yield recording.at(index)


def first_recorded(path: "Path", *, argv: bool, within_s: float | None = None) -> "Snapshot":
    """The first document of a recording that can be read, as it was written; notes report damage.

    Its processes are none of this machine; their arguments only with `argv`. What is not found
    `within_s` is not waited for. Raises AccelwatchError.
    """
    from accelwatch.archive.recording import Recording
    from accelwatch.base.errors import WireError

    with Recording.open(path, within_s=within_s) as recording:
        for index in range(len(recording)):
            with contextlib.suppress(WireError):
                return _as_recorded(recording.at(index), recording.notes, argv=argv)
    raise WireError(f"{path}: no document of the recording can be decoded")


def _as_recorded(snapshot: "Snapshot", notes: Sequence[str], *, argv: bool) -> "Snapshot":
    def shown(view: "DeviceView") -> "DeviceView":
        reading, processes = view.reading, view.reading.processes
        if processes is not None:
            processes = tuple(
                replace(process, pid_namespace="foreign", argv=process.argv if argv else None)
                for process in processes
            )
        reading = replace(reading, processes=processes, notes=(*reading.notes, *notes))
        return replace(view, reading=reading)

    return replace(snapshot, devices=tuple(map(shown, snapshot.devices)))


def _next_tick(started: float, interval_s: float, clock: "Clock") -> float:
    done = int((clock.monotonic() - started) / interval_s)
    return started + (done + 1) * interval_s


def _pump_until(supervisor: "Supervisor", clock: "Clock", deadline: float) -> None:
    while (left := deadline - clock.monotonic()) > 0:
        supervisor.pump(left)


class _FirstTurn:
    """Which backends have not yet reported that they are done, or have nothing to do; and why."""

    def __init__(self, settings: CollectSettings) -> None:
        from accelwatch.node.sampler.protocol.load import resolve

        self._settings = settings
        self._failure = LATE
        self.waiting = set(resolve(settings))

    def note(self, report: "Report") -> None:
        from accelwatch.node.store.reports import BackendChanged, CollectorExited, Cycle
        from accelwatch.schema.snapshot import BackendState

        self._failure = failure_of(report) if isinstance(report, CollectorExited) else LATE
        if isinstance(report, Cycle):
            self.waiting.discard(report.backend)
        elif isinstance(report, BackendChanged) and report.status.state is not BackendState.OK:
            self.waiting.discard(report.status.name)

    def report_missing(self, store: "Store") -> None:
        """Add the status "no answer" of each backend that has reported nothing."""
        if not self.waiting:
            return
        from accelwatch.node.sampler import unanswered
        from accelwatch.node.store.reports import BackendChanged

        reported = {status.name for status in store.snapshot().backends}
        for status in unanswered.statuses(self._settings, reported, self._failure):
            store.apply(BackendChanged(status=status))
