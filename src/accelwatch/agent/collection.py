"""The collector and its store as one feed that can be replaced while the server runs.

With another pace a new collector goes on with the store. With other settings a new collector and store
begin beside the old store, which goes on being shown until the new one has its first readings.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable

from accelwatch.base.clock import Clock
from accelwatch.node.sampler.protocol.load import resolve
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.node.sampler.stores import only_paced, store_for
from accelwatch.node.sampler.supervising import supervise
from accelwatch.schema.snapshot import BackendState, Snapshot, unusable

logger = logging.getLogger(__name__)

# After this a new store is shown, whatever it lacks.
_SHOW_OLD_S = 10.0


class Collection:
    """A `Feed`; the loop's thread only."""

    def __init__(
        self,
        settings: CollectSettings,
        clock: Clock,
        annotate: Callable[[Snapshot], Snapshot] = lambda snapshot: snapshot,
    ) -> None:
        """`annotate` adds to each snapshot what the store does not know: whose a device is."""
        self.settings = settings
        self._annotate = annotate
        self._clock = clock
        self._store = store_for(settings, clock)
        self._expected = _names(settings)
        self._shown = self._store
        self._before = 0
        self._listeners: list[Callable[[], None]] = []
        self._since = clock.monotonic()
        self._complete = False
        self._ready = False
        self._end = self._store.subscribe(self._refresh)
        self._task: asyncio.Task[None] | None = None
        # Done with an exception when supervision itself broke.
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def version(self) -> int:
        """Grows with every change, over replacements too."""
        return self._before + self._shown.version

    def snapshot(self) -> Snapshot:
        """What is known now."""
        return self._annotate(self._shown.snapshot())

    def state_key(self) -> object:
        """What is another when a device comes, goes or is in another state, or an event has come."""
        return self._shown.state_key()

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after changes; returns its end."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @property
    def ready(self) -> bool:
        """Whether every backend has finished its first cycle, or is known not to; it stays so."""
        self._ready = self._ready or self._is_complete()
        return self._ready

    def _is_complete(self) -> bool:
        if not self._complete:
            snapshot = self._store.snapshot()
            self._complete = first_cycle_over(snapshot, self._expected)
            if self._complete:
                logger.info("first readings complete %s", _summary(snapshot))
                _warn_of_unread(self.settings, snapshot)
        return self._complete

    @property
    def alive(self) -> bool:
        """Whether collecting is being looked after and the store answers."""
        return self._task is not None and not self._task.done() and bool(self.snapshot().host)

    def start(self) -> None:
        """Begin to collect."""
        supervision = supervise(self.settings, self._store.apply, clock=self._clock)
        self._task = asyncio.get_running_loop().create_task(supervision, name="collection")
        self._task.add_done_callback(self._on_done)

    async def stop(self) -> None:
        """End the collector and let what persists be written."""
        await self._stop_collector()
        await asyncio.to_thread(self._store.close)
        self.failed.cancel()

    async def _stop_collector(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def replace(self, settings: CollectSettings) -> None:
        """Collect by other settings from now on."""
        await self._stop_collector()
        before, self.settings = self.settings, settings
        if only_paced(before, settings):
            self._store.pace(settings.interval_s, settings.timeout_s)
        else:
            await self._replace_store(settings)
        self.start()

    async def _replace_store(self, settings: CollectSettings) -> None:
        """With a store that knows nothing: other settings may mean other devices, read otherwise."""
        await asyncio.to_thread(self._store.close)
        self._end()
        self._store = store_for(settings, self._clock)
        self._end = self._store.subscribe(self._refresh)
        self._expected = _names(settings)
        self._complete = False
        self._since = self._clock.monotonic()

    def _refresh(self) -> None:
        complete = self._is_complete()
        if self._shown is not self._store:
            late = self._clock.monotonic() - self._since > _SHOW_OLD_S
            if not complete and not late:
                return
            self._before += self._shown.version
            self._shown = self._store
        for listener in tuple(self._listeners):
            listener()

    def _on_done(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or task is not self._task:
            return
        error = task.exception()
        if error is not None and not self.failed.done():
            self.failed.set_exception(error)


def _summary(snapshot: Snapshot) -> str:
    backends = [backend.name for backend in snapshot.backends if backend.state is BackendState.OK]
    return f"devices={len(snapshot.devices)} backends={','.join(backends) or 'none'}"


def _warn_of_unread(settings: CollectSettings, snapshot: Snapshot) -> None:
    """Log which devices cannot be read, and what a backend configured by name lacks."""
    broken = unusable(snapshot.backends)
    for backend in snapshot.backends:
        requested = backend.name in settings.backends and backend.state is not BackendState.OK
        if requested or backend in broken:
            logger.warning("backend %s", backend.complaint_and_remedy)


def _names(settings: CollectSettings) -> frozenset[str]:
    return frozenset(resolve(settings))


def first_cycle_over(snapshot: Snapshot, expected: Iterable[str]) -> bool:
    """Whether each expected backend has reported its state, and the usable ones have ended a cycle."""
    states = {status.name: status.state for status in snapshot.backends}
    cycled = {series[1] for series in snapshot.own if series[0] == "collector_cycles_total"}
    return all(
        name in cycled or states.get(name, BackendState.OK) is not BackendState.OK
        for name in expected
    )
