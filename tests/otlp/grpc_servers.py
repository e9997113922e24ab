"""A receiver of OTLP over gRPC: an HTTP/2 server by h2, messages by the protocol's own definition."""

import asyncio
import contextlib
import gzip
import ssl
from collections.abc import AsyncIterator

import h2.config
import h2.connection
import h2.events
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from accelwatch.backend.kit.grpc.call import framed
from otlp.receiver_servers import Point, points

Headers = list[tuple[str, str]]


class GrpcServer:
    """What was received, and what is answered."""

    def __init__(self) -> None:
        self.url = ""
        self.headers: list[dict[str, str]] = []
        self.requests: list[ExportMetricsServiceRequest] = []
        self.partial = ExportMetricsServiceResponse()
        # Of the next calls, in order; then 0.
        self.statuses: list[str] = []
        # Of the next calls, which are answered without a gRPC status.
        self.http_statuses: list[str] = []
        # Whether a call is answered before its message has come.
        self.early = False
        self.hangs = False

    @property
    def points(self) -> list[Point]:
        return [point for request in self.requests for point in points(request)]

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await _Serving(self, reader, writer).run()
        writer.close()


class _Serving:
    """One connection."""

    def __init__(
        self, server: GrpcServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._server, self._reader, self._writer = server, reader, writer
        settings = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self._connection = h2.connection.H2Connection(settings)
        self._body = bytearray()

    async def run(self) -> None:
        connection = self._connection
        connection.initiate_connection()
        self._writer.write(connection.data_to_send())
        while data := await self._reader.read(65_536):
            for event in connection.receive_data(data):
                self._handle(event)
            self._writer.write(connection.data_to_send())
            await self._writer.drain()

    def _handle(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.RequestReceived():
                headers = {str(name): str(text) for name, text in event.headers or ()}
                self._server.headers.append(headers)
                if self._server.early:
                    self._answer()
            case h2.events.DataReceived():
                self._body += event.data or b""
                size = event.flow_controlled_length or 0
                if not self._server.early:
                    self._connection.acknowledge_received_data(size, event.stream_id or 1)
            case h2.events.StreamEnded() if not (self._server.early or self._server.hangs):
                self._answer()
            case _:
                pass

    def _answer(self) -> None:
        server, connection = self._server, self._connection
        if server.http_statuses:
            refused = [(":status", server.http_statuses.pop(0)), ("content-type", "text/plain")]
            connection.send_headers(1, refused, end_stream=True)
            return
        head: Headers = [(":status", "200"), ("content-type", "application/grpc")]
        status = server.statuses.pop(0) if server.statuses else "0"
        if status != "0":
            trailers = [("grpc-status", status), ("grpc-message", "too%20much")]
            connection.send_headers(1, [*head, *trailers], end_stream=True)
            return
        assert (self._body[0], int.from_bytes(self._body[1:5], "big")) == (1, len(self._body) - 5)
        plain = gzip.decompress(bytes(self._body[5:]))
        server.requests.append(ExportMetricsServiceRequest.FromString(plain))
        connection.send_headers(1, head)
        connection.send_data(1, framed(server.partial.SerializeToString()))
        connection.send_headers(1, [("grpc-status", "0")], end_stream=True)


@contextlib.asynccontextmanager
async def grpc_server(tls: ssl.SSLContext | None = None) -> AsyncIterator[GrpcServer]:
    server = GrpcServer()
    listening = await asyncio.start_server(server.handle, "127.0.0.1", 0, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    server.url = f"http://127.0.0.1:{port}" if tls is None else f"https://localhost:{port}"
    try:
        yield server
    finally:
        listening.close()
