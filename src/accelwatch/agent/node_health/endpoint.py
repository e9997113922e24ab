"""The health check of a running agent, where a socket is configured; else nothing of it is loaded."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from accelwatch.base.clock import Clock
from accelwatch.base.errors import AccelwatchError
from accelwatch.config.node_health import NodeHealth
from accelwatch.schema.snapshot import Snapshot

if TYPE_CHECKING:
    from accelwatch.agent.node_health.hub_hold import HubHold
    from accelwatch.agent.node_health.service import HealthService
    from accelwatch.alerting.incidents.model.incident import Incident

# However many clients check, the devices are evaluated once in this time.
_FRESH_S = 0.5


class HealthEndpoint:
    """Answers launchers from what the agent and the hub know; the loop's thread only."""

    def __init__(
        self,
        snapshot: Callable[[], Snapshot],
        incidents: "Callable[[], Iterable[Incident]]",
        clock: Clock,
    ) -> None:
        """`incidents` gives the open ones of this node's rules."""
        self._snapshot = snapshot
        self._incidents = incidents
        self._clock = clock
        self._settings = NodeHealth()
        self._service: HealthService | None = None
        self._hub: HubHold | None = None
        self._failures: tuple[str, ...] = ()
        self._fresh_until = 0.0

    async def change(self, settings: NodeHealth) -> None:
        """Start, restart with other settings, or stop. Raises AccelwatchError; then all stays."""
        previous = self._settings
        if settings == previous:
            return
        await self.stop()
        try:
            await self._start(settings)
        except AccelwatchError:
            await self._start(previous)
            raise

    async def _start(self, settings: NodeHealth) -> None:
        if settings.socket is None:
            return
        from accelwatch.agent.node_health.service import HealthService

        service = HealthService(Path(settings.socket), self.failures)
        if settings.hub is not None:
            from accelwatch.agent.node_health.hub_hold import HubHold

            self._hub = HubHold(settings, lambda: self._snapshot().host, self._clock)
        await service.start()
        self._service, self._settings = service, settings

    async def stop(self) -> None:
        """Stop answering: a launcher considers a node without a socket healthy."""
        service, hub = self._service, self._hub
        self._service, self._hub, self._settings = None, None, NodeHealth()
        if service is not None:
            await service.stop()
        if hub is not None:
            await hub.close()

    async def failures(self) -> tuple[str, ...]:
        """Why this node should join no job; empty when it may."""
        hub = () if self._hub is None else await self._hub.failures()
        return (*self._own_failures(), *hub)

    def _own_failures(self) -> tuple[str, ...]:
        from accelwatch.agent.node_health.failures import failures

        now = self._clock.monotonic()
        if now >= self._fresh_until:
            self._failures = failures(self._snapshot(), self._incidents())
            self._fresh_until = now + _FRESH_S
        return self._failures
