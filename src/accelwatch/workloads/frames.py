"""HTTP/2 frames (RFC 9113, section 4 and 6): encoding, and taking payloads apart."""

import struct

import msgspec

from accelwatch.workloads.failure import protocol

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = 0x0, 0x1, 0x2, 0x3, 0x4
PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0x5, 0x6, 0x7, 0x8, 0x9

END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
PRIORITISED = 0x20

HEAD_BYTES = 9
MAX_PAYLOAD_BYTES = 16_384
"""SETTINGS_MAX_FRAME_SIZE as it is until told otherwise; we never tell otherwise."""

ENABLE_PUSH, INITIAL_WINDOW_SIZE = 0x2, 0x4

_ERRORS = (
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
)
"""RFC 9113, section 7."""


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """One frame as it came."""

    kind: int
    flags: int
    stream: int
    payload: bytes


def encode(kind: int, payload: bytes = b"", *, flags: int = 0, stream: int = 0) -> bytes:
    """A frame's bytes."""
    head = struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream)
    return head + payload


def settings(values: dict[int, int]) -> bytes:
    """A SETTINGS frame."""
    pairs = (struct.pack(">HI", name, value) for name, value in values.items())
    return encode(SETTINGS, b"".join(pairs))


def window_update(increment: int) -> bytes:
    """A WINDOW_UPDATE frame for the connection."""
    return encode(WINDOW_UPDATE, struct.pack(">I", increment))


def head(data: bytes) -> tuple[int, int, int, int]:
    """(payload length, kind, flags, stream) of a frame's nine-byte head. Raises SourceError."""
    length = int.from_bytes(data[:3], "big")
    if length > MAX_PAYLOAD_BYTES:
        raise protocol(f"http2: a frame of {length} bytes is larger than was agreed")
    kind, flags, stream = struct.unpack(">BBI", data[3:HEAD_BYTES])
    return length, kind, flags, stream & 0x7FFF_FFFF


def content(frame: Frame) -> bytes:
    """Payload of a DATA or HEADERS frame without padding and priority. Raises SourceError."""
    payload = frame.payload
    padding = 0
    if frame.flags & PADDED:
        if not payload:
            raise protocol("http2: padding without its length")
        padding, payload = payload[0], payload[1:]
    if frame.kind == HEADERS and frame.flags & PRIORITISED:
        if len(payload) < 5:
            raise protocol("http2: a priority is cut off")
        payload = payload[5:]
    if padding > len(payload):
        raise protocol("http2: more padding than payload")
    return payload[: len(payload) - padding]


def error_name(payload: bytes, offset: int) -> str:
    """Name of the error code at an offset of a RST_STREAM or GOAWAY payload."""
    octets = payload[offset : offset + 4]
    if len(octets) < 4:
        raise protocol("http2: an error code is cut off")
    code = int.from_bytes(octets, "big")
    return _ERRORS[code] if code < len(_ERRORS) else f"error {code}"
