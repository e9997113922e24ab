"""OTLP of a hub: every node with new data as a resource, in short slices at the interval."""

import asyncio
import logging
import socket
from collections.abc import Mapping

from accelwatch.base.clock import Clock
from accelwatch.base.slices import LongWork
from accelwatch.base.version import __version__
from accelwatch.config.otlp import Otlp
from accelwatch.fleet.rounds import rounds
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.node import speaks_for
from accelwatch.fleet.state.snapshots import snapshot_of
from accelwatch.fleet.tsdb.remote_write.writer import OwnSeries
from accelwatch.otlp.encoding import chunks
from accelwatch.otlp.outbox import Outbox
from accelwatch.otlp.resource import SERVICE, resource_of
from accelwatch.otlp.samples import Chosen, ourselves
from accelwatch.otlp.starts import Starts
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

logger = logging.getLogger(__name__)

HUB_SERVICE = "accelwatch-hub"


class _Sent:
    """What was last sent of a node."""

    def __init__(self) -> None:
        # Unix seconds of its newest point.
        self.time = 0.0
        self.starts = Starts()


class OtlpWriter:
    """Pushes the fleet to one receiver; the loop's thread only."""

    def __init__(self, settings: Otlp, fleet: Fleet, clock: Clock) -> None:
        """Raises ConfigError."""
        self._settings = settings
        self._fleet = fleet
        self._clock = clock
        self._outbox = Outbox(settings, clock)
        self._chosen = Chosen(settings.profile, settings.groups)
        self._sent: dict[str, _Sent] = {}
        self._ourselves = Starts()
        # Nodes that could not be written the last time.
        self._odd: set[str] = set()
        # Gives `accel_fleet_*`.
        self.own_series: OwnSeries | None = None

    async def run(self) -> None:
        """Push at the interval until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._outbox.run())
            tasks.create_task(rounds(self._settings.interval_s, self.round, "otlp"))

    async def close(self) -> None:
        """Close the connections; what has not been sent is lost."""
        await self._outbox.close()

    async def round(self) -> None:
        """Encode and queue everything that is new."""
        work = LongWork()
        for name in self._sent.keys() - self._fleet.nodes.keys():
            del self._sent[name]
        for name in [*self._fleet.nodes]:
            try:
                await self._node(name)
            except Exception:
                if name not in self._odd:
                    logger.exception("a node cannot be pushed node=%s", name)
                self._odd.add(name)
            else:
                self._odd.discard(name)
            await work.yield_control()
        await self._hub()
        await self._outbox.cut()

    async def _node(self, name: str) -> None:
        node = self._fleet.nodes.get(name)
        if node is None or node.best is None or not speaks_for(self._fleet.state_of(node)):
            return
        time = node.best.arrived_wall
        sent = self._sent.setdefault(name, _Sent())
        if time <= sent.time:
            return
        sent.time = time
        version = node.best.version or __version__
        more = {**node.labels, **self._settings.resource_attributes}
        resource = resource_of(SERVICE, name, version, more)
        owners = self._chosen.of(snapshot_of(self._fleet, node), {})
        most = self._settings.points_per_request
        for chunk in chunks(owners, resource, time, sent.starts, most):
            await self._outbox.add(chunk, time)

    async def _hub(self) -> None:
        if self.own_series is None:
            return
        owners = ourselves(await self.own_series())
        time, most = self._clock.wall(), self._settings.points_per_request
        resource = resource_of(
            HUB_SERVICE, socket.gethostname(), __version__, self._settings.resource_attributes
        )
        for chunk in chunks(owners, resource, time, self._ourselves, most):
            await self._outbox.add(chunk, time)

    def own(self) -> Mapping[Series, Number]:
        """Our own series."""
        return self._outbox.own()
