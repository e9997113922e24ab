"""Parts gathered into requests, compressed beside the loop, and sent one after another."""

import asyncio
import gzip
from collections.abc import Mapping
from typing import TYPE_CHECKING

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from accelwatch.alerting.delivery.transport.push_queue import Counts, PushQueue, Request
from accelwatch.base.clock import Clock
from accelwatch.config.otlp import Otlp
from accelwatch.otlp.encoding import MetricsChunk
from accelwatch.otlp.receiver import Receiver
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

if TYPE_CHECKING:
    from accelwatch.otlp.grpc_receiver import GrpcReceiver


class Outbox:
    """What waits for one receiver; the loop's thread only."""

    def __init__(self, settings: Otlp, clock: Clock) -> None:
        """Raises ConfigError."""
        self._most = settings.points_per_request
        self._clock = clock
        self._receiver = _receiver(settings)
        self.counts = Counts()
        self._queue = PushQueue(
            "otlp", self._receiver.send, self.counts, settings.queue_bytes, settings.max_backoff_s
        )
        self._chunks: list[MetricsChunk] = []
        self._points = 0
        self._newest = 0.0

    async def run(self) -> None:
        """Send until cancelled."""
        await self._queue.run()

    async def close(self) -> None:
        """Close the connections; what has not been sent is lost."""
        await self._receiver.close()

    async def add(self, chunk: MetricsChunk, newest: float) -> None:
        """Put a part to the request that is being gathered; `newest` is its time, Unix seconds."""
        if self._points and self._points + chunk.points > self._most:
            await self.cut()
        self._chunks.append(chunk)
        self._points += chunk.points
        self._newest = max(self._newest, newest)

    async def cut(self) -> None:
        """Make a request of what was gathered."""
        chunks, points, newest = self._chunks, self._points, self._newest
        self._chunks, self._points = [], 0
        if points:
            body = await asyncio.to_thread(_body, chunks)
            self._queue.enqueue(Request(body=body, samples=points, newest=newest))

    def own(self) -> Mapping[Series, Number]:
        """Our own series."""
        counts = self.counts
        series: dict[Series, Number] = {
            ("otlp_points_total",): counts.sent,
            ("otlp_points_failed_total",): counts.failed,
            ("otlp_points_dropped_total",): counts.dropped,
            ("otlp_points_pending",): self._queue.pending,
            ("otlp_retries_total",): counts.retries,
            ("otlp_bytes_total",): counts.bytes,
        }
        if counts.newest is not None:
            series["otlp_lag_seconds",] = round(max(0.0, self._clock.wall() - counts.newest), 3)
        return series


def _receiver(settings: Otlp) -> "Receiver | GrpcReceiver":
    """Raises ConfigError."""
    if settings.protocol != "grpc":
        return Receiver(settings)
    from accelwatch.otlp.grpc_receiver import GrpcReceiver  # h2 is for those who chose it

    return GrpcReceiver(settings)


def _body(chunks: list[MetricsChunk]) -> bytes:
    request = ExportMetricsServiceRequest(resource_metrics=[chunk.message() for chunk in chunks])
    return gzip.compress(request.SerializeToString(), compresslevel=1, mtime=0)
