"""A running hub without its server: what a dashboard embeds and the server serves."""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from pathlib import Path

from accelwatch.clock import Clock
from accelwatch.errors import AccelwatchError
from accelwatch.fleet.client.access import Access
from accelwatch.fleet.client.faults import TargetFault
from accelwatch.fleet.client.follow import Followers, MakeReader
from accelwatch.fleet.client.frames import RawTick, Received
from accelwatch.fleet.client.poll import Exposed
from accelwatch.fleet.client.session import Client
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.targets.dns import DnsTargets
from accelwatch.fleet.targets.target import Target, targets_of
from accelwatch.fleet.targets.watch import Looking, TargetFiles, watch_targets

logger = logging.getLogger(__name__)

_FLUSH_EVERY_S = 1.0
_SWEEP_EVERY = 5


class Hub:
    """Follows targets and keeps the fleet's state; the loop's thread only."""

    def __init__(
        self,
        settings: HubSettings,
        clock: Clock,
        make_reader: MakeReader | None,
        state_dir: Path | None,
    ) -> None:
        """Raises AccelwatchError for targets that make no sense and an inventory that cannot be read."""
        self.settings = settings
        self._clock = clock
        self._make_reader = make_reader
        self._standing: Sequence[Target] = targets_of(
            settings.targets.static, settings.targets.labels, settings.scrape.scheme
        )
        self._ways: tuple[Looking, ...] = (
            TargetFiles(settings.targets.files, settings.scrape.scheme),
            DnsTargets(settings.targets.dns, settings.scrape.scheme),
        )
        self.fleet = Fleet(clock, settings.thresholds, state_dir)
        self.ready = False
        """Whether the targets are known."""
        self._began: dict[str, float] = {}
        self._client: Client | None = None
        self._followers: Followers | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._complaint = ""

    async def start(self) -> None:
        """Begin to follow."""
        scrape = self.settings.scrape
        self._client = Client(scrape, Access(scrape))
        self._followers = Followers(self._client, self, self._make_reader)
        loop = asyncio.get_running_loop()
        every_s = self.settings.targets.refresh_s
        watching = watch_targets(self._standing, self._ways, self._set_targets, every_s)
        self._tasks = [
            loop.create_task(watching, name="targets"),
            loop.create_task(self._keep(), name="inventory"),
        ]

    async def stop(self) -> None:
        """Follow nothing any more and write down what is known."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._followers is not None:
            await self._followers.close()
        if self._client is not None:
            await self._client.close()
        with contextlib.suppress(AccelwatchError):
            await self.fleet.flush()
        self.fleet.close()

    @property
    def alive(self) -> bool:
        """Whether targets and inventory are being looked after."""
        return bool(self._tasks) and not any(task.done() for task in self._tasks)

    def _set_targets(self, targets: dict[str, Target]) -> None:
        self.fleet.set_targets(targets.values())
        if self._followers is not None:
            self._followers.set_targets(targets)
        self.ready = True

    async def _keep(self) -> None:
        """Write the inventory down every second and look after silent sources."""
        turn = 0
        while True:
            await asyncio.sleep(_FLUSH_EVERY_S)
            turn += 1
            if turn % _SWEEP_EVERY == 0:
                self.fleet.sweep()
            try:
                await self.fleet.flush()
            except AccelwatchError as error:
                if self._complaint != str(error):
                    logger.error("%s", error)
                    self._complaint = str(error)
            else:
                self._complaint = ""

    def began(self, target: Target, mode: str) -> None:
        """A connection is being made."""
        source = self.fleet.source(target.key)
        if source is not None:
            source.mode = mode
            if mode == "stream":
                source.begin_stream()
            self._began[target.key] = self._clock.monotonic()

    def message(self, target: Target, message: Received, size: int) -> None:
        """A message of a stream. Raises TargetFault."""
        self.fleet.take(target.key, message, size)
        if target.key in self._began and isinstance(message, RawTick):
            source = self.fleet.source(target.key)
            began = self._began.pop(target.key)
            if source is not None:
                source.read_s = self._clock.monotonic() - began

    def exposed(self, target: Target, exposed: Exposed, duration_s: float) -> None:
        """An exposition."""
        source = self.fleet.source(target.key)
        if source is None:
            return
        source.dialect, source.version = exposed.dialect, exposed.version[:64]
        source.read_s = duration_s
        for reason, count in exposed.rejected.items():
            source.rejected[reason] = source.rejected.get(reason, 0) + count
        interval_s = self.settings.scrape.interval_s
        self.fleet.read(target.key, exposed.devices, exposed.time, interval_s)

    def failed(self, target: Target, fault: TargetFault) -> None:
        """An attempt failed."""
        self._began.pop(target.key, None)
        self.fleet.fail(target.key, fault)
