"""One request and its answer over HTTP/1.1: h11 says what the bytes mean, and this bounds them.

What is wrong with an answer raises TargetFault, after which nothing more of its connection can be
understood.
"""

from collections.abc import Callable, Mapping

import h11

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.http.body import BodyPrefix, BodyReader
from accelwatch.fleet.follow.http.request import Request

# Of an answer beside its body: status line, headers and trailers.
_MAX_HEAD = 32 << 10
# Of what is in chunks, what may stand between them besides: our ticks and lines of exporters need a
# tenth. Chunks of a few bytes would hold the loop for longer than anybody may have to wait.
_CHUNKED_PER_OVERHEAD = 4
# Answers of 1xx before the answer.
_MAX_INTERIM = 16
_PREFIX = b"HTTP/1."
# How a TLS alert begins (RFC 8446, 5.1).
_TLS_ALERT = b"\x15\x03"

# Makes the reader of an answer's body, by its code and its headers in lower case; None where only
# these count. Raises TargetFault for a body that was not requested.
OpenAnswer = Callable[[int, Mapping[str, str]], BodyReader | None]


class Exchange:
    """Send `request_bytes`, then `feed` what comes until the answer is complete."""

    def __init__(self, request: Request, open_answer: OpenAnswer) -> None:
        """What `open_answer` gives bounds the body."""
        # 0 until its headers have come.
        self.status = 0
        # By lower-case name; of one that is repeated the first.
        self.headers: dict[str, str] = {}
        # Whether its connection may be used again, once it is complete.
        self.keeps = False
        # One for each exchange: between two of them h11 keeps nothing, and none with HTTP/1.0.
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD)
        self.request_bytes = request.encode(self._http)
        self._open_answer = open_answer
        self._body: BodyReader | None = None
        # All bytes until its headers have come.
        self._head = b""
        self._received = self._body_bytes = self._interim = 0
        self._complete = False

    @property
    def started(self) -> bool:
        """Whether any byte of the answer has come."""
        return self._received > 0

    def feed(self, data: bytes) -> bool:
        """Process bytes; True when the answer is complete. Raises TargetFault."""
        self._received += len(data)
        if not self.status:
            self._head += data
            if not self._head.startswith(_PREFIX[: len(self._head)]):
                raise self._no_http()
        self._read(data)
        # Of a complete answer the body may not have been read.
        overhead = self._received - self._body_bytes
        if not self._complete and overhead > _MAX_HEAD + self._body_bytes // _CHUNKED_PER_OVERHEAD:
            raise self._no_http()
        return self._complete

    def finish(self) -> None:
        """The connection has ended. Raises TargetFault when that does not end the answer."""
        if not isinstance(self._body, BodyPrefix):
            self._read(b"")
        self.keeps = False

    def body(self) -> bytes:
        """What is kept of the body of a complete answer. Raises TargetFault."""
        return b"" if self._body is None else self._body.read_all()

    def _read(self, data: bytes) -> None:
        """Process bytes, or with none the end of the connection."""
        http = self._http
        http.receive_data(data)
        try:
            while not self._complete:
                event = http.next_event()
                if isinstance(event, h11.Data):
                    self._feed_body(event.data)  # a bytearray, of which no other copy is made
                    if event.chunk_end and http.trailing_data[0] == b"\r\n":
                        return  # as after each tick: another event costs h11 as much as the tick
                elif isinstance(event, h11.Response):
                    self._open(event)
                elif isinstance(event, h11.EndOfMessage):
                    self._complete = True
                    self.keeps &= not http.trailing_data[0]  # more than was requested
                elif isinstance(event, h11.InformationalResponse):
                    self._count_interim()
                else:
                    return
        except h11.RemoteProtocolError as error:
            if self.status or not data:
                text = "connection closed mid-response, or not HTTP"
                raise TargetFault(Reason.GARBAGE, text) from error
            raise self._no_http() from error

    def _feed_body(self, chunk: bytes) -> None:
        body = self._body
        assert body is not None  # else nothing is read
        self._body_bytes += len(chunk)
        body.feed(chunk)
        if isinstance(body, BodyPrefix) and body.enough:
            self._complete, self.keeps = True, False

    def _count_interim(self) -> None:
        self._interim += 1
        if self._interim > _MAX_INTERIM:
            raise self._no_http()

    def _open(self, response: h11.Response) -> None:
        head = self._head[: len(self._head) - len(self._http.trailing_data[0])]
        self._head = b""
        # h11 accepts headers that are folded; none of our servers sends any.
        if len(head) > _MAX_HEAD or b"\n " in head or b"\n\t" in head:
            raise self._no_http()
        self.status = response.status_code
        for name, value in response.headers:
            self.headers.setdefault(name.decode("latin-1"), value.decode("latin-1"))
        options = {token.strip() for token in self.headers.get("connection", "").lower().split(",")}
        persistent = response.http_version == b"1.1" or "keep-alive" in options
        self.keeps = persistent and "close" not in options
        self._body = self._open_answer(self.status, self.headers)
        if self._body is None:
            self._complete = True
            # One that came whole leaves a connection on which the next answer can be recognised.
            self.keeps &= self._is_complete()
        elif "content-length" in self.headers and "transfer-encoding" in self.headers:
            raise TargetFault(Reason.GARBAGE, "no HTTP answer: it does not say how it ends")

    def _is_complete(self) -> bool:
        """Whether all of a body that nobody reads has come, and nothing more."""
        try:
            while isinstance(event := self._http.next_event(), h11.Data):
                pass
        except h11.RemoteProtocolError:
            return False
        return isinstance(event, h11.EndOfMessage) and not self._http.trailing_data[0]

    def _no_http(self) -> TargetFault:
        if self._head.startswith(_TLS_ALERT):
            text = "no HTTP answer; the target speaks TLS, and http is configured"
        else:
            text = "no HTTP answer, or headers beyond all bounds"
        return TargetFault(Reason.GARBAGE, text)
