"""Pages of the hub that need a store, or walk the whole fleet in slices."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from accelwatch.base.errors import UsageError
from accelwatch.config.forms import seconds
from accelwatch.exposition.selection import selection
from accelwatch.exposition.text import OPENMETRICS, TEXT
from accelwatch.fleet.documents.fleet import HistoryDocument
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.history import STEP_S
from accelwatch.fleet.tsdb.peers import Peers
from accelwatch.fleet.tsdb.settings import Federation
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.timestamps import timestamp
from accelwatch.web.pages.negotiation import accepts_gzip, choose
from accelwatch.web.pages.page import Headers, Page, Query, many, plain

if TYPE_CHECKING:
    from accelwatch.fleet.tsdb.federation import Federating
    from accelwatch.fleet.tsdb.follow import StoreFollower

_RANGE_S = 900.0
_MAX_RANGE_S = 31 * 86400.0
_USUAL_STEPS = 90


class PeerPages:
    """The peers as the hub's pages read them; the loop's thread only."""

    def __init__(self, fleet: Fleet, peers: Peers, federation: Callable[[], Federation]) -> None:
        """`federation` gives the settings of now."""
        self._fleet = fleet
        self._peers = peers
        self._federation = federation
        self._federating: Federating | None = None

    def own(self) -> Mapping[Series, Number]:
        """Our own series of store and remote write."""
        return self._peers.own()

    def federate(self, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        """The whole fleet's families. Raises UsageError."""
        settings = self._federation()
        if not settings.enabled:
            return plain(404, "federation is off; set federation.enabled in the hub's settings")
        profile = _single(query, "profile") or settings.profile
        groups = frozenset(many(query, "groups")) or settings.groups
        selection(profile=profile, groups=groups)
        return self._federate(profile, groups, headers)

    async def _federate(self, profile: str, groups: frozenset[str], headers: Headers) -> Page:
        from accelwatch.fleet.tsdb.federation import Federating

        if self._federating is None:
            self._federating = Federating(self._fleet)
        made = await self._federating.made(profile, groups)
        media = choose(headers.get("Accept", ""), (TEXT, OPENMETRICS)) or TEXT
        packed = accepts_gzip(headers.get("Accept-Encoding", ""))
        sent = {"Content-Type": media, "Cache-Control": "no-store", "Vary": "Accept-Encoding"}
        if packed:
            sent["Content-Encoding"] = "gzip"
        return Page(
            body=b"", headers=sent, chunks=lambda: made.chunks(media == OPENMETRICS, packed)
        )

    def history(
        self, node: str, device: Device, query: Query
    ) -> Awaitable[HistoryDocument | Page] | None:
        """A device's history from the store; None when the hub keeps it itself. Raises UsageError."""
        store = self._peers.store
        if store is None or not store.origins(node):
            return None
        from accelwatch.fleet.tsdb.history import MAX_STEPS

        range_s = _duration(query, "range", _RANGE_S, _MAX_RANGE_S)
        least = max(range_s / MAX_STEPS, 1.0)
        step_s = _duration(query, "step", max(STEP_S, range_s / _USUAL_STEPS), range_s)
        if step_s < least:
            raise UsageError(f"step: at least {least:g}s for this range")
        step = round(step_s)
        return self._history(store, node, device, step, max(int(range_s // step), 1))

    async def _history(
        self, store: "StoreFollower", node: str, device: Device, step: int, steps: int
    ) -> HistoryDocument | Page:
        from accelwatch.fleet.tsdb.history import store_history

        end = self._fleet.clock.wall()
        try:
            rows = await store_history(store, device, node, end=end, steps=steps, step_s=step)
        except TargetFault as fault:
            wait = {"Retry-After": f"{max(fault.retry_after_s or 1, 1):.0f}"}
            return plain(503, f"the store: {fault}", wait)
        return HistoryDocument(
            node=node, device=device.id, step_s=step, end=timestamp(end), values=rows
        )


def _duration(query: Query, name: str, usual: float, most: float) -> float:
    text = _single(query, name)
    if text is None:
        return usual
    try:
        duration = seconds(text)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from error
    if not 1.0 <= duration <= most:
        raise UsageError(f"{name}: from 1s to {most:g}s")
    return duration


def _single(query: Query, name: str) -> str | None:
    values: Sequence[str] = query.get(name, ())
    if len(values) > 1:
        raise UsageError(f"{name} is given twice")
    return values[0] if values else None
