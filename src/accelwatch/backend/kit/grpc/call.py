"""One gRPC call over a Unix socket or on a port of loopback, uncompressed, with one deadline.

Answered by one message, or by a stream that ends.
Protocol: grpc/grpc doc/PROTOCOL-HTTP2.md (five-byte message prefix, status in the trailers).
"""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from accelwatch.backend.kit.grpc.failure import SourceError, protocol
from accelwatch.base.clock import Clock

if TYPE_CHECKING:
    from accelwatch.backend.kit.grpc.http2 import Http2Response

_PREFIX_BYTES = 5
_OK = "0"
# By number, from 0: grpc/grpc doc/statuscodes.md.
_STATUS_NAMES = (
    "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS"
    " PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED"
    " INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED"
)
_CHUNK = 64 << 10
_MOST_MESSAGES = 4096


def unary(
    where: Path | int, method: str, request: bytes, *, timeout_s: float, clock: Clock
) -> bytes:
    """The answer's message, of a socket's path or a port of 127.0.0.1.

    Raises SourceError whatever goes wrong, within the time.
    """
    messages = _messages(_answer(where, method, request, timeout_s=timeout_s, clock=clock))
    if not messages:
        raise protocol("grpc: an answer without a message")
    if len(messages) > 1:
        raise protocol("grpc: the message is followed by another")
    return messages[0]


def stream(
    where: Path | int, method: str, request: bytes, *, timeout_s: float, clock: Clock
) -> list[bytes]:
    """All messages of an answer that ends. Raises SourceError as `unary`."""
    return _messages(_answer(where, method, request, timeout_s=timeout_s, clock=clock))


def _answer(
    where: Path | int, method: str, request: bytes, *, timeout_s: float, clock: Clock
) -> "Http2Response":
    wire = _Wire(where, clock.monotonic() + timeout_s, clock.monotonic)
    try:
        wire.connect()
        from accelwatch.backend.kit.grpc.http2 import (
            exchange,  # h2 is for nodes where somebody listens
        )

        return exchange(wire.send, wire.receive, _headers(method, timeout_s), framed(request))
    finally:
        wire.close()


def _headers(method: str, timeout_s: float) -> list[tuple[str, str]]:
    return [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", method),
        (":authority", "localhost"),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        ("grpc-timeout", f"{max(int(timeout_s * 1000), 1)}m"),
        ("user-agent", "accelwatch"),
    ]


def framed(message: bytes, *, compressed: bool = False) -> bytes:
    """A message behind its prefix; `compressed` as the header `grpc-encoding` says."""
    return (b"\1" if compressed else b"\0") + len(message).to_bytes(4, "big") + message


def status_name(status: str) -> str:
    """What people call a `grpc-status`."""
    number = int(status) if status.isascii() and status.isdigit() and len(status) < 3 else -1
    names = _STATUS_NAMES.split()
    return names[number] if 0 <= number < len(names) else f"status {status[:20]}"


def _messages(answer: "Http2Response") -> list[bytes]:
    """The messages of an answer that succeeded."""
    status = answer.headers.get("grpc-status")
    if status is None:
        kind = f"{answer.headers.get(':status', 'no')} status"
        raise protocol(f"grpc: not a gRPC answer ({kind}, no grpc-status)")
    if status != _OK:
        name = status_name(status)
        reason = answer.headers.get("grpc-message", "")[:200]
        raise SourceError(f"grpc: {name}{': ' + reason if reason else ''}", reason="refused")
    messages: list[bytes] = []
    remaining = answer.body
    while remaining:
        if len(remaining) < _PREFIX_BYTES or len(messages) == _MOST_MESSAGES:
            raise protocol("grpc: a message is cut off, or there are too many")
        if remaining[0]:
            raise protocol("grpc: the message is compressed, which was not offered")
        end = _PREFIX_BYTES + int.from_bytes(remaining[1:_PREFIX_BYTES], "big")
        if len(remaining) < end:
            raise protocol("grpc: the message is cut off")
        messages.append(remaining[_PREFIX_BYTES:end])
        remaining = remaining[end:]
    return messages


class _Wire:
    """A connected socket whose every wait ends at the deadline."""

    def __init__(self, where: Path | int, deadline: float, now: Callable[[], float]) -> None:
        self._address = str(where) if isinstance(where, Path) else ("127.0.0.1", where)
        self._name = str(where) if isinstance(where, Path) else f"127.0.0.1:{where}"
        self._deadline = deadline
        self._now = now
        family = socket.AF_UNIX if isinstance(where, Path) else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)

    def _arm(self) -> None:
        left = self._deadline - self._now()
        if left <= 0:
            raise SourceError(f"{self._name}: no answer in time", reason="timeout")
        self._socket.settimeout(left)

    def connect(self) -> None:
        self._arm()
        try:
            self._socket.connect(self._address)
        except OSError as error:
            raise self._failure(error) from error

    def send(self, data: bytes) -> None:
        self._arm()
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise self._failure(error) from error

    def receive(self) -> bytes:
        """What has come, at least one octet."""
        self._arm()
        try:
            chunk = self._socket.recv(_CHUNK)
        except OSError as error:
            raise self._failure(error) from error
        if not chunk:
            raise SourceError(f"{self._name}: the connection was closed early", reason="io")
        return chunk

    def close(self) -> None:
        self._socket.close()

    def _failure(self, error: OSError) -> SourceError:
        match error:
            case TimeoutError():
                return SourceError(f"{self._name}: no answer in time", reason="timeout")
            case FileNotFoundError() | NotADirectoryError():
                return SourceError(f"{self._name}: there is no such socket", reason="absent")
            case PermissionError():
                return SourceError(
                    f"{self._name}: permission denied",
                    reason="permission",
                    remedy="run with group root, or as root, and mount the socket's folder",
                )
            case ConnectionRefusedError():
                return SourceError(f"{self._name}: nothing is listening", reason="refused")
        return SourceError(f"{self._name}: {error.strerror or error}", reason="io")
