"""An API server that answers as a test says, and keeps what it was sent."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import msgspec
from aiohttp import web

from accelwatch_lab.cluster.kubernetes.api_server.connections import end_connections

Answering = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    body: Any


class ScriptedApi:
    """Answers each request with the next of its script, and with the last for ever."""

    def __init__(self) -> None:
        self.script: list[Answering] = []
        self.received: list[Received] = []
        self.base = ""

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        raw = await request.read()
        self.received.append(
            Received(
                method=request.method,
                path=request.path,
                query=dict(request.query),
                headers=request.headers,
                body=json.loads(raw) if raw else None,
            )
        )
        answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return await answer(request)


def answered(status: int, body: Any = None, **headers: str) -> Answering:
    """A JSON answer; underscores of a header stand for hyphens."""

    async def answer(_request: web.BaseRequest) -> web.StreamResponse:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return web.json_response(body if body is not None else {}, status=status, headers=named)

    return answer


def refused(status: int, reason: str, message: str, *causes: str, **headers: str) -> Answering:
    """A `Status` as the API server writes it."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": {"causes": [{"reason": cause, "message": "m"} for cause in causes]},
        "code": status,
    }
    return answered(status, body, **headers)


def raw(status: int, body: bytes) -> Answering:
    """Any bytes."""

    async def answer(_request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=status, body=body)

    return answer


def hanging_up() -> Answering:
    """The connection is closed without an answer."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    return answer


def dripping(first: bytes, status: int = 200) -> Answering:
    """The beginning of a body, and then nothing."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(status=status)
        await response.prepare(request)
        await response.write(first)
        await asyncio.sleep(30)
        return response

    return answer


@contextlib.asynccontextmanager
async def scripted(
    *answers: Answering, tls: ssl.SSLContext | None = None
) -> AsyncIterator[ScriptedApi]:
    """The server with its script."""
    api = ScriptedApi()
    api.script = list(answers)
    server = web.Server(api.handle)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    api.base = f"http{'s' if tls else ''}://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield api
    finally:
        await end_connections(server)
        await runner.cleanup()
