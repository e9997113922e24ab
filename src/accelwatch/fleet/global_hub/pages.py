"""Which path of a hub that follows hubs gives which page: those of a hub, answered by the hubs below."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import cached_property

import msgspec

from accelwatch.base.errors import UnmetError
from accelwatch.fleet.api.http import index_page
from accelwatch.fleet.api.openapi import openapi
from accelwatch.fleet.api.own import own_text
from accelwatch.fleet.api.pages import HubPages
from accelwatch.fleet.api.query.events import event_query, page_of
from accelwatch.fleet.documents.fleet import FLEET_HISTORY, FleetHistory
from accelwatch.fleet.global_hub.feed import labels_of
from accelwatch.fleet.global_hub.followed import FollowedHubs
from accelwatch.fleet.global_hub.lists import HubLists
from accelwatch.fleet.global_hub.metrics import HubMetrics
from accelwatch.fleet.global_hub.relay import Relay
from accelwatch.fleet.hub_client.several.names.incident_ids import split_id
from accelwatch.fleet.names import HUB_LABEL
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.timestamps import timestamp
from accelwatch.web.http.stream import STREAM
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import Change, Headers, Page, Query, plain
from accelwatch.web.pages.routes import Route, RouteTable

_INCIDENT_PAGE = "/incidents/{id}"


class GlobalPages:
    """Pages by path; the loop's thread only."""

    def __init__(
        self,
        followed: FollowedHubs,
        *,
        may_act: Callable[[], bool],
        more: Callable[[], Mapping[Series, Number]] = dict,
    ) -> None:
        """`may_act`: whether people prove who they are; `more`: series about the process."""
        self._followed = followed
        self._may_act = may_act
        self._lists = HubLists(followed)
        self._metrics = HubMetrics(followed, own_text(), more)
        self._table = RouteTable(self._routes())

    def _routes(self) -> Iterator[Route]:
        """The routes of any hub, with their parameters and roles; none is written down twice."""
        relay = Relay(self._followed)
        own: dict[tuple[str, str], Callable[..., Page | Awaitable[Page]]] = {
            ("GET", "/"): self._index,
            ("GET", "/v1/fleet"): self._fleet,
            ("GET", FLEET_HISTORY): self._history,
            ("GET", "/v1/nodes"): self._lists.nodes,
            ("GET", "/v1/devices"): self._lists.devices,
            ("GET", "/v1/groups"): self._lists.groups,
            ("GET", "/v1/events"): self._events_page,
            ("GET", "/v1/openapi.json"): self._openapi,
            ("GET", "/metrics"): self._metrics.page,
            ("GET", "/-/healthy"): lambda _query, _headers: plain(200, "healthy"),
            ("GET", "/-/ready"): self._readiness,
        }
        for route in _routes_of_a_hub(self._followed):
            handler = own.get((route.method, route.path))
            if handler is not None:
                yield msgspec.structs.replace(route, handler=handler)
            else:
                yield route if route.path == STREAM else relay.over(route)
        yield Route(
            "GET",
            "/v1/hubs",
            "Which hub leads: to be asked of a hub that this hub follows",
            self._leaders,
            media=("text/plain",),
        )
        yield Route(
            "GET",
            _INCIDENT_PAGE,
            "Where the page of an incident is: at its own hub",
            self._incident_page,
            media=("text/plain",),
        )

    def methods(self, path: str) -> tuple[str, ...]:
        """The methods that a path allows; empty when there is no such path."""
        return self._table.methods(path)

    def page(self, path: str, query: Query, headers: Headers) -> Page | Awaitable[Page]:
        """The page. Raises AccelwatchError for parameters and names that make no sense."""
        return self._table.page(path, query, headers)

    async def act(self, change: Change) -> Page:
        """What changes something below, for those who may here. Raises AccelwatchError."""
        return await self._table.act(change, self._may_act())

    def _index(self, _query: Query, _headers: Headers) -> Page:
        return index_page(self._followed.document())

    def _fleet(self, _query: Query, headers: Headers) -> Page:
        return json_page(self._followed.document(), headers)

    async def _history(self, _query: Query, headers: Headers) -> Page:
        hubs = self._followed.hubs
        faults = [fault for hub in range(len(self._followed.names)) if (fault := hubs.fault(hub))]
        history = None if faults else await hubs.fleet_history()
        if history is None:
            raise UnmetError(
                "the last hour is not added up: a hub does not answer or keeps none, or a node is "
                "followed by two hubs"
            )
        values = {name: list(steps) for name, steps in history.values.items()}
        end = timestamp(history.end)
        return json_page(FleetHistory(step_s=int(history.step_s), end=end, values=values), headers)

    def _events_page(self, query: Query, headers: Headers) -> Page:
        view = self._followed.view()
        numbered = self._followed.events
        if view is not None:
            numbered.update(view.events)
        labels = {} if view is None else view.node_labels
        names = labels_of(view) | {HUB_LABEL}
        requested = event_query(query, self._followed.clock.wall(), names)
        before = requested.before
        events = (
            event
            for event in numbered.newest_first()
            if (before is None or event.sequence < before)
            and requested.matches(event.node, event.time)
        )
        return json_page(page_of(events, requested, lambda node: labels.get(node, {})), headers)

    def _leaders(self, _query: Query, _headers: Headers) -> Page:
        names = ", ".join(self._followed.names)
        raise UnmetError(
            f"this hub follows hubs ({names}) and evaluates no rules: ask one of them who leads; "
            "/v1/fleet says how they stand"
        )

    def _incident_page(self, id_: str, _query: Query, _headers: Headers) -> Page:
        names = self._followed.names
        matches = split_id(id_, names)
        if matches is None:
            raise UnmetError(f"an incident has its hub in its id, as i7@{names[0]} has")
        hub, own = matches
        raise UnmetError(f"the page of {own} is at hub {names[hub]}: /incidents/{own} there")

    def _openapi(self, _query: Query, _headers: Headers) -> Page:
        return self._openapi_page

    # Made once, when it is first requested: it walks all structs of all pages.
    @cached_property
    def _openapi_page(self) -> Page:
        return json_page(openapi(self._table.routes), {})

    def _readiness(self, _query: Query, _headers: Headers) -> Page:
        if self._followed.view() is not None:
            return plain(200, "ready")
        return plain(503, "no hub has answered yet")


def _routes_of_a_hub(followed: FollowedHubs) -> tuple[Route, ...]:
    """The table of the pages of a hub; the pages themselves, over no node, answer nothing here."""

    async def usage(_query: Query, _headers: Headers) -> Page:
        raise UnmetError("no page")

    fleet = Fleet(followed.clock, Thresholds(), None)
    pages = HubPages(fleet, own_text(), ready=lambda: True, may_act=lambda: False, usage=usage)
    return pages.routes
