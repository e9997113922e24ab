"""Labels of nodes without a device to carry them: a node that was never seen has a rack too."""

import asyncio
from collections.abc import Iterable

import msgspec

from accelwatch.base.clock import Clock
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.fleet.documents.fleet import NodesPage
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.hub_client.connection.session import HubSession
from accelwatch.fleet.hub_client.picture import Picture

_EVERY_S = 30.0


class Labels:
    """Fetches the hub's nodes when some lack labels; every half a minute at most."""

    def __init__(self, session: HubSession, picture: Picture, clock: Clock) -> None:
        self._session = session
        self._picture = picture
        self._clock = clock
        self._requested_at = float("-inf")
        self._task: asyncio.Task[None] | None = None

    def refresh(self, nodes: Iterable[str]) -> None:
        """Fetch, if it is needed and not under way already."""
        now = self._clock.monotonic()
        if self._task is not None or now - self._requested_at < _EVERY_S:
            return
        if self._picture.unlabelled(nodes):
            self._requested_at = now
            self._task = asyncio.ensure_future(self._fetch())

    def stop(self) -> None:
        """Stop fetching."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _fetch(self) -> None:
        query = {"limit": "5000"}
        try:
            while True:
                body = await self._session.document("/v1/nodes", query)
                page = msgspec.json.decode(body, type=NodesPage)
                self._picture.label({node.node: node.labels for node in page.nodes})
                if page.next is None:
                    break
                query["cursor"] = page.next
        except (*DECODE_ERRORS, TargetFault):
            pass  # fetched again in a while; the stream's reader reports what is wrong
        finally:
            self._task = None
