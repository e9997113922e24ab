"""Requests to the manager of one Backend.AI installation: read, write, and its GraphQL."""

from collections.abc import Callable, Mapping
from typing import TypeVar
from urllib.parse import urlencode

import msgspec

from accelwatch.api_client.backendai.credentials import Credentials, Ticket
from accelwatch.api_client.backendai.errors import (
    BackendAiUnavailableError,
    error_of,
    graphql_error,
)
from accelwatch.api_client.backendai.server import Server
from accelwatch.api_client.backendai.signing import CLOCK_WINDOW_S, clock_offset_s, signed_headers
from accelwatch.api_client.errors import NoAnswerError, never_withdrawn
from accelwatch.api_client.limiter import Limiter
from accelwatch.api_client.session import ApiResponse, Session
from accelwatch.base.clock import Clock, SystemClock
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import ConfigError, WithdrawnError

# The manager grants a keypair 30,000 requests in 15 minutes unless its administrator says otherwise,
# and counts what people do with the same key.
REQUESTS_PER_S, BURST = 30.0, 200
# Where GraphQL answers 200 with its errors in the body.
GRAPHQL = "/admin/gql"

# In a 401 whose access key the manager knows.
_SIGNATURE = b"ignature mismatch"
_SIGNATURE_NOTE = (
    "check secret_key_file, and set host where a proxy sends another Host to the manager"
)

Body = Mapping[str, object]
_Write = Callable[[], str]
_T = TypeVar("_T")


class _GraphqlError(msgspec.Struct, frozen=True):
    message: str = ""
    # The field that failed; none where the document was refused before anything was done.
    path: tuple[str | int, ...] | None = None


class _GraphqlAnswer(msgspec.Struct, frozen=True):
    data: msgspec.Raw = msgspec.Raw(b"null")
    errors: tuple[_GraphqlError, ...] | None = None


class BackendAiClient:
    """For one event loop. Every call ends in bounded time, with the body of the answer.

    All raise BackendAiRefusedError where the manager refused, BackendAiUnavailableError where it did not
    answer or is broken; those with `withdrawn`, which is called immediately before each is sent,
    besides WithdrawnError when it gives a reason. With `private`, messages of the manager are left
    out of errors: they may repeat what users wrote into the session that the request is about.
    """

    def __init__(
        self,
        server: Server,
        *,
        limiter: Limiter | None = None,
        clock: Clock | None = None,
        session: Session | None = None,
    ) -> None:
        self._server = server
        self._clock = clock or SystemClock()
        self._credentials = Credentials(server, self._clock)
        self._session = session or Session(server.base)
        self._limiter = limiter or Limiter(REQUESTS_PER_S, BURST, clock=self._clock)

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """What is at a path."""
        return await self._send("GET", _target(path, query))

    async def post(
        self,
        path: str,
        body: Body,
        *,
        private: bool = False,
        withdrawn: _Write = never_withdrawn,
    ) -> bytes:
        """Create something, or search."""
        return await self._send("POST", _target(path), body, private, withdrawn)

    async def patch(
        self,
        path: str,
        body: Body,
        *,
        private: bool = False,
        withdrawn: _Write = never_withdrawn,
    ) -> bytes:
        """Change something."""
        return await self._send("PATCH", _target(path), body, private, withdrawn)

    async def delete(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        withdrawn: _Write = never_withdrawn,
    ) -> bytes:
        """End or delete something."""
        return await self._send("DELETE", _target(path, query), None, False, withdrawn)

    async def graphql(
        self,
        query: str,
        variables: Body | None = None,
        *,
        private: bool = False,
        withdrawn: _Write = never_withdrawn,
    ) -> bytes:
        """The `data` of a query or mutation. What comes with an error is not believed."""
        body = {"query": query, "variables": variables or {}}
        answer = await self._send("POST", GRAPHQL, body, private, withdrawn)
        read = decoded(answer, _GraphqlAnswer)
        if read.errors:
            messages = tuple(error.message for error in read.errors)
            raise graphql_error(
                messages, private=private, started=any(error.path for error in read.errors)
            )
        return bytes(read.data)

    async def close(self) -> None:
        """Give the connections back."""
        await self._session.close()

    async def _send(
        self,
        method: str,
        target: str,
        body: Body | None = None,
        private: bool = False,
        withdrawn: _Write = never_withdrawn,
    ) -> bytes:
        """The body of the answer; a 429, which has changed nothing, is sent again in time."""
        deadline = self._clock.monotonic() + self._server.timeout_s
        sent_body = None if body is None else msgspec.json.encode(body)
        while True:
            if not await self._limiter.wait(deadline):
                text = f"not sent: no turn within {self._server.timeout_s:g} s"
                raise BackendAiUnavailableError(text, sent=False)
            ticket = await self._ticket()
            # A STOP may have come while this request waited for its turn.
            if why := withdrawn():
                raise WithdrawnError(why)
            answer = await self._request(method, target, sent_body, ticket, deadline)
            if answer.well:
                return answer.body
            error = error_of(
                answer.status,
                self._without_keys(answer.body, ticket),
                retry_after_s=answer.retry_after_s,
                private=private,
                note=self._note(answer),
            )
            if answer.status != 429:
                raise error
            self._limiter.pause(answer.retry_after_s)
            if self._limiter.opens_at > deadline:
                raise error

    async def _request(
        self, method: str, target: str, body: bytes | None, ticket: Ticket, deadline: float
    ) -> ApiResponse:
        # Signed again each time it is sent: its Date is part of it.
        headers = signed_headers(
            method,
            target,
            host=self._server.host,
            access_key=self._server.access_key,
            secret_key=ticket.secret_key,
            at=self._clock.wall(),
        )
        try:
            return await self._session.request(
                method,
                target,
                tls=ticket.tls,
                timeout_s=max(deadline - self._clock.monotonic(), 0.001),
                headers=headers,
                body=body,
            )
        except NoAnswerError as error:
            raise BackendAiUnavailableError(str(error), sent=error.sent) from error

    async def _ticket(self) -> Ticket:
        try:
            return await self._credentials.ticket()
        except ConfigError as error:
            raise BackendAiUnavailableError(str(error), sent=False) from error

    def _note(self, answer: ApiResponse) -> str:
        """What a refusal comes from, where the manager does not say it well."""
        if answer.status not in (400, 401):
            return ""
        offset_s = clock_offset_s(answer.date, self._clock.wall())
        if offset_s is None or abs(offset_s) < CLOCK_WINDOW_S:
            return _SIGNATURE_NOTE if _SIGNATURE in answer.body else ""
        side = "fast" if offset_s > 0 else "slow"
        return (
            f"this machine's clock is {abs(offset_s) / 60:.0f} minutes {side} by the manager's, "
            "which accepts 15; set the clock (timedatectl set-ntp true)"
        )

    def _without_keys(self, body: bytes, ticket: Ticket) -> bytes:
        # A proxy's page may repeat the headers that it was sent.
        for key in (ticket.secret_key, self._server.access_key):
            body = body.replace(key.encode(), b"(key)")
        return body


def decoded(body: bytes, kind: type[_T]) -> _T:
    """A body of the manager as a type. Raises BackendAiUnavailableError, without what was in it."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        # Of its text only the path: the rest may repeat a value.
        _, separator, location = str(error).rpartition(" - at ")
        text = "the manager's answer is not what is expected"
        text = f"{text}, at {location.strip('`')}" if separator else text
        raise BackendAiUnavailableError(text, sent=True) from None
    except DECODE_ERRORS:
        text = "the manager's answer is not JSON"
        raise BackendAiUnavailableError(text, sent=True) from None


def _target(path: str, query: Mapping[str, str] | None = None) -> str:
    """A path with its query as it is sent. Raises ValueError for one that would lead elsewhere."""
    steps = path.split("/")
    if steps[0] or ".." in steps or "." in steps or any(char in path for char in "?#% \\"):
        raise ValueError("not a path of the API")
    return f"{path}?{urlencode(query)}" if query else path
