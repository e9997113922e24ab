"""Streams of many nodes on one port, a path each: `hub_load.py PORT-FILE INTERVAL [times]`.

Values are packed for a hub that asks for them so, as an agent's are. Every node ticks at its own moment
of the interval. A tick carries the time at which it was due, not the one at which it was sent: a hub
that is late sees it, whoever is to blame. With `times` it is the power of every device as well, modulo
ROUND_S, for somebody who is further away.
"""

import asyncio
import sys
import time
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from accelwatch.schema.reading import Number, complete
from accelwatch.schema.stream.compact import (
    CompactEncoder,
    DeviceTick,
    Hello,
    Layout,
    Message,
    PackedTick,
    Tick,
    packed,
)
from accelwatch.web.http.stream import MSGPACK, PACKED, framed
from support.machines import composed as machines

DEVICES = 8
SERIES = 86
# Seconds that can be watts: a hub believes no device of 50 kW.
ROUND_S = 10_000.0


def measured_snapshot() -> list[object]:
    """Messages of a node with 8 devices of 86 series."""
    views = []
    for index in range(DEVICES):
        view = machines.view(index)
        values = dict(view.reading.values)
        for number in range(SERIES - len(values)):
            values["interconnect_errors_total", "nvlink", f"lane_{number}_crc"] = number
        reading = msgspec.structs.replace(view.reading, values=values)
        views.append(msgspec.structs.replace(view, reading=complete(reading, frozenset())))
    return list(CompactEncoder().messages(machines.snapshot(*views)))


def opening(messages: list[object], name: str, interval_s: float, media: str) -> bytes:
    """Hello and layouts with identities of the node's own."""
    found = b""
    for message in messages:
        if isinstance(message, Layout):
            uuid = f"GPU-{name}-{message.slot}"
            device = msgspec.structs.replace(message.device, id=f"nvidia:{uuid}", uuid=uuid)
            found += framed(msgspec.structs.replace(message, device=device), MSGPACK)
        elif isinstance(message, Hello):
            hello = msgspec.structs.replace(message, interval_s=interval_s)
            found += framed(_formed(hello, media), media)
    return found


def _formed(message: Message, media: str) -> Message | PackedTick:
    return packed(message) if media == PACKED else message


def chunk(body: bytes) -> bytes:
    """A part of an answer without a length."""
    return f"{len(body):x}\r\n".encode() + body + b"\r\n"


class Load:
    """Serves streams; nodes tick until their client goes."""

    def __init__(self, interval_s: float, *, times: bool = False) -> None:
        self._interval_s = interval_s
        self._messages = measured_snapshot()
        tick = self._messages[-1]
        assert isinstance(tick, Tick)
        self._devices = tick.devices
        layouts = (message for message in self._messages if isinstance(message, Layout))
        # Where the power of each device is among its values; None where it stays as it is.
        self._power = next(layouts).series.index(("power_watts",)) if times else None
        self._wall = time.time() - time.monotonic()

    def tick(self, sequence: int, due: float, media: str) -> bytes:
        """A tick that was due at a moment; a value of each device moves."""
        at = self._wall + due
        devices = tuple(
            msgspec.structs.replace(one, sample_time=at, values=self._moved(one, sequence, at))
            for one in self._devices
        )
        tick = Tick(sequence=sequence, time=at, devices=devices)
        return framed(_formed(tick, media), media)

    def _moved(self, device: DeviceTick, sequence: int, at: float) -> tuple[Number | str, ...]:
        values = list(device.values)
        values[-1] = sequence
        if self._power is not None:
            values[self._power] = at % ROUND_S
        return tuple(values)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One stream."""
        try:
            request = (await reader.readuntil(b"\r\n\r\n")).decode()
        except asyncio.IncompleteReadError:
            return  # who connected has gone
        name = request.split(" ", 2)[1].split("/")[1]
        media = PACKED if PACKED in request else MSGPACK
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {media}\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head.encode() + chunk(opening(self._messages, name, self._interval_s, media)))
        # Connections come in a burst; over the interval they come as nodes of a fleet do.
        phase = (hash(name) % 1000) / 1000 * self._interval_s
        due = time.monotonic()
        writer.write(chunk(self.tick(1, due, media)))
        due += phase
        sequence = 1
        while not writer.is_closing():
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            sequence += 1
            writer.write(chunk(self.tick(sequence, due, media)))
            due += self._interval_s


async def main() -> None:
    """Serve until killed."""
    load = Load(float(sys.argv[2]), times="times" in sys.argv[3:])
    server = await asyncio.start_server(load.serve, "127.0.0.1", 0, backlog=4096)
    Path(sys.argv[1]).write_text(str(server.sockets[0].getsockname()[1]))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
