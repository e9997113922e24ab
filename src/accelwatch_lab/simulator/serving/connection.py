"""One connection of the simulator: a small HTTP/1.1 for GET, and long answers in chunks.

Not the agent's server: a simulated node must also be able to hang, drip, and answer nonsense.
"""

import asyncio
import socket
import struct
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

_MAX_HEAD = 16 << 10
# Linger for no time at all: what is closed is reset (socket(7), SO_LINGER).
_RESET = struct.pack("ii", 1, 0)
_REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    413: "Content Too Large",
    415: "Unsupported Media Type",
}


class Request(msgspec.Struct, frozen=True):
    """A request line and its headers, names in lower case."""

    method: str
    path: str
    headers: dict[str, str]


class Owner(Protocol):
    """Who answers."""

    def answer(self, connection: "Connection", request: Request) -> None:
        """Answer a request through the connection, now or never."""
        ...

    def connection_closed(self, connection: "Connection") -> None:
        """The connection is over."""
        ...


class Connection(asyncio.Protocol):
    """Reads requests, hands them to the owner in turn, and writes what it answers."""

    def __init__(self, owner: Owner, node_name: str) -> None:
        self._owner = owner
        # What the listening socket stands for: a node's name, or empty for the whole fleet.
        self.node_name = node_name
        self.transport: asyncio.Transport | None = None
        self._received = b""
        # Nothing more is read: a long answer is under way, or there will be none.
        self.mute = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, _exc: Exception | None) -> None:
        """The client has gone."""
        self.transport = None
        self._owner.connection_closed(self)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request."""
        if self.mute:
            return
        self._received += data
        while self.transport is not None and not self.mute:
            head, end, remaining = self._received.partition(b"\r\n\r\n")
            if not end:
                if len(head) > _MAX_HEAD:
                    self.refuse(400, "the request is too long")
                return
            self._received = remaining
            self._handle(head)

    def _handle(self, head: bytes) -> None:
        request = _parse(head)
        if request is None:
            self.refuse(400, "no HTTP request")
        elif request.headers.get("content-encoding", "identity") != "identity":
            self.refuse(415, "a request needs no body, and none with Content-Encoding is read")
        elif "transfer-encoding" in request.headers:
            self.refuse(413, "a request needs no body")
        elif request.method != "GET" or request.headers.get("content-length", "0") != "0":
            self.refuse(405, "only GET is answered")
        else:
            self._owner.answer(self, request)

    def write(self, data: bytes) -> None:
        """Hand over bytes, if the client is still there."""
        if self.transport is not None:
            self.transport.write(data)

    def send(self, headers: Mapping[str, str], body: bytes, code: int = 200) -> None:
        """A whole answer."""
        self.write(head_of(code, {**headers, "Content-Length": str(len(body))}) + body)

    def refuse(self, code: int, text: str) -> None:
        """A short answer in words; the connection is closed after it when it cannot go on."""
        self.send({"Content-Type": "text/plain; charset=utf-8"}, text.encode() + b"\n", code)
        if code in (400, 405, 413, 415):
            self.mute = True
            if self.transport is not None:
                self.transport.close()

    def start(self, media: str) -> None:
        """The head of an answer that comes in chunks and does not end."""
        self.mute = True
        headers = {
            "Content-Type": media,
            "Cache-Control": "no-store",
            "Transfer-Encoding": "chunked",
            "Connection": "close",
        }
        self.write(head_of(200, headers))

    def chunk(self, data: bytes) -> None:
        """A part of it."""
        self.write(chunked(data))

    def backlog(self) -> int:
        """Bytes that the client has not read."""
        return 0 if self.transport is None else self.transport.get_write_buffer_size()

    def abort(self) -> None:
        """Cut it off, with a reset as of a machine that has gone."""
        self.mute = True
        if self.transport is not None:
            its_socket = self.transport.get_extra_info("socket")
            its_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self.transport.abort()


def chunked(data: bytes) -> bytes:
    """A chunk of an answer whose length is not known."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def head_of(code: int, headers: Mapping[str, str]) -> bytes:
    """A status line and headers."""
    lines = [f"HTTP/1.1 {code} {_REASONS[code]}", "Server: accelwatch"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _parse(head: bytes) -> Request | None:
    first, *header_lines = head.decode("latin-1").split("\r\n")
    tokens = first.split(" ")
    if len(tokens) != 3 or not tokens[2].startswith("HTTP/1."):
        return None
    headers = {}
    for line in header_lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return Request(tokens[0], urlsplit(tokens[1]).path, headers)
