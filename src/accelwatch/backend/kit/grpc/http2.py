"""One HTTP/2 request on a fresh connection and its answer, by h2: no upgrade, no reuse, no push.

h2 is the protocol; here are its bounds. Windows are opened once as wide as the largest answer that is
accepted, so none needs an update.
"""

from collections.abc import Callable

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
import msgspec

from accelwatch.backend.kit.grpc.failure import SourceError, protocol

# The kubelet's own limit for an answer of its pod resources is 16 MiB.
MAX_BODY_BYTES = 16 << 20

_STREAM = 1
_DEFAULT_WINDOW = 65_535
# Events a peer may send before its answer ends; more than the largest answer needs.
_MAX_EVENTS = 200_000

# What has come, at least one octet. Raises SourceError at the end of the connection or the time.
Receive = Callable[[], bytes]
Send = Callable[[bytes], None]
Header = tuple[str, str]


class Http2Response(msgspec.Struct, frozen=True, kw_only=True):
    """A response; trailers win over headers of the same name."""

    headers: dict[str, str]
    body: bytes


def exchange(send: Send, receive: Receive, headers: list[Header], body: bytes) -> Http2Response:
    """Send one request and read its answer. Raises SourceError."""
    exchanged = _Exchange()
    send(exchanged.request(headers, body))
    while not exchanged.over:
        reply = exchanged.receive(receive())
        if reply and not exchanged.over:
            _reply(send, reply)
    return exchanged.answer()


def _reply(send: Send, data: bytes) -> None:
    """An answer may be complete although the other side has stopped listening."""
    try:
        send(data)
    except SourceError as error:
        if error.reason != "io":
            raise


class _Exchange:
    """A connection with one stream, and what has come on it."""

    def __init__(self) -> None:
        settings = h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        self.over = False
        self._connection = h2.connection.H2Connection(settings)
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self._events = 0

    def request(self, headers: list[Header], body: bytes) -> bytes:
        """Preface, settings and the request."""
        connection = self._connection
        connection.local_settings = h2.settings.Settings(
            client=True,
            initial_values={
                h2.settings.SettingCodes.ENABLE_PUSH: 0,
                h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: MAX_BODY_BYTES,
            },
        )
        connection.initiate_connection()
        connection.increment_flow_control_window(MAX_BODY_BYTES - _DEFAULT_WINDOW)
        connection.send_headers(_STREAM, headers)
        connection.send_data(_STREAM, body, end_stream=True)
        return connection.data_to_send()

    def receive(self, data: bytes) -> bytes:
        """What has come, and what is to be sent for it. Raises SourceError."""
        try:
            events = self._connection.receive_data(data)
        except (h2.exceptions.H2Error, UnicodeDecodeError) as error:
            raise protocol(f"http2: {error}") from error
        self._events += len(events)
        if self._events > _MAX_EVENTS:
            raise protocol("http2: too many frames")
        for event in events:
            self._handle(event)
        return self._connection.data_to_send()

    def _handle(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.ResponseReceived() | h2.events.TrailersReceived():
                self._headers.update({str(name): str(value) for name, value in event.headers or ()})
            case h2.events.DataReceived():
                self._body += event.data or b""
                if len(self._body) > MAX_BODY_BYTES:
                    raise protocol(f"http2: the answer is larger than {MAX_BODY_BYTES} bytes")
            case h2.events.StreamEnded():
                self.over = True
            case h2.events.StreamReset():
                reason = _error_name(event.error_code)
                raise protocol(f"http2: the other side reset the stream: {reason}")
            case h2.events.ConnectionTerminated() if not self.over:
                reason = _error_name(event.error_code)
                raise protocol(f"http2: the other side goes away without an answer: {reason}")
            case _:
                """Settings, pings and windows, which h2 answers itself."""

    def answer(self) -> Http2Response:
        return Http2Response(headers=self._headers, body=bytes(self._body))


def _error_name(code: h2.errors.ErrorCodes | int | None) -> str:
    return code.name if isinstance(code, h2.errors.ErrorCodes) else f"error {code}"
