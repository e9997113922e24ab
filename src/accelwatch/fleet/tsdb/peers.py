"""The servers that a hub reads from and writes to, with their tasks."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from accelwatch.base.clock import Clock
from accelwatch.config.otlp import Otlp
from accelwatch.fleet.tsdb.settings import RemoteWrite, Store
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

if TYPE_CHECKING:
    from accelwatch.fleet.tsdb.follow import Sink, StoreFollower
    from accelwatch.fleet.tsdb.otlp_writing import OtlpWriter
    from accelwatch.fleet.tsdb.remote_write.writer import OwnSeries, Writer


class Peers:
    """A hub's store and receivers, each if it is configured; the loop's thread only."""

    def __init__(
        self, store: Store, write: RemoteWrite, otlp: Otlp, sink: "Sink", clock: Clock
    ) -> None:
        self._settings = store, write, otlp
        self._sink = sink
        self._clock = clock
        self.store: StoreFollower | None = None
        self.writer: Writer | None = None
        self.otlp: OtlpWriter | None = None
        self._own_series: OwnSeries | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Open connections and begin."""
        store, write, otlp = self._settings
        loop = asyncio.get_running_loop()
        if store.url:
            from accelwatch.fleet.tsdb.follow import StoreFollower

            self.store = StoreFollower(store, self._sink, self._clock)
            self._tasks.append(loop.create_task(self.store.run(), name="store"))
        if write.url:
            from accelwatch.fleet.tsdb.remote_write.writer import Writer

            self.writer = Writer(write, self._sink.fleet, self._clock)
            self.writer.own_series = self._own_series
            self._tasks.append(loop.create_task(self.writer.run(), name="remote write"))
        if otlp.endpoint:
            from accelwatch.fleet.tsdb.otlp_writing import OtlpWriter

            self.otlp = OtlpWriter(otlp, self._sink.fleet, self._clock)
            self.otlp.own_series = self._own_series
            self._tasks.append(loop.create_task(self.otlp.run(), name="otlp"))

    def also_write(self, own_series: "OwnSeries") -> None:
        """Where `accel_fleet_*` come from, which are written as well."""
        self._own_series = own_series
        if self.writer is not None:
            self.writer.own_series = own_series
        if self.otlp is not None:
            self.otlp.own_series = own_series

    async def stop(self, *, expire: bool = True) -> None:
        """End, and with `expire` every series that was written; what is not written by then is lost."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        if self.store is not None:
            await self.store.close()
        if self.writer is not None:
            if expire:
                await self.writer.finish()
            await self.writer.close()
        if self.otlp is not None:
            await self.otlp.close()
        self.store = self.writer = self.otlp = None
        self._sink.fleet.store = None

    async def reload(self, store: Store, write: RemoteWrite, otlp: Otlp) -> None:
        """Restart where the settings have changed."""
        if (store, write, otlp) != self._settings:
            # A receiver that stays goes on with the same series: samples may be older than their end.
            await self.stop(expire=write.url != self._settings[1].url)
            if not store.url:  # another one's first answer replaces what is known
                self._sink.set_store_targets({})
            self._settings = store, write, otlp
            self.start()

    @property
    def alive(self) -> bool:
        """Whether everything that was started goes on."""
        return not any(task.done() for task in self._tasks)

    @property
    def ready(self) -> bool:
        """Whether the store has answered, if the fleet is read from one."""
        store, _, _ = self._settings
        return not store.url or (self.store is not None and self.store.started)

    def own(self) -> Mapping[Series, Number]:
        """Our own series of them all."""
        series: dict[Series, Number] = {}
        if self.store is not None:
            series.update(self.store.own())
        if self.writer is not None:
            series.update(self.writer.own())
        if self.otlp is not None:
            series.update(self.otlp.own())
        return series
