"""An HTTP/2 client for one request on a fresh connection: no upgrade, no reuse, no push.

Windows are opened once as wide as the largest answer that is accepted, so none needs an update.
"""

import struct
from collections.abc import Callable

import msgspec

from accelwatch.workloads import frames, hpack
from accelwatch.workloads.failure import SourceError, protocol
from accelwatch.workloads.frames import Frame
from accelwatch.workloads.hpack import Header

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MAX_BODY_BYTES = 16 << 20
"""The kubelet's own limit for an answer of its pod resources is 16 MiB."""

_STREAM = 1
_DEFAULT_WINDOW = 65_535
_MAX_BLOCK_BYTES = 64 << 10
_MAX_FRAMES = 200_000

Receive = Callable[[int], bytes]
"""Exactly that many octets. Raises SourceError at the end of the connection or the time."""
Send = Callable[[bytes], None]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A response; trailers win over headers of the same name."""

    headers: dict[str, str]
    body: bytes


def exchange(send: Send, receive: Receive, headers: list[Header], body: bytes) -> Answer:
    """Send one request and read its answer. Raises SourceError."""
    request = (
        PREFACE,
        frames.settings({frames.ENABLE_PUSH: 0, frames.INITIAL_WINDOW_SIZE: MAX_BODY_BYTES}),
        frames.window_update(MAX_BODY_BYTES - _DEFAULT_WINDOW),
        frames.encode(
            frames.HEADERS, hpack.encode(headers), flags=frames.END_HEADERS, stream=_STREAM
        ),
        frames.encode(frames.DATA, body, flags=frames.END_STREAM, stream=_STREAM),
    )
    send(b"".join(request))
    exchanged = _Exchange(send)
    for _ in range(_MAX_FRAMES):
        exchanged.take(_next_frame(receive))
        if exchanged.over:
            return exchanged.answer()
    raise protocol("http2: too many frames")


def _next_frame(receive: Receive) -> Frame:
    length, kind, flags, stream = frames.head(receive(frames.HEAD_BYTES))
    return Frame(kind=kind, flags=flags, stream=stream, payload=receive(length) if length else b"")


class _Exchange:
    """What has come so far."""

    def __init__(self, send: Send) -> None:
        self.over = False
        self._send = send
        self._decoder = hpack.HeaderDecoder()
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self._block: bytearray | None = None
        """A header block whose end has not come; nothing else may come before it."""
        self._ends = False
        self._settled = False

    def answer(self) -> Answer:
        return Answer(headers=self._headers, body=bytes(self._body))

    def take(self, frame: Frame) -> None:
        """One frame. Raises SourceError when the answer cannot be had any more."""
        if not self._settled and frame.kind != frames.SETTINGS:
            raise protocol("http2: the connection does not begin with settings")
        self._settled = True
        if (self._block is not None) != (frame.kind == frames.CONTINUATION):
            raise protocol("http2: a header block is interrupted")
        if frame.kind in (frames.DATA, frames.HEADERS, frames.CONTINUATION, frames.RST_STREAM):
            self._take_of_stream(frame)
        else:
            self._take_of_connection(frame)

    def _take_of_connection(self, frame: Frame) -> None:
        match frame.kind:
            case frames.SETTINGS if not frame.flags & frames.ACK:
                self._reply(frames.encode(frames.SETTINGS, flags=frames.ACK))
            case frames.PING if not frame.flags & frames.ACK:
                self._reply(frames.encode(frames.PING, frame.payload[:8], flags=frames.ACK))
            case frames.GOAWAY:
                _check_goaway(frame.payload)
            case frames.PUSH_PROMISE:
                raise protocol("http2: a push that was not asked for")
            case _:
                """Acknowledgements, window updates, priorities, and kinds unknown to us."""

    def _reply(self, data: bytes) -> None:
        """An answer may be complete although the other side has stopped listening."""
        try:
            self._send(data)
        except SourceError as error:
            if error.reason != "io":
                raise

    def _take_of_stream(self, frame: Frame) -> None:
        if frame.stream != _STREAM:
            raise protocol(f"http2: a frame of stream {frame.stream}, which nobody opened")
        match frame.kind:
            case frames.RST_STREAM:
                name = frames.error_name(frame.payload, 0)
                raise protocol(f"http2: the other side reset the stream: {name}")
            case frames.DATA:
                self._body += frames.content(frame)
                if len(self._body) > MAX_BODY_BYTES:
                    raise protocol(f"http2: the answer is larger than {MAX_BODY_BYTES} bytes")
                self.over = bool(frame.flags & frames.END_STREAM)
            case frames.HEADERS:
                self._ends = bool(frame.flags & frames.END_STREAM)
                self._block = bytearray(frames.content(frame))
                self._continue(frame.flags)
            case _:
                assert self._block is not None
                self._block += frame.payload
                self._continue(frame.flags)

    def _continue(self, flags: int) -> None:
        assert self._block is not None
        if len(self._block) > _MAX_BLOCK_BYTES:
            raise protocol("http2: a header block is too large")
        if flags & frames.END_HEADERS:
            self._headers.update(self._decoder.decode(bytes(self._block)))
            self._block = None
            self.over = self._ends


def _check_goaway(payload: bytes) -> None:
    """A GOAWAY that still covers our stream lets it go on."""
    name = frames.error_name(payload, 4)
    (last,) = struct.unpack(">I", payload[:4])
    if last & 0x7FFF_FFFF < _STREAM:
        raise protocol(f"http2: the other side goes away without an answer: {name}")
