"""A hub of which a test says what it answers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
from aiohttp import web


class Answers:
    """A hub that answers as a test wants."""

    def __init__(self) -> None:
        self.code, self.body, self.kind = 200, b"", "application/json"
        self.hangs = False
        self.released = asyncio.Event()
        self.requests: list[tuple[str, str, bytes]] = []

    def of(self, struct: msgspec.Struct) -> None:
        self.code, self.body, self.kind = 200, msgspec.json.encode(struct), "application/json"

    def refuse(self, code: int, text: str) -> None:
        self.code, self.body, self.kind = code, text.encode(), "text/plain"

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append((request.method, request.raw_path, await request.read()))
        if self.hangs:
            await self.released.wait()
        return web.Response(status=self.code, body=self.body, content_type=self.kind)


@contextlib.asynccontextmanager
async def answering() -> AsyncIterator[tuple[Answers, str]]:
    """The answers, and where they are given."""
    answers = Answers()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answers.answer)
    runner = web.AppRunner(app, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0]
    try:
        yield answers, f"http://{host}:{port}"
    finally:
        answers.released.set()
        await runner.cleanup()
