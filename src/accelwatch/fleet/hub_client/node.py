"""One node of a hub as the Local screen's source: polls its snapshots."""

import asyncio
from collections.abc import Callable

import msgspec

from accelwatch.base.backoff import SpreadBackoff
from accelwatch.base.clock import Clock, SystemClock
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import WireError
from accelwatch.fleet.documents.fleet import NodePage
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.hub_client import aging
from accelwatch.fleet.hub_client.aging import NodeAnswer, aged, silenced
from accelwatch.fleet.hub_client.connection.session import HubSession, node_path
from accelwatch.fleet.names import SPEAKING
from accelwatch.schema.json import wire
from accelwatch.schema.snapshot import Snapshot

_MAX_BACKOFF_S = 5.0
_LEAST_S = 0.5
_GONE = 404
# How long the hub may fail to answer before the node's values count as old.
_PATIENCE_S = 3.0


_decode = msgspec.json.Decoder(NodePage).decode


class NodeSource:
    """Implements the dashboard's `Source`. A node that falls silent, or that the hub forgets, stays in
    view with its devices, stale and with ages that grow.
    """

    local = False
    recorded = False

    def __init__(self, session: HubSession, node: str, clock: Clock | None = None) -> None:
        self.node = node
        self._session = session
        self._clock = clock or SystemClock()
        self._interval_s = 1.0
        self._answer: NodeAnswer | None = None
        self._trouble = ""
        self._forgotten = False
        self._shown: Snapshot | None = None
        self._backoff = SpreadBackoff(_MAX_BACKOFF_S)

    def snapshot(self) -> Snapshot | None:
        """The state now; None until the hub has answered."""
        return self._shown

    def set_interval(self, interval_s: float) -> None:
        """Poll this often from now on."""
        self._interval_s = max(interval_s, _LEAST_S)

    def close(self) -> None:
        """Nothing is held outside `run`."""

    async def run(self, changed: Callable[[], None]) -> None:
        """Poll until cancelled."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        try:
            while True:
                wait = await self._poll()
                self._shown = self._now()
                changed()
                due = max(due + self._interval_s, loop.time() + wait)
                await asyncio.sleep(due - loop.time())
        finally:
            await self._session.close()

    async def _poll(self) -> float:
        """Fetch the node's document; seconds to wait at least before the next attempt."""
        try:
            body = await self._session.document(node_path(self.node))
            self._answer = read_node(self.node, body, self._clock.monotonic())
        except TargetFault as fault:
            self._forgotten = fault.code == _GONE
            if self._forgotten:
                self._trouble = f"the hub does not know {self.node} any more"
            else:
                self._trouble = f"hub {self._session.endpoint.name}: {fault}"
            return self._backoff.next(fault.retry_after_s)
        self._backoff.succeeded()
        self._trouble, self._forgotten = "", False
        return 0.0

    @property
    def _remedy(self) -> str:
        """What to do about the hub's own trouble."""
        return aging.FORGOTTEN if self._forgotten else aging.NO_HUB

    def _now(self) -> Snapshot:
        """The newest snapshot with the ages of now."""
        answer, now = self._answer, self._clock.monotonic()
        if answer is None:
            wall = self._clock.wall()
            return silenced(None, self.node, self._trouble, wall, 0.0, remedy=self._remedy)
        older_s = now - answer.at
        wall = answer.snapshot.time + older_s
        trouble, remedy = answer.silent, answer.remedy
        if self._trouble and (self._forgotten or older_s > _PATIENCE_S):
            trouble, remedy = self._trouble, self._remedy
        if trouble:
            return silenced(answer.snapshot, self.node, trouble, wall, older_s, remedy=remedy)
        return answer.snapshot if not self._trouble else aged(answer.snapshot, wall, older_s)


def read_node(node: str, body: bytes, at: float) -> NodeAnswer:
    """A hub's page of one node, which came at `at` on the monotonic clock. Raises TargetFault."""
    try:
        page = _decode(body)
        snapshot = wire.decode(bytes(page.snapshot))
    except (*DECODE_ERRORS, WireError) as error:
        raise TargetFault(Reason.GARBAGE, f"no node of a hub: {error}") from error
    silent, remedy = "", ""
    if page.state not in SPEAKING:
        silent, remedy = aging.explain(node, page.state, page.targets)
    return NodeAnswer(snapshot=snapshot, at=at, silent=silent, remedy=remedy)
