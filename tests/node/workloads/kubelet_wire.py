"""Test-side encoders, written apart from the readers under test: HTTP/2 frames, HPACK, protobuf."""

import struct
from collections.abc import Sequence

DATA, HEADERS, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = (
    *(0, 1, 3, 4, 5, 6, 7, 8),
    9,
)
END_STREAM, END_HEADERS, PADDED, PRIORITY = 1, 4, 8, 0x20


def frame(kind: int, payload: bytes = b"", flags: int = 0, stream: int = 0) -> bytes:
    return (
        struct.pack("!HBBBI", len(payload) >> 8, len(payload) & 255, kind, flags, stream) + payload
    )


def literal(name: str, value: str) -> bytes:
    assert len(name) < 127
    assert len(value) < 127
    return bytes([0, len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def number(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value % 128 + 128])
        value //= 128
    return out + bytes([value])


def field(at: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return number(at * 8) + number(value)
    octets = value.encode() if isinstance(value, str) else value
    return number(at * 8 + 2) + number(len(octets)) + octets


def devices(resource: str, ids: Sequence[str]) -> bytes:
    topology = field(3, field(1, field(1, 1)))
    return field(2, field(1, resource) + b"".join(field(2, one) for one in ids) + topology)


def claim(driver: str, cdi: Sequence[str], device: str) -> bytes:
    names = b"".join(field(1, field(1, one)) for one in cdi)
    claimed = names + field(2, driver) + field(3, "pool") + field(4, device)
    return field(5, field(2, "claim") + field(3, "ml") + field(4, claimed))


def container(name: str, *given: bytes) -> bytes:
    return field(3, field(1, name) + b"".join(given) + field(3, 5) + field(4, field(1, "memory")))


def pod(namespace: str, name: str, *containers: bytes) -> bytes:
    return field(1, field(1, name) + field(2, namespace) + b"".join(containers))


def message(body: bytes) -> bytes:
    return b"\0" + struct.pack("!I", len(body)) + body


def data_frames(octets: bytes, size: int = 16_384) -> list[bytes]:
    return [
        frame(DATA, octets[at : at + size], stream=1) for at in range(0, max(len(octets), 1), size)
    ]


HEAD = frame(SETTINGS) + frame(
    HEADERS,
    b"\x88" + literal("content-type", "application/grpc"),
    END_HEADERS,
    1,
)
TRAILERS = frame(
    HEADERS,
    literal("grpc-status", "0") + literal("grpc-message", ""),
    END_HEADERS | END_STREAM,
    1,
)


def reply(body: bytes) -> bytes:
    """A whole good answer."""
    return HEAD + b"".join(data_frames(message(body))) + TRAILERS
