"""The packed form of the stream: for who asks for it, and from an agent that has it."""

import asyncio

import pytest

from accelwatch.fleet.follow.frames import FrameReader, RawTick
from accelwatch.fleet.state.nodes.devices import StreamDevice
from accelwatch.fleet.table.pick import decoded
from accelwatch.schema.stream.compact import CompactEncoder, Hello, Tick, packed
from accelwatch.schema.stream.packed import FORM, pack, unpack
from accelwatch.web.http.stream import MSGPACK, NDJSON, OFFERED, PACKED, framed
from accelwatch.web.pages.negotiation import choose
from support.fleet.hub_peers import STREAM_HEAD, agent, hub, peer, stream_bytes
from support.machines import composed as machines

HUBS = f"{PACKED}, {MSGPACK};q=0.9"


@pytest.mark.parametrize(
    ("accept", "offered", "chosen"),
    [
        (HUBS, (*OFFERED, PACKED), PACKED),
        (HUBS, OFFERED, MSGPACK),
        (MSGPACK, (*OFFERED, PACKED), MSGPACK),
        ("*/*", (*OFFERED, PACKED), NDJSON),
        ("", (*OFFERED, PACKED), NDJSON),
    ],
)
def test_only_who_requests_packed_values_gets_them(
    accept: str, offered: tuple[str, ...], chosen: str
) -> None:
    assert choose(accept, offered) == chosen


def test_the_hello_says_so_and_the_values_are_the_same() -> None:
    messages = CompactEncoder().messages(machines.snapshot(machines.view(0), machines.view(1)))
    plain = messages[-1]
    assert isinstance(plain, Tick)
    reader = FrameReader(1 << 20)
    sent = b"".join(framed(packed(one), PACKED) for one in messages)
    read_back = [message for message, _ in reader.feed(sent)]
    hello, tick = read_back[0], read_back[-1]
    assert isinstance(hello, Hello)
    assert isinstance(tick, RawTick)
    assert hello.values == FORM
    for raw, before in zip(tick.devices, plain.devices, strict=True):
        assert decoded(raw.values, len(before.values)) == before.values
        assert (raw.slot, raw.state, raw.device_absence) == (
            before.slot,
            before.state,
            before.device_absence,
        )


def test_a_hub_reads_an_agent_in_the_packed_form_and_an_older_one_in_the_other() -> None:
    async def main() -> None:
        snapshot = machines.snapshot(machines.view(0))

        async def older(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(STREAM_HEAD + stream_bytes(snapshot))
            await writer.drain()
            await asyncio.sleep(30)

        async with agent(snapshot) as new, peer(older) as old, hub(new.address, old) as running:
            for node in (new.address, old):
                await running.devices(node, 1)
            held = [
                next(iter(running.hub.fleet.nodes[node].devices.values()))
                for node in (new.address, old)
            ]
            assert isinstance(held[0], StreamDevice)
            assert isinstance(held[1], StreamDevice)
            assert held[0].tick is not None
            assert held[1].tick is not None
            assert bytes(held[0].tick.values)[0] in (0xC4, 0xC5)
            assert bytes(held[1].tick.values)[0] == 0xDC
            values = [one.reading().values for one in held]
            assert values[0] == values[1] == machines.view(0).reading.values

    asyncio.run(main())


def test_packed_values_of_another_length_are_refused() -> None:
    assert unpack(pack((1, 2.5, "t", 2**64 - 1, -1))) == (1, 2.5, "t", 2**64 - 1, -1)
    with pytest.raises(ValueError, match="packed"):
        unpack(b"dd")
    with pytest.raises(ValueError, match="packed"):
        unpack(b"d" * 8)


def test_an_integer_beyond_64_bits_becomes_a_double() -> None:
    assert unpack(pack((2**64, -(2**63) - 1))) == (float(2**64), float(-(2**63) - 1))
