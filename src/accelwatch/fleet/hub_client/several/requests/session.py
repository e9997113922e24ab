"""A command's session with several hubs: fetches their picture once, before the first request."""

from collections.abc import Mapping, Sequence

import msgspec

from accelwatch.fleet.follow.failures.faults import first_line
from accelwatch.fleet.hub_client.connection.session import HubSession
from accelwatch.fleet.hub_client.once import first_view
from accelwatch.fleet.hub_client.several.fan_out import ask_all
from accelwatch.fleet.hub_client.several.hub_picture import hub_picture_of
from accelwatch.fleet.hub_client.several.picture import SeveralPicture
from accelwatch.fleet.hub_client.several.requests.routes import Routes
from accelwatch.fleet.hub_client.several.requests.several_requests import SeveralRequests
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint


class SeveralSession:
    """Implements `Requests` over hubs; one that does not answer is named in what the others say."""

    def __init__(self, endpoints: Sequence[HubEndpoint]) -> None:
        """Names of endpoints differ. Raises ConfigError."""
        self._sessions = [HubSession(endpoint) for endpoint in endpoints]
        names = [endpoint.name for endpoint in endpoints]
        self.endpoint = msgspec.structs.replace(endpoints[0], name=", ".join(names))
        self._picture = SeveralPicture(names)
        self._views: list[FleetView | None] = [None for _ in endpoints]
        routes = Routes(self._picture, lambda: self._views)
        flags = " or ".join(f"--hub {endpoint.url}" for endpoint in endpoints)
        self._requests = SeveralRequests(
            self._sessions, self._picture, routes, self.view, advice=f"ask one at a time, {flags}"
        )
        self._view: FleetView | None = None

    async def close(self) -> None:
        """Close every connection."""
        for session in self._sessions:
            await session.close()

    async def view(self) -> FleetView:
        """All nodes and devices of all hubs, fetched once. Raises TargetFault."""
        if self._view is None:
            views, faults = await ask_all(self._sessions, first_view)
            for hub, view in views.items():
                self._views[hub] = view
            self._view = self._picture.view(
                {hub: hub_picture_of(view, 0.0) for hub, view in views.items()},
                "",
                {hub: first_line(fault) for hub, fault in faults.items()},
            )
        return self._view

    async def document(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """The body of a page. Raises TargetFault, UnmetError, UsageError."""
        if path == "/v1/fleet":
            return msgspec.json.encode((await self.view()).sums)
        return await self._requests.document(path, query)

    async def change(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None
    ) -> bytes:
        """The body of the answer to a change at one hub. Raises TargetFault, UnmetError, UsageError."""
        return await self._requests.change(method, path, query, body)
