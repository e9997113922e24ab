"""Answers larger than anybody wants, as behaviours: sent for as long as the client takes them."""

import gzip
import zlib

from accelwatch.schema.stream.compact import Layout
from accelwatch.web.http.stream import MSGPACK, framed
from fleet.misbehaving_targets.misbehaving import (
    PLAIN_HEAD,
    STREAM_HEAD,
    Behaviour,
    Exchange,
    exposed,
)
from support.fleet.hub_peers import stream_bytes
from support.machines import composed as machines

GIGABYTE = 1 << 30
_PACKED = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: {}\r\n\r\n"
_HEADER = b"X-Filler: " + b"a" * 4000 + b"\r\n"
_PAIRS = ",".join(f'l{n}="v{n}"' for n in range(5000)).encode()
# Label pairs of the exposition that has too many.
PAIRS = 10_000_000


async def plain_gigabyte(exchange: Exchange) -> None:
    await exchange.send(PLAIN_HEAD)
    await exchange.flood(GIGABYTE)


async def sized_gigabyte(exchange: Exchange) -> None:
    await exchange.send(f"HTTP/1.1 200 OK\r\nContent-Length: {GIGABYTE}\r\n\r\n".encode())
    await exchange.flood(GIGABYTE)


async def chunked_gigabyte(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    await exchange.flood(GIGABYTE, b"10000\r\n" + b"#" * 0x10000 + b"\r\n")


async def endless_chunk_size(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;name=")
    await exchange.flood(GIGABYTE, b"x" * 0x10000)


async def endless_trailers(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
    await exchange.flood(GIGABYTE, _HEADER * 16)


async def endless_headers(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\n")
    await exchange.flood(GIGABYTE, _HEADER * 16)


async def endless_reason(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 ")
    await exchange.flood(GIGABYTE)


async def endless_continues(exchange: Exchange) -> None:
    await exchange.flood(GIGABYTE, b"HTTP/1.1 100 Continue\r\n\r\n" * 2000)


async def gigabyte_of_garbage(exchange: Exchange) -> None:
    await exchange.flood(GIGABYTE, b"\xff\x00" * 0x8000)


async def gigabyte_frame(exchange: Exchange) -> None:
    await exchange.send(STREAM_HEAD + GIGABYTE.to_bytes(4, "big"))
    await exchange.flood(GIGABYTE, bytes(0x10000))


async def endless_layouts(exchange: Exchange) -> None:
    """Whole messages of a stream without an end, and no tick among them."""
    whole = stream_bytes(machines.snapshot())
    await exchange.send(STREAM_HEAD + whole[: 4 + int.from_bytes(whole[:4], "big")])
    series = tuple((f"quantity_{n}",) for n in range(5000))
    layouts = b"".join(
        framed(Layout(slot=slot, device=machines.device(slot), series=series), MSGPACK)
        for slot in range(8)
    )
    await exchange.flood(GIGABYTE, layouts)


async def many_pairs(exchange: Exchange) -> None:
    """Ten million label pairs, five thousand a line."""
    await exchange.send(PLAIN_HEAD)
    for number in range(PAIRS // 5000):
        await exchange.send(b"DCGM_FI_DEV_GPU_TEMP{" + _PAIRS + b"} %d\n" % number)


async def one_line_of_pairs(exchange: Exchange) -> None:
    await exchange.send(PLAIN_HEAD + b"DCGM_FI_DEV_GPU_TEMP{")
    for _ in range(PAIRS // 5000):
        await exchange.send(_PAIRS + b",")
    await exchange.send(b"} 1\n")


def packed(coding: str, body: bytes, times: int = 1) -> Behaviour:
    """A packed body, sent so many times over."""

    async def behave(exchange: Exchange) -> None:
        await exchange.send(_PACKED.format(coding).encode())
        await exchange.flood(times * len(body), body)

    return behave


def _bomb() -> bytes:
    """A gigabyte of blanks as gzip, just below a megabyte, without a checksum: nobody is to reach it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    piece = packer.compress(b" " * (8 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return gzip.compress(b"")[:10] + 128 * piece


BOMB = _bomb()
_EMPTY_MEMBER = gzip.compress(b"")
# A block of deflate that is not the last and holds nothing: RFC 1951, 3.2.4.
_EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"


async def empty_blocks(exchange: Exchange) -> None:
    await exchange.send(_PACKED.format("gzip").encode() + gzip.compress(b"")[:10])
    await exchange.flood(GIGABYTE, _EMPTY_BLOCK * 13_000)


# What is too large, how it is sent, and the reason that the hub gives.
LARGE: dict[str, tuple[Behaviour, str]] = {
    "plain": (exposed(plain_gigabyte), "too_large"),
    "with a length": (exposed(sized_gigabyte), "too_large"),
    "in chunks": (exposed(chunked_gigabyte), "too_large"),
    "trailers": (exposed(endless_trailers), "garbage"),
    "headers": (endless_headers, "garbage"),
    "a status line": (endless_reason, "garbage"),
    "garbage": (gigabyte_of_garbage, "garbage"),
    "a frame": (gigabyte_frame, "too_large"),
    "label pairs": (exposed(many_pairs), "too_large"),
    "label pairs on one line": (exposed(one_line_of_pairs), "too_large"),
    "a bomb": (exposed(packed("gzip", BOMB)), "too_large"),
    "a bomb in a bomb": (exposed(packed("gzip", gzip.compress(BOMB, 9))), "garbage"),
    "packed, then more": (
        exposed(packed("gzip", gzip.compress(b"a 1\n") + bytes(0x100000), 1024)),
        "garbage",
    ),
    "empty members": (exposed(packed("gzip", _EMPTY_MEMBER * 3000, 18_000)), "garbage"),
    "empty blocks": (exposed(empty_blocks), "too_large"),
    "zstd": (exposed(packed("zstd", bytes(0x10000), 16_384)), "garbage"),
    "deflate": (exposed(packed("deflate", zlib.compress(bytes(1 << 20)), 1 << 20)), "garbage"),
    "brotli": (exposed(packed("br", bytes(0x10000), 16_384)), "garbage"),
    "twice packed": (exposed(packed("gzip, gzip", BOMB)), "garbage"),
    "continues": (endless_continues, "garbage"),
}

# What has no size to be limited because nothing of it is kept: time ends it, or a limit of its own.
ENDLESS: dict[str, tuple[Behaviour, str]] = {
    "a chunk's size": (exposed(endless_chunk_size), "garbage"),
    "layouts": (endless_layouts, "too_large"),
}
