"""What people do about incidents, through the hub that it is about."""

from collections.abc import Sequence

from accelwatch.fleet.hub_client.several.fan_out import at_each
from accelwatch.fleet.hub_client.several.names.incident_ids import with_hub
from accelwatch.fleet.hub_client.several.requests.routes import Routes
from accelwatch.fleet.picture.changing import IncidentChanges


class SeveralChanges:
    """Implements `picture.changing.IncidentChanges`."""

    def __init__(self, changes: Sequence[IncidentChanges], routes: Routes) -> None:
        self._changes = changes
        self._routes = routes

    async def silence(self, matchers: Sequence[str], lasts: str, reason: str) -> str:
        """At the hub whose node or incident is named, else at all. Raises AccelwatchError."""
        targets = self._routes.matchers(matchers)
        return await at_each(
            [self._routes.hubs[hub] for hub, _ in targets],
            [self._changes[hub].silence(own, lasts, reason) for hub, own in targets],
        )

    async def expire_silence(self, id_: str) -> str:
        """At the hub that has it. Raises AccelwatchError."""
        hub, own = self._routes.id(id_)
        await self._changes[hub].expire_silence(own)
        return f"silence {with_hub(own, self._routes.hubs[hub])} is over"

    async def close(self, id_: str, reason: str) -> str:
        """At the hub that has it. Raises AccelwatchError."""
        hub, own = self._routes.id(id_)
        await self._changes[hub].close(own, reason)
        return f"{with_hub(own, self._routes.hubs[hub])} closed"
