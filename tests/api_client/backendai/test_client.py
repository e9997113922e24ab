"""Requests to the manager over HTTP, how they are signed, and what is said when they fail."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from accelwatch.api_client.backendai.client import BackendAiClient, decoded
from accelwatch.api_client.backendai.errors import BackendAiRefusedError, BackendAiUnavailableError
from accelwatch.api_client.backendai.server import Server, ServerOptions, server_of
from accelwatch.api_client.limiter import Limiter
from accelwatch.api_client.session import Session
from accelwatch.base.clock import Clock
from accelwatch.base.errors import WithdrawnError
from support.backendai.signed_api import ACCESS_KEY, SECRET_KEY, problem, signed
from support.processes.idle_loop import IdleClock
from support.servers.certificate_authority import Authority
from support.servers.ports import free_port
from support.servers.scripted_api import (
    Answering,
    ScriptedApi,
    answered,
    dripping,
    hanging_up,
    raw,
    scripted,
)

SESSION = "/session/7f0e"
CALLS: dict[str, Callable[[BackendAiClient], Coroutine[Any, Any, bytes]]] = {
    "GET": lambda client: client.get("/v2/sessions/7f0e", {"a": "b/c d"}),
    "POST": lambda client: client.post("/session", {"name": "n"}),
    "PATCH": lambda client: client.patch("/v2/agents/i-1/resource-group", {"force": False}),
    "DELETE": lambda client: client.delete(SESSION, {"forced": "true"}),
    "GraphQL": lambda client: client.graphql("{agents{id}}"),
}
WRITES = {name: CALLS[name] for name in ("POST", "PATCH", "DELETE", "GraphQL")}


def _server(base: str, secret_key_file: Path, **changed: Any) -> Server:
    options = {"url": base, "access_key": ACCESS_KEY, "secret_key_file": str(secret_key_file)}
    return server_of(msgspec.convert({**options, **changed}, ServerOptions))


@asynccontextmanager
async def connected(
    secret_key_file: Path,
    *answers: Answering,
    proxy_host: str = "",
    prefix: str = "",
    clock: Clock | None = None,
    **changed: Any,
) -> AsyncIterator[tuple[BackendAiClient, ScriptedApi]]:
    async with signed(*answers, host=proxy_host, prefix=prefix) as api:
        server = _server(api.base + prefix, secret_key_file, **changed)
        client = BackendAiClient(server, clock=clock or IdleClock())
        try:
            yield client, api
        finally:
            await client.close()


async def refused(call: Coroutine[Any, Any, object]) -> BackendAiRefusedError:
    with pytest.raises(BackendAiRefusedError) as raised:
        await call
    return raised.value


async def unanswered(call: Coroutine[Any, Any, object]) -> BackendAiUnavailableError:
    with pytest.raises(BackendAiUnavailableError) as raised:
        await call
    return raised.value


@pytest.mark.parametrize("name", list(CALLS))
def test_every_request_is_signed_as_the_manager_checks_it(name: str, secret_key_file: Path) -> None:
    async def main() -> None:
        async with connected(secret_key_file, answered(200, {"data": {"a": 1}})) as (client, api):
            await CALLS[name](client)
            (request,) = api.received
            assert request.headers["X-BackendAI-Version"] == "v6.20230315"
            assert SECRET_KEY not in str(request.headers)

    asyncio.run(main())


@pytest.mark.parametrize("name", list(CALLS))
def test_a_path_that_a_proxy_takes_away_is_not_signed(name: str, secret_key_file: Path) -> None:
    async def main() -> None:
        answer = answered(200, {"data": {}})
        async with connected(secret_key_file, answer, prefix="/api/bai") as (client, api):
            await CALLS[name](client)
            assert api.received[0].path.startswith("/api/bai/")

    asyncio.run(main())


def test_the_host_that_a_proxy_sends_is_signed_when_it_is_named(secret_key_file: Path) -> None:
    async def main() -> None:
        inner = "manager.inside:8081"
        answer = answered(200, {})
        async with connected(secret_key_file, answer, proxy_host=inner, host=inner) as (client, _):
            await client.get("/")
        async with connected(secret_key_file, answer, proxy_host=inner) as (client, _):
            error = await refused(client.get("/"))
            assert error.status == 401
            assert "set host where a proxy sends another Host" in str(error)

    asyncio.run(main())


def test_bodies_and_queries_arrive(secret_key_file: Path) -> None:
    async def main() -> None:
        async with connected(secret_key_file, answered(200, {"data": {}})) as (client, api):
            for call in CALLS.values():
                await call(client)
            got, posted, patched, deleted, queried = api.received
            assert (got.query, got.body) == ({"a": "b/c d"}, None)
            assert (posted.path, posted.body) == ("/session", {"name": "n"})
            assert patched.body == {"force": False}
            assert (deleted.method, deleted.query) == ("DELETE", {"forced": "true"})
            assert queried.body == {"query": "{agents{id}}", "variables": {}}

    asyncio.run(main())


def test_graphql_gives_its_data(secret_key_file: Path) -> None:
    async def main() -> None:
        answer = answered(200, {"data": {"agents": [{"id": "i-1"}]}, "errors": None})
        async with connected(secret_key_file, answer) as (client, _):
            data = await client.graphql("{agents{id}}", {"x": 1})
            assert msgspec.json.decode(data) == {"agents": [{"id": "i-1"}]}

    asyncio.run(main())


def test_an_error_of_graphql_is_a_refusal_although_its_status_is_200(
    secret_key_file: Path,
) -> None:
    async def main() -> None:
        body = {"data": {"agents": []}, "errors": [{"message": "Cannot query\x1b field"}]}
        async with connected(secret_key_file, answered(200, body)) as (client, _):
            error = await refused(client.graphql("{agents{nofield}}"))
            assert (error.status, error.problem.kind) == (200, "graphql")
            assert str(error).endswith("error of GraphQL: Cannot query? field")
            private = await refused(client.graphql("{agents{nofield}}", private=True))
            assert "query" not in str(private)
            assert not error.problem.started

    asyncio.run(main())


@pytest.mark.parametrize("status", [400, 403, 404, 409, 412])
def test_a_refusal_is_an_error_with_what_the_manager_says(
    status: int, secret_key_file: Path
) -> None:
    async def main() -> None:
        answer = problem(status, "object-not-found", "No such session.", "not\x1b[2J found")
        async with connected(secret_key_file, answer) as (client, api):
            error = await refused(client.delete(SESSION))
            assert (error.status, error.problem.kind) == (status, "object-not-found")
            assert str(error) == f"the manager answered {status}: No such session: not?[2J found"
            assert len(api.received) == 1

    asyncio.run(main())


def test_the_session_that_has_the_name_is_known(secret_key_file: Path) -> None:
    async def main() -> None:
        answer = problem(
            400, "session-already-exists", "The session already exists.", existingSessionId="7f0e"
        )
        async with connected(secret_key_file, answer) as (client, _):
            error = await refused(client.post("/session", {}))
            assert error.problem.existing_session_id == "7f0e"

    asyncio.run(main())


def test_what_a_user_wrote_is_left_out_of_a_private_refusal(secret_key_file: Path) -> None:
    async def main() -> None:
        answer = problem(400, "invalid-api-params", "Missing or invalid.", "environ: hunter2")
        async with connected(secret_key_file, answer) as (client, _):
            error = await refused(client.post("/session", {}, private=True))
            assert str(error) == "the manager answered 400: Missing or invalid"
            assert error.problem.message == ""
            patched = await refused(client.patch("/session", {}, private=True))
            assert "hunter2" not in str(patched)

    asyncio.run(main())


@pytest.mark.parametrize(("offset_s", "side"), [(960.0, "fast"), (-960.0, "slow")])
def test_a_clock_that_is_sixteen_minutes_off_is_named(
    offset_s: float, side: str, secret_key_file: Path
) -> None:
    async def main() -> None:
        clock = IdleClock(ahead_s=offset_s)
        async with connected(secret_key_file, answered(200), clock=clock) as (client, _):
            error = await refused(client.get("/"))
            assert error.status == 401
            assert f"clock is 16 minutes {side} by the manager's" in str(error)

    asyncio.run(main())


@pytest.mark.parametrize("offset_s", [840.0, -840.0])
def test_a_clock_within_the_window_is_not_blamed(offset_s: float, secret_key_file: Path) -> None:
    async def main() -> None:
        clock = IdleClock(ahead_s=offset_s)
        bad = problem(400, "invalid", "Bad.", "no")
        async with connected(secret_key_file, answered(200), bad, clock=clock) as (client, _):
            await client.get("/")
            assert "clock" not in str(await refused(client.get("/")))

    asyncio.run(main())


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504, 524])
@pytest.mark.parametrize("name", list(WRITES))
def test_a_broken_manager_may_have_done_what_was_requested(
    status: int, name: str, secret_key_file: Path
) -> None:
    async def main() -> None:
        answer = problem(status, "agent-error", "Agent has failed.", "timeout")
        async with connected(secret_key_file, answer) as (client, api):
            error = await unanswered(WRITES[name](client))
            assert (error.sent, error.status) == (True, status)
            assert error.problem.message == "timeout"
            assert len(api.received) == 1

    asyncio.run(main())


@pytest.mark.parametrize("name", list(WRITES))
def test_a_write_whose_connection_ends_may_have_been_done(name: str, secret_key_file: Path) -> None:
    async def main() -> None:
        async with connected(secret_key_file, hanging_up()) as (client, _):
            assert (await unanswered(WRITES[name](client))).sent

    asyncio.run(main())


def test_a_manager_that_is_not_there_got_nothing(secret_key_file: Path) -> None:
    async def main() -> None:
        base = f"http://127.0.0.1:{free_port()}"
        client = BackendAiClient(_server(base, secret_key_file))
        error = await unanswered(client.post("/session", {}))
        assert not error.sent
        assert base not in str(error)
        await client.close()

    asyncio.run(main())


def test_an_answer_that_does_not_come_is_not_waited_for(secret_key_file: Path) -> None:
    async def main() -> None:
        async with connected(secret_key_file, dripping(b'{"data":'), timeout_s=1) as (client, _):
            error = await unanswered(client.delete(SESSION))
            assert error.sent
            assert "no answer in time" in str(error)

    asyncio.run(main())


def test_a_body_without_measure_is_not_kept(secret_key_file: Path) -> None:
    async def main() -> None:
        async with scripted(raw(200, b"x" * 5000)) as api:
            server = _server(api.base, secret_key_file)
            client = BackendAiClient(server, session=Session(api.base, 4096))
            error = await unanswered(client.get("/"))
            assert "more than 4096 bytes" in str(error)
            await client.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    "page", [b"<html>no</html>", b"\xff\xfe", b"[]", b'{"title": 5}', b"x" * 500_000]
)
def test_a_page_of_whoever_is_between_is_a_refusal_all_the_same(
    page: bytes, secret_key_file: Path
) -> None:
    async def main() -> None:
        async with connected(secret_key_file, raw(403, page)) as (client, _):
            error = await refused(client.get("/"))
            assert (error.status, error.problem.kind) == (403, "")

    asyncio.run(main())


def test_an_error_of_a_field_says_that_it_was_started(secret_key_file: Path) -> None:
    async def main() -> None:
        errors = [{"message": "connection lost", "path": ["modify_agent"]}]
        body = {"data": {"modify_agent": None}, "errors": errors}
        async with connected(secret_key_file, answered(200, body)) as (client, _):
            error = await refused(client.graphql("mutation{modify_agent}"))
            assert error.problem.started

    asyncio.run(main())


@pytest.mark.parametrize("page", [b"<html>yes</html>", b"\xff\xfe", b"", b"[]", b'{"errors": 5}'])
def test_a_page_instead_of_an_answer_of_graphql_is_no_answer(
    page: bytes, secret_key_file: Path
) -> None:
    async def main() -> None:
        async with connected(secret_key_file, raw(200, page)) as (client, _):
            error = await unanswered(client.graphql("mutation{x}"))
            assert error.sent

    asyncio.run(main())


class _Row(msgspec.Struct):
    size: int


@pytest.mark.parametrize(
    ("body", "text"),
    [(b'{"size": "hunter2"}', r"at \$\.size$"), (b"[]", "expected$"), (b"hunter2", "not JSON")],
)
def test_an_answer_of_another_shape_is_not_repeated(body: bytes, text: str) -> None:
    assert decoded(b'{"size": 2}', _Row) == _Row(2)
    with pytest.raises(BackendAiUnavailableError, match=text) as error:
        decoded(body, _Row)
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(status: int, secret_key_file: Path) -> None:
    async def main() -> None:
        away = answered(status, Location="/elsewhere")
        async with connected(secret_key_file, away, answered(200)) as (client, api):
            error = await refused(client.post("/session", {}))
            assert "redirects are not followed" in str(error)
            assert len(api.received) == 1

    asyncio.run(main())


@pytest.mark.parametrize("status", [403, 500])
def test_no_key_stands_in_an_error_whatever_the_answer_repeats(
    status: int, secret_key_file: Path
) -> None:
    failing = refused if status < 500 else unanswered

    async def repeating(request: web.BaseRequest) -> web.StreamResponse:
        text = f"{request.headers['Authorization']} {SECRET_KEY}"
        return web.json_response({"title": text, "msg": text}, status=status)

    async def main() -> None:
        async with connected(secret_key_file, repeating) as (client, _):
            error = await failing(client.get("/"))
            shown = f"{error} {error.problem}"
            assert "(key)" in shown
            assert ACCESS_KEY not in shown
            assert SECRET_KEY not in shown

    asyncio.run(main())


def test_a_key_that_others_can_read_is_not_used(secret_key_file: Path) -> None:
    async def main() -> None:
        secret_key_file.chmod(0o644)
        async with connected(secret_key_file, answered(200)) as (client, api):
            error = await unanswered(client.post("/session", {}))
            assert not error.sent
            assert "chmod 600" in str(error)
            assert not api.received

    asyncio.run(main())


def test_too_many_requests_are_sent_again_in_time(secret_key_file: Path) -> None:
    async def main() -> None:
        busy = answered(429, {"title": "Too many"}, Retry_After="0")
        async with connected(secret_key_file, busy, answered(200)) as (client, api):
            await client.delete(SESSION)
            assert len(api.received) == 2

    asyncio.run(main())


def test_too_many_requests_for_longer_than_a_call_may_take_are_a_refusal(
    secret_key_file: Path,
) -> None:
    async def main() -> None:
        busy = answered(429, {"title": "Too many"}, Retry_After="60")
        async with connected(secret_key_file, busy) as (client, api):
            error = await refused(client.delete(SESSION))
            assert (error.status, error.retry_after_s) == (429, 60.0)
            late = await unanswered(client.delete(SESSION))
            assert not late.sent
            assert len(api.received) == 1

    asyncio.run(main())


@pytest.mark.parametrize("name", ["POST", "PATCH", "DELETE", "GraphQL"])
def test_what_is_withdrawn_is_not_sent(name: str, secret_key_file: Path) -> None:
    def stopped() -> str:
        return "STOP"

    calls: dict[str, Callable[[BackendAiClient], Coroutine[Any, Any, bytes]]] = {
        "POST": lambda client: client.post("/session", {}, withdrawn=stopped),
        "PATCH": lambda client: client.patch("/session", {}, withdrawn=stopped),
        "DELETE": lambda client: client.delete(SESSION, withdrawn=stopped),
        "GraphQL": lambda client: client.graphql("mutation{x}", withdrawn=stopped),
    }

    async def main() -> None:
        async with connected(secret_key_file, answered(200)) as (client, api):
            with pytest.raises(WithdrawnError, match="STOP"):
                await calls[name](client)
            assert not api.received

    asyncio.run(main())


@pytest.mark.parametrize("path", ["session", "/a/../b", "/a?b", "/a#b", "/a%2e", "/./a", "/a b"])
def test_a_path_that_leads_elsewhere_is_refused(path: str, secret_key_file: Path) -> None:
    async def main() -> None:
        async with connected(secret_key_file, answered(200)) as (client, api):
            with pytest.raises(ValueError, match="path"):
                await client.get(path)
            with pytest.raises(ValueError, match="path"):
                await client.delete(path)
            assert not api.received

    asyncio.run(main())


def test_a_client_without_a_turn_sends_nothing(secret_key_file: Path) -> None:
    async def main() -> None:
        async with signed(answered(200)) as api:
            limiter = Limiter(rate=0.001, burst=1)
            client = BackendAiClient(_server(api.base, secret_key_file), limiter=limiter)
            await client.get("/")
            error = await unanswered(client.get("/"))
            assert (error.sent, len(api.received)) == (False, 1)
            await client.close()

    asyncio.run(main())


def test_a_manager_of_another_authority_gets_nothing(
    secret_key_file: Path, authority: Authority
) -> None:
    async def main() -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*authority.issue("manager"))
        async with scripted(answered(200), tls=context) as api:
            ours = BackendAiClient(_server(api.base, secret_key_file, ca_file=str(authority.file)))
            await ours.get("/")
            others = BackendAiClient(_server(api.base, secret_key_file))
            error = await unanswered(others.post("/session", {}))
            assert not error.sent
            assert "TLS failed" in str(error)
            await ours.close()
            await others.close()

    asyncio.run(main())
