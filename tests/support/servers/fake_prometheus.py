"""A server with Prometheus' API over composed samples, that fails as it is told."""

import asyncio
import contextlib
import json
import re
import ssl
import time
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qsl

import cramjam
from aiohttp import web

Labels = dict[str, str]


class FakeStore:
    """Samples by labels with value and time; what was asked, and what was written."""

    def __init__(self) -> None:
        self.url = ""
        self.samples: list[tuple[Labels, str, float]] = []
        self.warnings: list[str] = []
        self.requests: list[tuple[str, dict[str, str], Labels]] = []
        # How long it waits with its answers.
        self.pause_s = 0.0
        self.written: list[tuple[float, bytes]] = []
        self.fail: Callable[[str, dict[str, str]], web.Response | None] = lambda _path, _form: None

    def put(self, name: str, value: object, age_s: float = 0.0, **labels: Any) -> None:
        self.samples.append(({"__name__": name, **labels}, str(value), time.time() - age_s))

    def gpu(self, age_s: float = 0.0, **labels: Any) -> None:
        """The samples of one device as dcgm-exporter writes them."""
        whole = {"gpu": "0", "UUID": "GPU-1", "device": "nvidia0", "modelName": "H100", **labels}
        self.put("DCGM_FI_DEV_SM_CLOCK", 1980, age_s, **whole)
        self.put("DCGM_FI_DEV_GPU_TEMP", 61, age_s, **whole)
        self.put("DCGM_FI_DEV_POWER_USAGE", "642.5", age_s, **whole)

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.read()
        await asyncio.sleep(self.pause_s)
        if request.path.endswith("/write"):
            form = {}
            self.written.append((time.monotonic(), body))
        else:
            form = dict(parse_qsl(body.decode()))
        self.requests.append((request.path, form, dict(request.headers)))
        refused = self.fail(request.path, form)
        if refused is not None:
            return refused
        if request.path.endswith("/write"):
            return web.Response(status=204)
        if request.path.endswith("/values"):
            return self._answer(sorted({labels["__name__"] for labels, _, _ in self.samples}))
        return self._answer({"resultType": "vector", "result": self._instant(form["query"])})

    def _answer(self, data: object) -> web.Response:
        found = {"status": "success", "data": data, "warnings": self.warnings}
        return web.Response(body=json.dumps(found), content_type="application/json")

    def _instant(self, query: str) -> list[dict[str, Any]]:
        now = time.time()
        pattern = re.search(r'__name__=~?"([^"]*)"', query)
        assert pattern is not None, query
        aged = query.startswith("timestamp(")
        return [
            {
                "metric": {k: v for k, v in labels.items() if not (aged and k == "__name__")},
                "value": [now, repr(timestamp) if aged else value],
            }
            for labels, value, timestamp in self.samples
            if re.fullmatch(pattern[1], labels["__name__"])
        ]


@contextlib.asynccontextmanager
async def fake_store(tls: ssl.SSLContext | None = None) -> AsyncIterator[FakeStore]:
    store = FakeStore()
    app = web.Application(client_max_size=64 << 20)
    app.router.add_route("*", "/{path:.*}", store.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]  # asyncio's server
    store.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield store
    finally:
        await runner.cleanup()


async def soon(happened: Callable[[], bool], within_s: float = 60.0) -> None:
    async with asyncio.timeout(within_s):
        while not happened():
            await asyncio.sleep(0.01)


def decoded(body: bytes) -> list[tuple[Labels, float, int]]:
    """The series of a write request: labels, bits of the one number, milliseconds. By the .proto."""
    whole = bytes(cramjam.snappy.decompress_raw(body))
    found = []
    for number, series in _fields(whole):
        assert number == 1
        labels: Labels = {}
        names: list[str] = []
        value, timestamp = 0.0, 0
        for part, content in _fields(series):
            if part == 1:
                pair = {field: text.decode() for field, text in _fields(content)}
                labels[pair[1]] = pair[2]
                names.append(pair[1])
            else:
                sample = dict(_fields(content))
                value, timestamp = int.from_bytes(sample[1], "little"), int(sample[2])
        assert names == sorted(names, key=str.encode)
        assert all(labels.values())
        found.append((labels, value, timestamp))
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def _fields(data: bytes) -> list[tuple[int, Any]]:
    found: list[tuple[int, Any]] = []
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag & 7 == 0:
            content: Any
            content, at = _varint(data, at)
        else:
            size = 8
            if tag & 7 == 2:
                size, at = _varint(data, at)
            content, at = data[at : at + size], at + size
        found.append((tag >> 3, content))
    return found
