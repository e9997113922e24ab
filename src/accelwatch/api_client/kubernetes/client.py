"""Requests to the API server of one cluster: read, create, patch, delete, evict, watch.

Every write says who writes (fieldManager) and is refused where the server does not know a field
(fieldValidation=Strict): a server drops what it does not know, and a rule without its selector matches
everything.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlencode

import msgspec

from accelwatch.api_client.errors import NoAnswerError, never_withdrawn
from accelwatch.api_client.kubernetes.credentials import Credentials, Ticket
from accelwatch.api_client.kubernetes.errors import (
    DISRUPTION_BUDGET,
    ApiUnavailableError,
    KubernetesError,
    error_of,
)
from accelwatch.api_client.kubernetes.server import Server
from accelwatch.api_client.limiter import Limiter
from accelwatch.api_client.session import ApiResponse, Session
from accelwatch.base.clock import Clock, SystemClock
from accelwatch.base.errors import ConfigError, WithdrawnError

FIELD_MANAGER = "accelwatch"
TIMEOUT_S = 10.0
# What a watch gets beyond the time after which the server ends it.
_WATCH_GRACE_S = 30.0
_JSON = "application/json"
_MERGE_PATCH = "application/merge-patch+json"

Body = bytes | Mapping[str, object]


class KubernetesClient:
    """For one event loop. Every call ends in bounded time, with the body of the answer.

    All raise ApiError where the server refused, and ApiUnavailableError where it did not answer or is
    broken; writes besides WithdrawnError when `withdrawn`, which is called immediately before each is
    sent, gives a reason.
    """

    def __init__(
        self,
        server: Server,
        *,
        timeout_s: float = TIMEOUT_S,
        limiter: Limiter | None = None,
        clock: Clock | None = None,
        session: Session | None = None,
    ) -> None:
        """`timeout_s` is for one call, with its turn at the limiter and what it is sent again."""
        self._clock = clock or SystemClock()
        self._credentials = Credentials(server, self._clock)
        self._session = session or Session(server.base)
        self._limiter = limiter or Limiter(clock=self._clock)
        self._timeout_s = timeout_s

    async def get(
        self, path: str, query: Mapping[str, str] | None = None, *, accept: str = _JSON
    ) -> bytes:
        """What is at a path."""
        return await self._send("GET", path, query or {}, headers={"Accept": accept})

    async def create(
        self,
        path: str,
        body: Body,
        *,
        dry_run: bool = False,
        withdrawn: Callable[[], str] = never_withdrawn,
    ) -> bytes:
        """An object in a collection, or of a subresource. A 409 AlreadyExists is an ApiError."""
        return await self._write("POST", path, body, dry_run, withdrawn)

    async def patch(
        self,
        path: str,
        body: Body,
        *,
        subresource: str = "",
        dry_run: bool = False,
        withdrawn: Callable[[], str] = never_withdrawn,
    ) -> bytes:
        """A JSON merge patch (RFC 7386): lists are replaced, null removes.

        With `metadata.resourceVersion` in it a 409 Conflict says that the object is another by now.
        """
        path = f"{path}/{subresource}" if subresource else path
        return await self._write("PATCH", path, body, dry_run, withdrawn)

    async def delete(
        self,
        path: str,
        *,
        uid: str = "",
        resource_version: str = "",
        dry_run: bool = False,
        withdrawn: Callable[[], str] = never_withdrawn,
    ) -> bytes:
        """Delete an object, if it is still the one with that uid and version."""
        options = _delete_options(uid, resource_version)
        if dry_run:
            # Of a DELETE with a body the server reads no options from the query.
            options["dryRun"] = ["All"]
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        return await self._write("DELETE", path, body, dry_run, withdrawn)

    async def evict(
        self,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: str = "",
        dry_run: bool = False,
        withdrawn: Callable[[], str] = never_withdrawn,
    ) -> bytes:
        """Evict a pod, if it is still the one with that uid.

        A 429 with the cause `DisruptionBudget` comes at once; a dry run spends nothing of the budget.
        """
        if not namespace or not name or "/" in namespace + name:
            raise ValueError("not a namespace and a name of a pod")
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": _delete_options(uid, resource_version),
        }
        return await self._write("POST", path, body, dry_run, withdrawn)

    async def watch(
        self,
        path: str,
        query: Mapping[str, str],
        *,
        opened: Callable[[], None],
        feed: Callable[[bytes], None],
        accept: str = _JSON,
    ) -> None:
        """Give `feed` what comes until the server ends it, at the query's `timeoutSeconds`.

        Raises KubernetesError, and what `feed` raises.
        """
        timeout_s = float(query["timeoutSeconds"]) + _WATCH_GRACE_S
        # Packed, a short event waits in the server for more to pack with it.
        headers = {"Accept": accept, "Accept-Encoding": "identity"}
        target = f"{_checked(path)}?{urlencode(query)}"
        await self._turn(self._clock.monotonic() + self._timeout_s)
        ticket = await self._ticket()
        with _unavailable():
            answer = await self._session.stream(
                target,
                tls=ticket.tls,
                timeout_s=timeout_s,
                headers={**headers, **ticket.headers},
                opened=opened,
                feed=feed,
            )
        if answer.status == 401:
            await self._ticket(ticket)  # the next watch uses the credentials that are there then
        if not answer.well:
            raise self._error(answer, ticket.token)

    async def close(self) -> None:
        """Give the connections back."""
        await self._session.close()

    async def _write(
        self, method: str, path: str, body: Body, dry_run: bool, withdrawn: Callable[[], str]
    ) -> bytes:
        query = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"}
        if dry_run:
            query["dryRun"] = "All"
        content = _MERGE_PATCH if method == "PATCH" else _JSON
        return await self._send(
            method,
            path,
            query,
            headers={"Accept": _JSON, "Content-Type": content},
            body=body if isinstance(body, bytes) else msgspec.json.encode(body),
            withdrawn=withdrawn,
        )

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        withdrawn: Callable[[], str] = never_withdrawn,
    ) -> bytes:
        """The body of the answer; what has changed nothing (401, flow control) is sent again in time."""
        target = f"{_checked(path)}?{urlencode(query)}" if query else _checked(path)
        deadline = self._clock.monotonic() + self._timeout_s
        refused: Ticket | None = None
        while True:
            await self._turn(deadline)
            ticket = await self._ticket(refused)
            # A STOP may have come while this request waited for its turn.
            if why := withdrawn():
                raise WithdrawnError(why)
            with _unavailable():
                answer = await self._session.request(
                    method,
                    target,
                    tls=ticket.tls,
                    timeout_s=max(deadline - self._clock.monotonic(), 0.001),
                    headers={**headers, **ticket.headers},
                    body=body,
                )
            if answer.well:
                return answer.body
            error = self._error(answer, ticket.token)
            if answer.status == 401 and refused is None:
                refused = ticket
                if await self._ticket(refused) is not refused:
                    continue
            if not self._is_flow_control(error):
                raise error
            self._limiter.pause(error.retry_after_s)
            if self._limiter.opens_at > deadline:
                raise error

    async def _ticket(self, refused: Ticket | None = None) -> Ticket:
        try:
            return await self._credentials.ticket(refused)
        except ConfigError as error:
            raise ApiUnavailableError(str(error), sent=False) from error

    async def _turn(self, deadline: float) -> None:
        if not await self._limiter.wait(deadline):
            text = f"not sent: no turn within {self._timeout_s:g} s"
            raise ApiUnavailableError(text, sent=False)

    @staticmethod
    def _is_flow_control(error: KubernetesError) -> bool:
        return error.status == 429 and DISRUPTION_BUDGET not in error.causes

    @staticmethod
    def _error(answer: ApiResponse, token: str) -> KubernetesError:
        body = answer.body
        if token:
            # A proxy's page may repeat the headers that it was sent.
            body = body.replace(token.encode(), b"(token)")
        return error_of(answer.status, body, answer.retry_after_s)


@contextmanager
def _unavailable() -> Iterator[None]:
    """Raise ApiUnavailableError where there is no answer."""
    try:
        yield
    except NoAnswerError as error:
        raise ApiUnavailableError(str(error), sent=error.sent) from error


def _delete_options(uid: str, resource_version: str) -> dict[str, object]:
    preconditions = {"uid": uid, "resourceVersion": resource_version}
    required = {key: value for key, value in preconditions.items() if value}
    return {"preconditions": required} if required else {}


def _checked(path: str) -> str:
    """A path as it is sent. Raises ValueError for one that would lead elsewhere than it seems to."""
    steps = path.split("/")
    if steps[0] or ".." in steps or "." in steps or any(char in path for char in "?#% \\"):
        raise ValueError("not a path of the API")
    return path
