"""Requests that go on to the hub that they are about, with the rights of this hub's credentials there.

A route needs the same role here as at its hub: a client that may only read here changes nothing
below, whatever the credentials for the hub below allow.
"""

from typing import Any
from urllib.parse import quote

import msgspec

from accelwatch.alerting.evaluation.silences.requests import decode_request
from accelwatch.base.errors import UncertainError
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault, leaves_doubt
from accelwatch.fleet.global_hub.followed import FollowedHubs
from accelwatch.web.pages.json_page import packed
from accelwatch.web.pages.page import JSON, Change, Headers, Page, Query, plain
from accelwatch.web.pages.routes import ON_BEHALF_OF, PLACEHOLDER, Route

_UNAUTHORIZED, _FORBIDDEN = 401, 403
_BAD_GATEWAY, _UNAVAILABLE, _GATEWAY_TIMEOUT = 502, 503, 504
_RETRY_S = 5.0
# Fields of a body that give the reason; the user's name here is added to them.
_REASONS = ("reason", "text")


class Relay:
    """The loop's thread only."""

    def __init__(self, followed: FollowedHubs) -> None:
        self._requests = followed.requests

    def over(self, route: Route) -> Route:
        """The route of a hub, answered by the hub that a request is about.

        A body that every hub would refuse goes to none.
        """

        async def read(*arguments: Any) -> Page:
            *values, query, headers = arguments
            return await self._read(_path(route, values), query, headers)

        async def change(*arguments: Any) -> Page:
            *values, change = arguments
            if route.body is not None:
                decode_request(change.body, route.body)
            return await self._change(_path(route, values), _signed_query(route, change))

        handler = read if route.method == "GET" else change
        return msgspec.structs.replace(route, handler=handler)

    async def _read(self, path: str, query: Query, headers: Headers) -> Page:
        try:
            body = await self._requests.document(path, _single(query))
        except TargetFault as fault:
            return _answer(fault)
        return packed(body, JSON, headers.get("Accept-Encoding", ""))

    async def _change(self, path: str, change: Change) -> Page:
        query = _single(change.query)
        body = _signed(change.body, change.user) if change.body else None
        try:
            answer = await self._requests.change(change.method, path, query, body)
        except TargetFault as fault:
            # 503 says that nothing was done; of another failure nobody knows.
            return _answer(fault, certain=not leaves_doubt(fault))
        except UncertainError as error:
            return plain(_BAD_GATEWAY, str(error))
        return packed(answer, JSON, change.headers.get("Accept-Encoding", ""))


def _path(route: Route, values: list[str]) -> str:
    """The path of a request, with its values instead of the placeholders."""
    left = iter(values)
    return PLACEHOLDER.sub(lambda _match: quote(next(left), safe=""), route.path)


def _single(query: Query) -> dict[str, str]:
    """Lists with commas, which all repeatable parameters accept."""
    return {name: ",".join(values) for name, values in query.items()}


def _signed_query(route: Route, change: Change) -> Change:
    """The change with the person who asks here, for the audit log below, where it has no body."""
    if not change.user:
        return change
    query = {**change.query}
    if "by" in query:
        query["by"] = (change.user,)
    if ON_BEHALF_OF in route.parameters:
        # A hub over this one has named a person, too.
        people = (*change.query.get(ON_BEHALF_OF.name, ()), change.user)
        query[ON_BEHALF_OF.name] = (", ".join(people),)
    return msgspec.structs.replace(change, query=query)


def _signed(body: bytes, user: str) -> bytes:
    """The body with the user of this hub, for the audit log below, where this hub has logins."""
    document: dict[str, Any] = msgspec.json.decode(body)
    if not user:
        return body
    for key in _REASONS:
        if isinstance(text := document.get(key), str) and text.strip():
            document[key] = f"{text} (for {user})"
    return msgspec.json.encode({**document, "by": user})


def _answer(fault: TargetFault, *, certain: bool = True) -> Page:
    """The answer to a client here when a hub refuses its request or does not answer."""
    text, code = str(fault), fault.code
    if code == _UNAUTHORIZED:
        return plain(_FORBIDDEN, text)
    if 400 <= code < 500 and fault.reason is not Reason.BUSY:
        return plain(code, text)
    if certain:
        wait = fault.retry_after_s or _RETRY_S
        return plain(_UNAVAILABLE, text, {"Retry-After": f"{wait:.0f}"})
    return plain(_GATEWAY_TIMEOUT if fault.reason is Reason.TIMEOUT else _BAD_GATEWAY, text)
