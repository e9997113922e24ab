"""One HTTP/2 request on the event loop and its answer, by h2: a fresh connection, no push, no reuse."""

import asyncio
import contextlib
import os
import ssl

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import msgspec

from accelwatch.backend.kit.grpc.failure import SourceError, protocol

_STREAM = 1
_CHUNK = 64 << 10
_MOST_ANSWER_BYTES = 1 << 20
_MOST_EVENTS = 10_000
_NO_HTTP2 = (
    "it does not speak HTTP/2, which gRPC needs; is it a receiver of OTLP over HTTP "
    "(port 4318, protocol: http/protobuf)?"
)


class GrpcResponse(msgspec.Struct, frozen=True, kw_only=True):
    """What came; trailers win over headers of the same name."""

    headers: dict[str, str]
    body: bytes


async def post(
    where: tuple[str, int],
    tls: ssl.SSLContext | None,
    headers: list[tuple[str, str]],
    body: bytes,
) -> GrpcResponse:
    """The answer to a POST. Raises SourceError; the caller's own deadline applies."""
    host, port = where
    try:
        reader, writer = await asyncio.open_connection(
            host, port, ssl=tls, server_hostname=host if tls is not None else None
        )
    except ssl.SSLError as error:
        raise SourceError(f"TLS failed: {error.reason or error}", reason="io") from error
    except OSError as error:
        text = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise SourceError(f"cannot be reached: {text}", reason="refused") from error
    try:
        chosen = writer.get_extra_info("ssl_object")
        if chosen is not None and chosen.selected_alpn_protocol() != "h2":
            raise protocol(_NO_HTTP2)
        return await _Exchange(reader, writer).run(headers, body)
    except OSError as error:
        raise SourceError("the connection was lost", reason="io") from error
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            writer.transport.abort()


class _Exchange:
    """A connection with one stream."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        settings = h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        self._connection = h2.connection.H2Connection(settings)
        self._reader, self._writer = reader, writer
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self._over = False
        self._events = 0

    async def run(self, headers: list[tuple[str, str]], body: bytes) -> GrpcResponse:
        """Send as the other side's window allows, until it has answered. Raises SourceError."""
        connection = self._connection
        connection.initiate_connection()
        connection.send_headers(_STREAM, headers)
        left = memoryview(body)
        while not self._over:
            left = self._fill(left)
            self._writer.write(connection.data_to_send())
            await self._writer.drain()
            data = await self._reader.read(_CHUNK)
            if not data and not self._events:
                raise protocol(_NO_HTTP2)
            if not data:
                raise SourceError("the connection was closed without an answer", reason="io")
            self._receive(data)
        return GrpcResponse(headers=self._headers, body=bytes(self._body))

    def _fill(self, left: memoryview) -> memoryview:
        """Hand over what may be sent now; what is left."""
        connection = self._connection
        while left:
            window = connection.local_flow_control_window(_STREAM)
            size = min(window, connection.max_outbound_frame_size, len(left))
            if size <= 0:
                break
            last = size == len(left)
            connection.send_data(_STREAM, bytes(left[:size]), end_stream=last)
            left = left[size:]
        return left

    def _receive(self, data: bytes) -> None:
        try:
            events = self._connection.receive_data(data)
        except (h2.exceptions.H2Error, UnicodeDecodeError) as error:
            raise protocol(_NO_HTTP2) from error
        self._events += len(events)
        if self._events > _MOST_EVENTS:
            raise protocol("http2: too many frames")
        for event in events:
            self._handle(event)

    def _handle(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.ResponseReceived() | h2.events.TrailersReceived():
                self._headers.update({str(name): str(text) for name, text in event.headers or ()})
            case h2.events.DataReceived():
                self._body += event.data or b""
                if len(self._body) > _MOST_ANSWER_BYTES:
                    raise protocol(f"the answer is larger than {_MOST_ANSWER_BYTES} bytes")
                self._connection.acknowledge_received_data(
                    event.flow_controlled_length or 0, _STREAM
                )
            case h2.events.StreamEnded():
                self._over = True
            case h2.events.StreamReset() if not self._over:
                # RST_STREAM after an answer with a status only ends what was still being sent.
                self._finish("the other side reset the stream")
            case h2.events.ConnectionTerminated() if not self._over:
                self._finish("the other side goes away without an answer")
            case _:
                """Settings, pings and windows, which h2 answers itself."""

    def _finish(self, what: str) -> None:
        if "grpc-status" not in self._headers:
            raise SourceError(what, reason="io")
        self._over = True
