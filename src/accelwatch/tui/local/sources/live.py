"""This machine as a source: its own collector process, whose reports the event loop receives.

asyncio is loaded once there is a loop: the first readings are shown before.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from accelwatch.base.clock import Clock, SystemClock
from accelwatch.node.sampler.protocol.load import resolve
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.node.sampler.stores import store_for
from accelwatch.node.sampler.supervisor import Supervisor
from accelwatch.node.store.reports import (
    BackendChanged,
    CollectorExited,
    Cycle,
    Events,
    Outcome,
    Report,
    Slots,
)
from accelwatch.schema.snapshot import NO_ACCELERATORS, BackendState, Snapshot

if TYPE_CHECKING:
    import asyncio

_VISIBLE_REPORTS = (Outcome, Slots, Cycle, Events, BackendChanged, CollectorExited)
# A new interval is applied when no other follows within this time.
_SETTLE_S = 0.4


class LiveSource:
    """Readings of this machine. With a new interval the collector is restarted.

    The store stays, and with it what is lost or hangs, since when, and what has happened.
    """

    recorded = False

    def __init__(
        self, settings: CollectSettings, clock: Clock | None = None, *, local: bool = True
    ) -> None:
        self.local = local
        self._settings = settings
        self._clock = clock or SystemClock()
        self._store = store_for(settings, self._clock)
        self._unanswered: set[str] = set()
        self._has_snapshot = False
        self._changed: Callable[[], None] = lambda: None
        # Whether a new interval waits to be applied.
        self._again = False
        self._supervisor: Supervisor | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        # Set when the child has to be checked before it was silent for long.
        self._check_needed: asyncio.Event | None = None

    @property
    def settings(self) -> CollectSettings:
        """How is collected, from the next start of the collector on."""
        return self._settings

    def snapshot(self) -> Snapshot | None:
        """The state now; None until a device is known or every backend has reported."""
        return self._store.snapshot() if self._has_snapshot else None

    def set_interval(self, interval_s: float) -> None:
        """Read this often from now on."""
        if interval_s != self._settings.interval_s:
            self._settings = msgspec.structs.replace(self._settings, interval_s=interval_s)
            self._again = True
            self._request_check()

    def start(self) -> Supervisor:
        """Start the collector now; `run` goes on from there. Needs no event loop."""
        self._unanswered = set(resolve(self._settings))
        self._supervisor = Supervisor(
            self._settings,
            self._apply_report,
            clock=self._clock,
            watch=self._watched,
            unwatch=self._unwatched,
        )
        self._supervisor.check()
        return self._supervisor

    @property
    def descriptor(self) -> int | None:
        """Readable when there is something to receive, for owners without an event loop."""
        return None if self._supervisor is None else self._supervisor.descriptor

    @property
    def all_reported(self) -> bool:
        """Whether the backends of all accelerators have reported once."""
        return self._unanswered <= NO_ACCELERATORS

    def receive(self) -> bool:
        """Receive what has come; whether there is something new to show. Not once `run` has started."""
        changes: list[bool] = []
        self._changed = lambda: changes.append(True)
        if self._supervisor is not None:
            self._supervisor.receive()
        return bool(changes)

    def close(self) -> None:
        """End a collector that `run` has not adopted."""
        if self._supervisor is not None:
            self._supervisor.stop()
            self._supervisor = None

    def _watched(self, descriptor: int) -> None:
        if self._loop is not None and self._supervisor is not None:
            self._loop.add_reader(descriptor, self._on_readable, self._supervisor)

    def _on_readable(self, supervisor: Supervisor) -> None:
        """Receive what has come."""
        supervisor.check()
        if supervisor.descriptor is None:
            self._request_check()

    def _request_check(self) -> None:
        if self._check_needed is not None:
            self._check_needed.set()

    def _unwatched(self, descriptor: int) -> None:
        if self._loop is not None:
            self._loop.remove_reader(descriptor)

    async def run(self, changed: Callable[[], None]) -> None:
        """Collect until cancelled."""
        self._changed = changed
        while True:
            await self._collect()

    async def _collect(self) -> None:
        """Receive reports and supervise the child, until a new interval is set."""
        import asyncio

        from accelwatch.node.sampler import supervising

        supervisor = self._supervisor or self.start()
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            if supervisor.descriptor is not None:
                self._watched(supervisor.descriptor)
        self._check_needed = asyncio.Event()
        try:
            while not self._again:
                await supervising.check_and_wait(supervisor, self._check_needed)
            await self._settled()
        finally:
            try:
                await supervising.shut_down(supervisor)
            finally:
                self._supervisor = None
        self._store.pace(self._settings.interval_s, self._settings.timeout_s)

    def _apply_report(self, report: Report) -> None:
        self._store.apply(report)
        self._note(report)
        if isinstance(report, _VISIBLE_REPORTS) and self._has_snapshot:
            self._changed()

    def _note(self, report: Report) -> None:
        if isinstance(report, Outcome) and report.backend not in NO_ACCELERATORS:
            self._has_snapshot = True
        elif isinstance(report, Cycle):
            self._unanswered.discard(report.backend)
        elif isinstance(report, BackendChanged) and report.status.state is not BackendState.OK:
            self._unanswered.discard(report.status.name)
        self._has_snapshot = self._has_snapshot or not self._unanswered

    async def _settled(self) -> None:
        """Wait until no other interval follows."""
        import asyncio

        while self._again:
            self._again = False
            await asyncio.sleep(_SETTLE_S)
