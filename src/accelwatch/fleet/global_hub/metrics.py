"""`/metrics` of a hub that follows hubs: the pages of all of them, each series with its hub."""

import asyncio
from collections.abc import Callable, Mapping

from accelwatch.exposition.text import TEXT
from accelwatch.fleet.api.own import RenderOwn
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.global_hub.followed import FollowedHubs
from accelwatch.fleet.hub_client.several.fan_out import ask_all
from accelwatch.fleet.hub_client.several.merging.exposition import pages_merged
from accelwatch.fleet.hub_states import HUB_DOWN
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.web.pages.json_page import packed
from accelwatch.web.pages.page import Headers, Page, Query


class HubMetrics:
    """The loop's thread only."""

    def __init__(
        self,
        followed: FollowedHubs,
        render: RenderOwn,
        more: Callable[[], Mapping[Series, Number]],
    ) -> None:
        """`more` are series about the process itself."""
        self._followed = followed
        self._render = render
        self._more = more

    async def page(self, _query: Query, headers: Headers) -> Page:
        """All of it, as text."""
        followed = self._followed
        try:
            bodies, _ = await ask_all(
                followed.sessions, lambda session: session.document("/metrics")
            )
        except TargetFault:
            bodies = {}
        pages = {
            followed.names[hub]: body.decode("utf-8", "replace") for hub, body in bodies.items()
        }
        own = "".join(self._render(self._own(), False))
        # Of thousands of nodes it is many lines: streams go on meanwhile.
        body = await asyncio.to_thread(pages_merged, pages, followed.names, own)
        return packed(body, TEXT, headers.get("Accept-Encoding", ""))

    def _own(self) -> dict[Series, Number]:
        own: dict[Series, Number] = dict(self._more())
        for hub in self._followed.document().hubs:
            own["fleet_hub_late_seconds", hub.name] = hub.late_s
            own["fleet_hub_fresh", hub.name] = int(hub.state != HUB_DOWN)
            own["fleet_hub_omitted", hub.name] = hub.omitted
        return own
