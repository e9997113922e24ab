"""Requests to one of the followed hubs, as long as it is likely to answer."""

from collections.abc import Callable, Mapping

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.hub_client.connection.session import HubSession
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint

# Less than the client of this hub waits for its own answer.
TIMEOUT_S = 3.0
# Of one page: the largest has 20,000 devices, and several are passed on at a time.
BODY_SIZE_LIMIT = 64 << 20


class FollowedSession:
    """Implements `Requests`; a hub that is silent or left out gets none: nobody waits for it."""

    def __init__(self, endpoint: HubEndpoint, fault: Callable[[], str]) -> None:
        """`fault` says why the hub gets no requests now; empty when it does. Raises ConfigError."""
        self.endpoint = endpoint
        self._session = HubSession(endpoint, TIMEOUT_S, body_size_limit_bytes=BODY_SIZE_LIMIT)
        self._fault = fault

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    async def document(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """The body of a page. Raises TargetFault."""
        self._check()
        return await self._session.document(path, query)

    async def change(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None
    ) -> bytes:
        """The body of the answer to a change. Raises TargetFault."""
        self._check()
        return await self._session.change(method, path, query, body)

    def _check(self) -> None:
        if fault := self._fault():
            # As nothing was sent, nobody needs to wonder whether it was done.
            raise TargetFault(Reason.CONNECT, fault)
