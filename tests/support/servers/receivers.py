"""Receivers of alerts on loopback: they write down what they get, and answer well or badly."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
from aiohttp import web

# Read by the hub of another test, whose node had this port before.
_OF_HUBS = ("/v1/stream", "/metrics")


class Request(msgspec.Struct):
    """A request that came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        """The body."""
        return msgspec.json.decode(self.body, type=dict[str, Any])


class Receiver:
    """Answers what `answers` says, one after the other, and the last of them for good."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answers: list[Callable[[], web.StreamResponse] | str] = [web.Response]
        self.base = ""
        self.arrived = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Take down a request and answer."""
        if request.path in _OF_HUBS:
            return web.Response(status=404)
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = await request.read()
        self.requests.append(Request(request.method, request.path, headers, body))
        self.arrived.set()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer == "hang":
            await asyncio.sleep(3600)
        if answer == "drip":
            return await self._drip(request)
        assert not isinstance(answer, str)
        return answer()

    async def _drip(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while True:
                await response.write(b" ")
                await asyncio.sleep(0.05)
        return response

    async def wait_for(self, count: int) -> list[Request]:
        """The requests, as soon as there are so many."""
        async with asyncio.timeout(60):
            while len(self.requests) < count:
                self.arrived.clear()
                await self.arrived.wait()
        return self.requests


def code(status: int, text: str = "", **headers: str) -> Callable[[], web.Response]:
    """An answer with a status; header names have `_` for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda: web.Response(status=status, text=text, headers=named)


@contextlib.asynccontextmanager
async def receiver(*answers: Callable[[], web.StreamResponse] | str) -> AsyncIterator[Receiver]:
    """A receiver that is listening."""
    started = Receiver()
    if answers:
        started.answers = list(answers)
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", started.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    started.base = f"http://127.0.0.1:{port}"
    try:
        yield started
    finally:
        await runner.cleanup()
