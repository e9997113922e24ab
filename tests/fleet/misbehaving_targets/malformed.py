"""What an agent would stream, with something in it that cannot be."""

from collections.abc import Callable
from typing import Any

import msgspec

from accelwatch.schema.snapshot import Snapshot
from fleet.misbehaving_targets.misbehaving import STREAM_HEAD, Behaviour, Exchange, hang
from support.fleet.hub_peers import stream_bytes
from support.machines import composed as machines

Message = dict[str, Any]
# Changes one message of a stream.
Twist = Callable[[Message], None]
# Places in a device's part of a tick (`compact.DeviceTick`).
STATE, SINCE, HEALTH, SAMPLED, VALUES = 1, 2, 3, 4, 5


def messages(snapshot: Snapshot | None = None) -> list[Message]:
    """Hello, layouts, and a tick of two devices."""
    data = stream_bytes(snapshot or machines.snapshot(machines.view(0), machines.view(1)))
    found: list[Message] = []
    while data:
        size = int.from_bytes(data[:4], "big")
        found.append(msgspec.msgpack.decode(data[4 : 4 + size]))
        data = data[4 + size :]
    return found


def framed(sent: list[Message]) -> bytes:
    bodies = [msgspec.msgpack.encode(one) for one in sent]
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


def streamed(data: bytes) -> Behaviour:
    """Sends these bytes of a stream and falls silent."""

    async def behave(exchange: Exchange) -> None:
        await exchange.send(STREAM_HEAD + data)
        await hang(exchange)

    return behave


def twisted(kind: str, twist: Twist) -> Behaviour:
    """A stream whose messages of a kind are changed."""
    sent = messages()
    for message in sent:
        if message["type"] == kind:
            twist(message)
    return streamed(framed(sent))


def value(series: tuple[str, ...], number: object) -> Behaviour:
    """A stream whose first device has another value for a series."""
    sent = messages()
    layout = next(one for one in sent if one["type"] == "layout")
    at = layout["series"].index(list(series))
    sent[-1]["devices"][0][VALUES][at] = number
    return streamed(framed(sent))
