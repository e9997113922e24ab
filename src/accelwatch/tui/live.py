"""This machine as a source: a collector process of its own, its reports taken in on the event loop."""

import asyncio
import contextlib
from collections.abc import Callable

import msgspec

from accelwatch.clock import Clock, SystemClock
from accelwatch.sampler.load import resolve
from accelwatch.sampler.settings import CollectSettings
from accelwatch.sampler.stores import store_for
from accelwatch.sampler.supervisor import supervise
from accelwatch.schema.snapshot import BackendState, Snapshot
from accelwatch.store import Store
from accelwatch.store.reports import (
    BackendFound,
    CollectorEnded,
    Cycle,
    Events,
    Outcome,
    Report,
    Slots,
)

_NEWS = (Outcome, Slots, Cycle, Events, BackendFound, CollectorEnded)
_SETTLE_S = 0.4
"""A new interval is taken up when no other follows within this time."""


class LiveSource:
    """Readings of this machine. With a new interval the collector is started anew.

    The old store stays in view until the new one knows its devices, so nothing flickers.
    """

    recorded = False

    def __init__(
        self, settings: CollectSettings, clock: Clock | None = None, *, local: bool = True
    ) -> None:
        self.local = local
        self._settings = settings
        self._clock = clock or SystemClock()
        self._store: Store | None = None
        self._unheard: set[str] = set()
        self._known = False
        self._changed: Callable[[], None] = lambda: None
        self._again = asyncio.Event()

    def snapshot(self) -> Snapshot | None:
        """The state now; None until a device is known or every backend was heard."""
        return self._store.snapshot() if self._store is not None and self._known else None

    def set_interval(self, interval_s: float) -> None:
        """Read this often from now on."""
        if interval_s != self._settings.interval_s:
            self._settings = msgspec.structs.replace(self._settings, interval_s=interval_s)
            self._again.set()

    async def run(self, changed: Callable[[], None]) -> None:
        """Collect until cancelled."""
        self._changed = changed
        while True:
            self._again.clear()
            store = store_for(self._settings, self._clock)
            try:
                await self._collect(store)
            finally:
                store.close()

    async def _collect(self, store: Store) -> None:
        self._unheard = set(resolve(self._settings))
        collecting = asyncio.create_task(supervise(self._settings, self._sink(store)))
        anew = asyncio.create_task(self._settled())
        try:
            await asyncio.wait((collecting, anew), return_when=asyncio.FIRST_COMPLETED)
            if collecting.done():
                collecting.result()
        finally:
            for task in (anew, collecting):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    def _sink(self, store: Store) -> Callable[[Report], None]:
        def take(report: Report) -> None:
            store.apply(report)
            self._note(report)
            if isinstance(report, _NEWS) and self._may_show(store):
                self._changed()

        return take

    def _note(self, report: Report) -> None:
        if isinstance(report, Outcome):
            self._known = True
        elif isinstance(report, Cycle):
            self._unheard.discard(report.backend)
        elif isinstance(report, BackendFound) and report.status.state is not BackendState.OK:
            self._unheard.discard(report.status.name)
        self._known = self._known or not self._unheard

    def _may_show(self, store: Store) -> bool:
        """Whether this store is the one in view; the old one stays until the new one has devices."""
        if self._store is None:
            self._store = store
        elif self._store is not store:
            if self._store.snapshot().devices and not store.snapshot().devices:
                return False
            self._store = store
        return self._known

    async def _settled(self) -> None:
        await self._again.wait()
        while self._again.is_set():
            self._again.clear()
            await asyncio.sleep(_SETTLE_S)
