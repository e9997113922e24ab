"""Requests to a hub, over HTTP, TLS or a socket: on several links, each for one request at a time."""

import asyncio
import time
from collections.abc import Mapping

import msgspec

from accelwatch.base.backoff import retry_after
from accelwatch.fleet.follow.access import Ticket
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.failures.texts import USER_AGENT
from accelwatch.fleet.follow.http.body import BodyPrefix, BodyReader, OpenBody
from accelwatch.fleet.follow.http.connector import Connector
from accelwatch.fleet.follow.http.link import Link
from accelwatch.fleet.follow.http.request import Request, path_of
from accelwatch.fleet.follow.http.server import Server

_OK = 200
# Bytes of a refusal that are shown.
_SHOWN_BYTES = 2000


class HubRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request, but for the credentials."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None


class HubLink:
    """Answers of a hub, one after the other."""

    def __init__(self, connector: Connector, server: Server) -> None:
        self._server = server
        self._link = Link(connector, server)

    async def request(
        self, hub_request: HubRequest, ticket: Ticket, open_body: OpenBody, timeout_s: float
    ) -> bytes:
        """What is kept of the body, once all of it has come. Raises TargetFault."""

        def open_answer(code: int, answered: Mapping[str, str]) -> BodyReader | None:
            return open_body(answered) if code == _OK else refusal_body(answered)

        until = asyncio.get_running_loop().time() + timeout_s
        request = Request(
            hub_request.method,
            path_of(hub_request.url),
            self._server.authority,
            {**hub_request.headers, **ticket.headers, "User-Agent": USER_AGENT},
            hub_request.body,
        )
        answer = await self._link.fetch(request, ticket, open_answer, until)
        if answer.status != _OK:
            raise refusal(answer.status, answer.headers, answer.body())
        return answer.body()

    def prolong(self, timeout_s: float) -> None:
        """Give the answer that is coming so long from now on."""
        self._link.prolong(timeout_s)

    def close(self) -> None:
        """Let go of the connection, if there is one."""
        self._link.close()


def refusal_body(headers: Mapping[str, str]) -> BodyPrefix | None:
    """A reader for the body of a refusal; None for a refusal without a text."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/plain" and "content-encoding" not in headers:
        return BodyPrefix(_SHOWN_BYTES)
    return None


def refusal(code: int, headers: Mapping[str, str], body: bytes) -> TargetFault:
    """The fault of an answer; `body` is the beginning of its body, where that is plain text."""
    message = body.decode("utf-8", "replace").strip()
    if 300 <= code < 400:
        text = f"answered {code}; redirects are not followed"
        return TargetFault(Reason.REDIRECT, text, code=code)
    if code in (401, 403):
        text = f"answered {code}: {message or 'check the credentials'}"
        return TargetFault(Reason.CREDENTIALS, text, code=code)
    wait = retry_after(headers.get("retry-after"), time.time())
    reason = Reason.BUSY if code in (429, 503) else Reason.STATUS
    return TargetFault(reason, message or f"answered {code}", code=code, retry_after_s=wait)
