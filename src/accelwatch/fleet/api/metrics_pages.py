"""What Prometheus scrapes of a hub: its own series, and where it is enabled all devices' families."""

from collections.abc import Awaitable, Collection, Iterator
from typing import TYPE_CHECKING

from accelwatch.base.errors import UnmetError
from accelwatch.exposition.text import OPENMETRICS, TEXT
from accelwatch.fleet.api.fleet_counts import FleetCounts
from accelwatch.fleet.api.muted_targets import MutedTargets, muted_series
from accelwatch.fleet.api.own import RenderOwn, own_series
from accelwatch.fleet.api.summaries import node_health
from accelwatch.fleet.outages import outages
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.web.pages.json_page import packed
from accelwatch.web.pages.negotiation import choose
from accelwatch.web.pages.page import Headers, Page, Query
from accelwatch.web.pages.routes import Parameter, Route

if TYPE_CHECKING:
    from accelwatch.fleet.api.store_pages import PeerPages

_SCRAPED = ("text/plain", "application/openmetrics-text")


class TargetOutages:
    """Which targets are part of an outage, and of which one; for one event loop."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        # By node, the start of the outage that it was part of at the last call.
        self._since: dict[str, str] = {}

    def series(self, muted: Collection[str] = ()) -> dict[Series, Number]:
        """1 for each target of an outage; `muted` are nodes that nobody is to be paged about.

        An outage has the same `since` until it is over, also when the node that stopped first is back:
        with another one it would be another alert. Targets that never answered are left out, since
        these have no begin; an alert on them would stand for ever, and they are down one by one.
        """
        fleet = self._fleet
        counted = [
            node_health(fleet, node)
            for node in fleet.nodes.values()
            if node.sources and node.name not in muted
        ]
        since: dict[str, str] = {}
        for outage, nodes in outages(counted, len(fleet.nodes), fleet.clock.wall()):
            if outage.since is not None:
                existing = (self._since[name] for name in nodes if name in self._since)
                since.update(dict.fromkeys(nodes, min(existing, default=outage.since)))
        self._since = since
        return {("fleet_target_outage", name, started): 1 for name, started in since.items()}


class MetricsPages:
    """For the hub's event loop."""

    def __init__(
        self,
        fleet: Fleet,
        counts: FleetCounts,
        render: RenderOwn,
        muted: MutedTargets,
        peers: "PeerPages | None",
    ) -> None:
        self._fleet = fleet
        self._counts = counts
        self._render = render
        self._muted = muted
        self._outages = TargetOutages(fleet)
        self._peers = peers

    def routes(self) -> Iterator[Route]:
        """What is scraped where."""
        yield Route("GET", "/metrics", "Aggregates, for Prometheus", self._metrics, media=_SCRAPED)
        yield Route(
            "GET",
            "/federate",
            "All devices' families, for Prometheus; where it is enabled",
            self._federate,
            media=_SCRAPED,
            parameters=(
                Parameter("profile", "default or minimal."),
                Parameter("groups", "Opt-in groups, separated by commas."),
            ),
        )

    async def own(self) -> dict[Series, Number]:
        """What the hub says about itself and the fleet."""
        sums = await self._counts.sums()
        async with self._counts.turns.walk() as walk:
            series = await own_series(self._fleet, sums, walk)
            muted = await self._muted.names(walk)
        peers = {} if self._peers is None else self._peers.own()
        return {**series, **muted_series(muted), **self._outages.series(muted), **peers}

    async def _metrics(self, _query: Query, headers: Headers) -> Page:
        chosen = choose(headers.get("Accept", ""), (TEXT, OPENMETRICS)) or TEXT
        series = await self.own()
        lines: list[str] = []
        async with self._counts.turns.walk() as walk:
            for line in self._render(series, chosen == OPENMETRICS):
                lines.append(line)
                await walk.yield_control()
        return packed("".join(lines).encode(), chosen, headers.get("Accept-Encoding", ""))

    def _federate(self, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        if self._peers is None:
            raise UnmetError("federation is not enabled")
        return self._peers.federate(query, headers)
