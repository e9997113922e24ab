"""Reads and writes of the API, over HTTP, and what is said when they fail."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from aiohttp import web

from accelwatch.api_client import session
from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.errors import (
    ApiError,
    ApiUnavailableError,
    KubernetesError,
)
from accelwatch.api_client.kubernetes.server import Server
from accelwatch.api_client.session import Session
from accelwatch.base.errors import WithdrawnError
from support.processes.idle_loop import IdleClock
from support.servers.ports import free_port
from support.servers.scripted_api import (
    Answering,
    ScriptedApi,
    answered,
    dripping,
    hanging_up,
    raw,
    refused,
    scripted,
)

NODE = "/api/v1/nodes/n1"
WRITES: dict[str, Callable[[KubernetesClient], Coroutine[Any, Any, bytes]]] = {
    "POST": lambda client: client.create("/api/v1/nodes", {"a": 1}),
    "PATCH": lambda client: client.patch(NODE, {"a": 1}),
    "DELETE": lambda client: client.delete(NODE, uid="u"),
    "EVICT": lambda client: client.evict("ns", "p1", uid="u"),
}


@asynccontextmanager
async def connected(
    *answers: Answering, **options: Any
) -> AsyncIterator[tuple[KubernetesClient, ScriptedApi]]:
    async with scripted(*answers) as api:
        client = KubernetesClient(Server(base=api.base), clock=IdleClock(), **options)
        try:
            yield client, api
        finally:
            await client.close()


async def failure(call: Coroutine[Any, Any, object]) -> KubernetesError:
    with pytest.raises(KubernetesError) as raised:
        await call
    return raised.value


def test_a_get_returns_what_the_server_has() -> None:
    async def main() -> None:
        async with connected(answered(200, {"kind": "Node"})) as (client, api):
            body = await client.get("/api/v1/nodes", {"labelSelector": "a=b"})
            assert msgspec.json.decode(body) == {"kind": "Node"}
            (request,) = api.received
            assert (request.method, request.query) == ("GET", {"labelSelector": "a=b"})

    asyncio.run(main())


@pytest.mark.parametrize("dry_run", [False, True])
def test_every_write_is_strict_and_says_who_writes(dry_run: bool) -> None:
    async def main() -> None:
        async with connected(answered(200)) as (client, api):
            await client.create("/api/v1/nodes", {"a": 1}, dry_run=dry_run)
            await client.patch(NODE, b'{"a": 1}', subresource="status", dry_run=dry_run)
            await client.delete(NODE, uid="u", resource_version="7", dry_run=dry_run)
            await client.evict("ns", "p1", uid="u", resource_version="7", dry_run=dry_run)
            expected = {"fieldManager": "accelwatch", "fieldValidation": "Strict"}
            if dry_run:
                expected["dryRun"] = "All"
            assert [request.query for request in api.received] == [expected] * 4
            created, patched, deleted, evicted = api.received
            assert (created.method, created.body) == ("POST", {"a": 1})
            assert (patched.method, patched.path) == ("PATCH", f"{NODE}/status")
            assert patched.headers["Content-Type"] == "application/merge-patch+json"
            preconditions = {"uid": "u", "resourceVersion": "7"}
            assert deleted.body["preconditions"] == preconditions
            assert deleted.body.get("dryRun") == (["All"] if dry_run else None)
            assert evicted.path == "/api/v1/namespaces/ns/pods/p1/eviction"
            assert evicted.body == {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": "p1", "namespace": "ns"},
                "deleteOptions": {"preconditions": preconditions},
            }

    asyncio.run(main())


def test_preconditions_that_are_not_requested_are_not_sent() -> None:
    async def main() -> None:
        async with connected(answered(200)) as (client, api):
            await client.delete(NODE)
            await client.evict("ns", "p1", uid="u")
            assert "preconditions" not in api.received[0].body
            assert api.received[1].body["deleteOptions"] == {"preconditions": {"uid": "u"}}

    asyncio.run(main())


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (400, "BadRequest"),
        (403, "Forbidden"),
        (404, "NotFound"),
        (409, "Conflict"),
        (410, "Expired"),
        (422, "Invalid"),
    ],
)
def test_a_refusal_is_an_error_with_its_reason(status: int, reason: str) -> None:
    async def main() -> None:
        answer = refused(status, reason, "the object\x1b[2J is another", "FieldValueInvalid")
        async with connected(answer) as (client, api):
            error = await failure(client.patch(NODE, {}))
            assert isinstance(error, ApiError)
            assert (error.status, error.reason) == (status, reason)
            assert error.message == "the object?[2J is another"
            assert error.causes == {"FieldValueInvalid"}
            assert str(error) == f"the API server answered {status} {reason}: {error.message}"
            assert len(api.received) == 1

    asyncio.run(main())


def test_a_budget_that_says_no_comes_at_once() -> None:
    async def main() -> None:
        no = refused(429, "TooManyRequests", "would violate", "DisruptionBudget")
        async with connected(no, answered(200)) as (client, api):
            error = await failure(client.evict("ns", "p1", uid="u"))
            assert isinstance(error, ApiError)
            assert (error.status, error.causes) == (429, frozenset({"DisruptionBudget"}))
            assert error.retry_after_s is None
            # It means the pod: nobody else waits for it.
            await client.get(NODE)
            assert len(api.received) == 2

    asyncio.run(main())


def test_flow_control_is_waited_out() -> None:
    async def main() -> None:
        busy = refused(429, "TooManyRequests", "please try again later", Retry_After="1")
        async with connected(busy, answered(200)) as (client, api):
            loop = asyncio.get_running_loop()
            since = loop.time()
            first = asyncio.create_task(client.evict("ns", "p1", uid="u"))
            while not api.received:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            # What comes after it waits with it.
            await asyncio.gather(first, client.get(NODE))
            assert loop.time() - since >= 1.0
            assert len(api.received) == 3

    asyncio.run(main())


def test_flow_control_for_longer_than_a_call_may_take_is_an_error() -> None:
    async def main() -> None:
        busy = refused(429, "TooManyRequests", "please try again later", Retry_After="60")
        async with connected(busy) as (client, api):
            error = await failure(client.patch(NODE, {}))
            assert isinstance(error, ApiError)
            assert (error.status, error.retry_after_s) == (429, 60.0)
            late = await failure(client.patch(NODE, {}))
            assert isinstance(late, ApiUnavailableError)
            assert not late.sent
            assert len(api.received) == 1

    asyncio.run(main())


@pytest.mark.parametrize("status", [500, 502, 503, 504])
@pytest.mark.parametrize("write", list(WRITES))
def test_a_broken_server_may_have_done_what_was_requested(status: int, write: str) -> None:
    async def main() -> None:
        answer = refused(status, "InternalError", "more than one PodDisruptionBudget")
        async with connected(answer) as (client, api):
            error = await failure(WRITES[write](client))
            assert isinstance(error, ApiUnavailableError)
            assert (error.sent, error.status) == (True, status)
            assert error.message == "more than one PodDisruptionBudget"
            assert len(api.received) == 1

    asyncio.run(main())


@pytest.mark.parametrize("write", list(WRITES))
def test_a_write_whose_connection_ends_may_have_been_done(write: str) -> None:
    async def main() -> None:
        async with connected(hanging_up()) as (client, _):
            error = await failure(WRITES[write](client))
            assert isinstance(error, ApiUnavailableError)
            assert error.sent

    asyncio.run(main())


def test_a_server_that_is_not_there_got_nothing() -> None:
    async def main() -> None:
        base = f"http://127.0.0.1:{free_port()}"
        client = KubernetesClient(Server(base=base))
        error = await failure(client.patch(NODE, {}))
        assert isinstance(error, ApiUnavailableError)
        assert not error.sent
        assert base not in str(error)
        await client.close()

    asyncio.run(main())


def test_an_answer_that_does_not_come_is_not_waited_for() -> None:
    async def main() -> None:
        async with connected(dripping(b'{"kind":'), timeout_s=0.2) as (client, _):
            error = await failure(client.patch(NODE, {}))
            assert isinstance(error, ApiUnavailableError)
            assert error.sent
            assert "no answer in time" in str(error)

    asyncio.run(main())


def test_a_body_without_measure_is_not_kept() -> None:
    async def main() -> None:
        async with scripted(raw(200, b"x" * 5000)) as api:
            small = Session(api.base, 4096)
            client = KubernetesClient(Server(base=api.base), session=small)
            error = await failure(client.get(NODE))
            assert isinstance(error, ApiUnavailableError)
            assert "more than 4096 bytes" in str(error)
            await client.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    "page", [b"<html>no</html>", b"\xff\xfe", b"[]", b'{"message": 5}', b"x" * 500_000]
)
def test_a_page_of_whoever_is_between_is_a_refusal_all_the_same(page: bytes) -> None:
    async def main() -> None:
        async with connected(raw(403, page)) as (client, _):
            error = await failure(client.patch(NODE, {}))
            assert isinstance(error, ApiError)
            assert (error.status, error.reason, error.message) == (403, "", "")

    asyncio.run(main())


def test_a_long_message_is_cut() -> None:
    async def main() -> None:
        async with connected(refused(422, "Invalid", "a" * 5000)) as (client, _):
            assert len(str(await failure(client.patch(NODE, {})))) < 600

    asyncio.run(main())


def test_a_redirect_is_not_followed() -> None:
    async def main() -> None:
        async with connected(answered(307, Location="/elsewhere"), answered(200)) as (client, api):
            error = await failure(client.patch(NODE, {}))
            assert "redirects are not followed" in str(error)
            assert len(api.received) == 1

    asyncio.run(main())


def test_what_is_withdrawn_while_it_waits_is_not_sent() -> None:
    async def main() -> None:
        reasons = ["", "STOP"]
        busy = refused(429, "TooManyRequests", "later", Retry_After="0")
        async with connected(busy, answered(200)) as (client, api):
            with pytest.raises(WithdrawnError, match="STOP"):
                await client.patch(NODE, {}, withdrawn=lambda: reasons.pop(0))
            assert len(api.received) == 1

    asyncio.run(main())


@pytest.mark.parametrize("path", ["api", "/a/../b", "/a?b", "/a#b", "/a%2e", "/./a", "/a b"])
def test_a_path_that_leads_elsewhere_is_refused(path: str) -> None:
    async def main() -> None:
        async with connected(answered(200)) as (client, api):
            with pytest.raises(ValueError, match="path"):
                await client.get(path)
            with pytest.raises(ValueError, match="path"):
                await client.delete(path)
            assert not api.received

    asyncio.run(main())


@pytest.mark.parametrize(("namespace", "name"), [("", "p"), ("n", ""), ("n/x", "p"), ("n", "p/x")])
def test_a_pod_has_a_namespace_and_a_name(namespace: str, name: str) -> None:
    async def main() -> None:
        async with connected(answered(200)) as (client, api):
            with pytest.raises(ValueError, match="pod"):
                await client.evict(namespace, name, uid="u")
            assert not api.received

    asyncio.run(main())


def test_a_watch_gets_what_comes_and_ends_with_the_server() -> None:
    async def events(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"a\n")
        await response.write(b"b\n")
        return response

    async def main() -> None:
        async with connected(events) as (client, api):
            pieces: list[bytes] = []
            opened: list[bool] = []
            await client.watch(
                "/api/v1/nodes",
                {"watch": "1", "timeoutSeconds": "5"},
                opened=lambda: opened.append(True),
                feed=pieces.append,
            )
            assert (b"".join(pieces), opened) == (b"a\nb\n", [True])
            assert api.received[0].headers["Accept-Encoding"] == "identity"

    asyncio.run(main())


def test_a_watch_that_is_refused_or_silent_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_SILENCE_S", 0.1)

    async def main() -> None:
        async with connected(refused(410, "Expired", "too old"), dripping(b"a\n")) as (client, _):
            query = {"timeoutSeconds": "5"}
            opened: list[bool] = []

            async def watch() -> None:
                await client.watch(
                    NODE, query, opened=lambda: opened.append(True), feed=lambda _: None
                )

            assert (await failure(watch())).status == 410
            assert not opened
            assert "nothing came for 0.1 s" in str(await failure(watch()))

    asyncio.run(main())
