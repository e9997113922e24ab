"""Requests of commands to several hubs as to one: to the hub that a request is about, or to all of them.

What is about a node, an incident or a silence goes to its hub; lists are those of all hubs. For anything
else one hub has to be named.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.alerting.evaluation.paths import EXPLAIN, INCIDENTS, MAINTENANCE, SILENCES
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError, UncertainError, UsageError
from accelwatch.fleet.documents.remedies import Commanded, RemediesPage
from accelwatch.fleet.follow.failures.faults import TargetFault, first_line, leaves_doubt
from accelwatch.fleet.hub_client.connection.session import Requests, node_path
from accelwatch.fleet.hub_client.documents import decoded
from accelwatch.fleet.hub_client.several.fan_out import at_each
from accelwatch.fleet.hub_client.several.merging.pages import commanded_merged
from accelwatch.fleet.hub_client.several.names.incident_ids import incident_in, with_hub
from accelwatch.fleet.hub_client.several.picture import SeveralPicture
from accelwatch.fleet.hub_client.several.requests.lists import (
    NO_PAGE,
    REMEDIES,
    SeveralLists,
    read_body,
    read_page,
)
from accelwatch.fleet.hub_client.several.requests.mutings import silence_at, window_at
from accelwatch.fleet.hub_client.several.requests.routes import Routes

_NODES, _PLAN = "/v1/nodes", "/v1/plan"
# Words about all nodes, for every hub that acts.
_OF_ALL = ("/v1/stop", "/v1/start", "/v1/breaker/reset")
# What is set for some nodes or incidents, to the function that finds the hub of these.
_MUTINGS = {SILENCES: silence_at, MAINTENANCE: window_at}
# Pages below which an id follows.
_BY_ID = (INCIDENTS, SILENCES, MAINTENANCE)
# The answer that is about the request, not about the hub: a bad filter.
_BAD_REQUEST = 400


class SeveralRequests:
    """Requests over hubs whose picture is known; one that fails is named in what the others say."""

    def __init__(
        self,
        sessions: Sequence[Requests],
        picture: SeveralPicture,
        routes: Routes,
        prepare: Callable[[], Awaitable[object]],
        *,
        advice: str,
    ) -> None:
        """`prepare` sees to it that the picture has the nodes of all hubs that answer.

        `advice` is what to do about a request that is about no single hub.
        """
        self._advice = advice
        self._sessions = sessions
        self._picture = picture
        self._routes = routes
        self._prepare = prepare
        self._lists = SeveralLists(sessions, picture, routes)

    async def document(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """The body of a page. Raises TargetFault, UnmetError, UsageError."""
        parameters = dict(query or {})
        if self._lists.has(path):
            await self._prepare()
            return await self._lists.document(path, parameters)
        if path == EXPLAIN:
            return await self._explanation(parameters)
        if path == _PLAN:
            hub, own = await self._acting(parameters.get("node", ""))
            return await self._ask(hub, path, {"node": own})
        if path.startswith(f"{_NODES}/"):
            await self._prepare()
            hub, own_path = self._of_node(path)
            return await self._ask(hub, own_path, parameters)
        if target := self._by_id(path):
            hub, own_path = target
            body = await self._ask(hub, own_path, parameters)
            # Of pages by id only the incident itself has names in it.
            is_incident = path.startswith(INCIDENTS) and path.count("/") == INCIDENTS.count("/") + 1
            return await self._incident(hub, body) if is_incident else body
        raise self._refusal()

    async def _ask(self, hub: int, path: str, query: Mapping[str, str]) -> bytes:
        """A page of the hub that a request is about. Raises TargetFault, which names the hub."""
        try:
            return await self._sessions[hub].document(path, query)
        except TargetFault as fault:
            raise self._named(hub, fault) from fault

    async def _send(
        self,
        hub: int,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: bytes | None,
    ) -> bytes:
        """A change at the hub that it is about. Raises TargetFault, which names the hub."""
        try:
            return await self._sessions[hub].change(method, path, query, body)
        except TargetFault as fault:
            raise self._named(hub, fault) from fault

    def _named(self, hub: int, fault: TargetFault) -> TargetFault:
        """The fault with the hub's name; what it says of a request itself stays as it is."""
        if fault.code == _BAD_REQUEST:
            return fault
        text = f"hub {self._routes.hubs[hub]}: {fault}"
        return TargetFault(fault.reason, text, code=fault.code, retry_after_s=fault.retry_after_s)

    async def _explanation(self, query: dict[str, str]) -> bytes:
        """By the hub of the entity's node; a job or rack by the first that knows it.

        Raises TargetFault, UnmetError.
        """
        await self._prepare()
        faults: list[TargetFault] = []
        for hub, own in self._routes.entity(query.get("entity", "")):
            try:
                return await self._sessions[hub].document(EXPLAIN, {**query, "entity": own})
            except TargetFault as fault:
                faults.append(fault)
        raise faults[0]

    async def change(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None
    ) -> bytes:
        """The body of the answer to a change at one hub. Raises TargetFault, UnmetError, UsageError."""
        if target := self._by_id(path):
            hub, own_path = target
            answer = await self._send(hub, method, own_path, query, body)
            return _with_ids(answer, self._routes.hubs[hub])
        if path.startswith(f"{_NODES}/"):
            await self._prepare()
            hub, own_path = self._of_node(path)
            return await self._send(hub, method, own_path, query, body)
        if path.startswith(f"{REMEDIES}/"):
            node, _, verb = path.removeprefix(f"{REMEDIES}/").partition("/")
            hub, own = await self._acting(unquote(node))
            own_path = f"{REMEDIES}/{quote(own, safe='')}/{verb}"
            return await self._send(hub, method, own_path, query, body)
        if path in _MUTINGS and body is not None:
            await self._prepare()
            if match := _MUTINGS[path](self._routes, msgspec.json.decode(body)):
                hub, document = match
                answer = await self._send(hub, method, path, query, msgspec.json.encode(document))
                return _with_ids(answer, self._routes.hubs[hub])
        if path in _OF_ALL:
            return await self._send_to_all(method, path, query, body)
        raise self._refusal()

    async def _send_to_all(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None
    ) -> bytes:
        """A word about all nodes, at every hub that acts or may act; at all where none does.

        Raises AccelwatchError.
        """
        answers: dict[int, Commanded] = {}

        async def send(hub: int) -> str:
            try:
                answer = await self._sessions[hub].change(method, path, query, body)
            except TargetFault as fault:
                kind = UncertainError if leaves_doubt(fault) else AccelwatchError
                raise kind(f"not accepted: {first_line(fault)}") from fault
            try:
                answers[hub] = decoded(answer, Commanded)
            except AccelwatchError as error:
                raise UncertainError(str(error)) from error
            return "done"

        # Each hub gets its own request: a stop does not wait for one that hangs.
        async def send_if_acting(hub: int) -> str:
            try:
                page = await read_page(self._sessions[hub], REMEDIES, {}, RemediesPage)
            except TargetFault as fault:
                return "" if fault.code == NO_PAGE else await send(hub)
            return await send(hub) if page.acts else ""

        hubs = range(len(self._sessions))
        if not await at_each(self._routes.hubs, [send_if_acting(hub) for hub in hubs]):
            await at_each(self._routes.hubs, [send(hub) for hub in hubs])
        return msgspec.json.encode(commanded_merged(answers, self._picture.owner))

    def _refusal(self) -> UsageError:
        names = ", ".join(self._routes.hubs)
        return UsageError(f"this is not asked of several hubs at once: {self._advice} ({names})")

    def _of_node(self, path: str) -> tuple[int, str]:
        """(hub, path there) of a page of a node. Raises UnmetError."""
        node, _, page = path.removeprefix(f"{_NODES}/").partition("/")
        hub, own = self._routes.node(unquote(node))
        return hub, node_path(own, f"/{page}" if page else "")

    def _by_id(self, path: str) -> tuple[int, str] | None:
        """(hub, path there) of what names an incident, silence or window by its id."""
        for base in _BY_ID:
            if path.startswith(f"{base}/"):
                id_, slash, page = path.removeprefix(f"{base}/").partition("/")
                hub, own = self._routes.id(unquote(id_))
                return hub, f"{base}/{quote(own, safe='')}{slash}{page}"
        return None

    async def _acting(self, node: str) -> tuple[int, str]:
        """Of the hubs that follow a node the one that does something about it, else that acts.

        Raises TargetFault, UnmetError.
        """
        await self._prepare()
        matches = self._routes.machine(node)
        if len(matches) == 1:
            return matches[0]
        pages, _ = await self._lists.pages(REMEDIES, {}, RemediesPage, {})
        return self._routes.acting(node, pages)

    async def _incident(self, hub: int, body: bytes) -> bytes:
        await self._prepare()
        try:
            document = read_body(body, IncidentDocument)
        except TargetFault as fault:
            raise self._named(hub, fault) from fault
        return msgspec.json.encode(incident_in(document, hub, self._picture.owner))


def _with_ids(body: bytes, hub: str) -> bytes:
    """An answer to a change with the hub's name in its id. Raises UncertainError for what is none."""
    try:
        answer = msgspec.json.decode(body, type=dict[str, Any])
    except DECODE_ERRORS as error:
        text = "its answer cannot be read, so it is unknown whether this was done"
        raise UncertainError(f"hub {hub}: {text}: check before you repeat it") from error
    for document in (answer, answer.get("silence"), answer.get("maintenance")):
        if isinstance(document, dict) and isinstance(document.get("id"), str):
            document["id"] = with_hub(document["id"], hub)
    return msgspec.json.encode(answer)
