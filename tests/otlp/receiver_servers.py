"""A receiver of OTLP that decodes what comes by the protocol's own definition, and answers as told."""

import asyncio
import contextlib
import gzip
from collections.abc import AsyncIterator, Callable
from typing import Any

from aiohttp import web
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

Attributes = dict[str, str]


def pairs(attributes: Any) -> Attributes:
    return {pair.key: pair.value.string_value for pair in attributes}


class Point:
    """One point with everything around it."""

    def __init__(self, resource: Attributes, metric: Any, point: Any) -> None:
        self.resource = resource
        self.metric = metric
        self.attributes = pairs(point.attributes)
        self.value = getattr(point, point.WhichOneof("value"))
        self.time = point.time_unix_nano
        self.start = point.start_time_unix_nano


def points(request: ExportMetricsServiceRequest) -> list[Point]:
    return [
        Point(pairs(part.resource.attributes), metric, point)
        for part in request.resource_metrics
        for scope in part.scope_metrics
        for metric in scope.metrics
        for point in getattr(metric, metric.WhichOneof("data")).data_points
    ]


class OtlpServer:
    """What was received, and what is answered."""

    def __init__(self) -> None:
        self.url = ""
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.requests: list[ExportMetricsServiceRequest] = []
        self.answer: Callable[[], web.Response | None] = lambda: None
        self.partial = ExportMetricsServiceResponse()
        self.hangs = False

    @property
    def points(self) -> list[Point]:
        return [point for request in self.requests for point in points(request)]

    def named(self, name: str) -> list[Point]:
        return [point for point in self.points if point.metric.name == name]

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.read()
        if self.hangs:
            await asyncio.sleep(3600)
        self.paths.append(request.path)
        self.headers.append({name.lower(): text for name, text in request.headers.items()})
        answer = self.answer()
        if answer is not None:
            return answer
        # aiohttp's server has already unpacked what says that it is packed.
        packed = body.startswith(b"\x1f\x8b")
        plain = gzip.decompress(body) if packed else body
        self.requests.append(ExportMetricsServiceRequest.FromString(plain))
        return web.Response(
            body=self.partial.SerializeToString(), content_type="application/x-protobuf"
        )


@contextlib.asynccontextmanager
async def otlp_server() -> AsyncIterator[OtlpServer]:
    server = OtlpServer()
    app = web.Application(client_max_size=64 << 20)
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()
