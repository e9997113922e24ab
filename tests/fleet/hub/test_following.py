"""Following real agents' servers, and peers that misbehave in every way, over loopback."""

import asyncio
import gzip
import struct

import msgspec
import pytest

from accelwatch.base.backoff import retry_after
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.schema.stream.compact import Hello, Layout
from accelwatch.web.http.stream import MSGPACK, framed
from support.fleet.hub_peers import STREAM_HEAD, Handler, agent, answer, hub, peer, stream_bytes
from support.machines import composed as machines
from support.machines.samples import FIXTURES

FAST = Scrape(timeout_s=0.5, max_backoff_s=0.1, interval_s=0.1)


def test_an_agent_is_followed_by_one_stream() -> None:
    async def main() -> None:
        async with agent() as one, hub(one.address) as running:
            await running.devices(one.address, 8)
            source = running.source(one.address)
            assert (source.mode, source.dialect, source.connected) == ("stream", "accelwatch", True)
            changed = machines.snapshot(machines.view(0), machines.view(1))
            one.feed.put(changed)
            await running.devices(one.address, 2)
            assert one.server.streams == 1
            held = running.hub.fleet.nodes[one.address].devices[machines.device(1).id]
            assert held.reading().values == machines.view(1).reading.values
            assert held.reading().absent.items() >= machines.view(1).reading.absent.items()

    asyncio.run(main())


def test_a_stream_is_resumed_after_the_agent_restarts() -> None:
    async def main() -> None:
        async with agent() as first:
            port, address = first.port, first.address
            context = hub(address)
            running = await context.__aenter__()
            await running.devices(address, 8)
        await running.until(lambda: running.fault(address) != "")
        assert len(running.hub.fleet.nodes[address].devices) == 8
        async with agent(machines.snapshot(machines.view(0)), port=port):
            await running.devices(address, 1)
            assert running.source(address).connected
        await context.__aexit__(None, None, None)

    asyncio.run(main())


async def _hang(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(30)


async def _drip_headers(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    for byte in STREAM_HEAD:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.05)


async def _drip_frames(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(STREAM_HEAD + (1 << 20).to_bytes(4, "big"))
    while True:
        writer.write(b"\0")
        await writer.drain()
        await asyncio.sleep(0.02)


async def _endless(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(STREAM_HEAD + (1 << 30).to_bytes(4, "big"))
    while True:
        writer.write(b"\0" * 65536)
        await writer.drain()


def _streamed(body: bytes) -> Handler:
    async def handle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + body)
        await writer.drain()
        await asyncio.sleep(0.3)

    return handle


def _streamed_raw(body: bytes) -> Handler:
    async def handle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(body)
        await writer.drain()

    return handle


def _frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


_OTHER = framed(Hello(schema="accelwatch/2", version="9", host="x"), MSGPACK)
_HELLO = framed(Hello(version="1", host="x"), MSGPACK)
_NO_LAYOUT = framed(Layout(slot=70_000, device=machines.device(0), series=()), MSGPACK)


@pytest.mark.parametrize(
    ("handler", "reason"),
    [
        (_hang, "timeout"),
        (_drip_headers, "timeout"),
        (_drip_frames, "timeout"),
        (_endless, "too_large"),
        (_streamed(_frame(b"\xc1garbage")), "garbage"),
        (_streamed(_frame(b"\x91" * 5000)), "garbage"),
        (_streamed(_OTHER), "garbage"),
        (_streamed(_NO_LAYOUT), "garbage"),
        (_streamed(_HELLO + _NO_LAYOUT), "too_large"),
        (_streamed(b""), "closed"),
        (answer("200 OK", b"no http stream"), "garbage"),
        (answer("401 Unauthorized"), "credentials"),
        (answer("403 Forbidden"), "credentials"),
        (answer("302 Found\r\nLocation: http://127.0.0.1:1/"), "redirect"),
        (answer("500 Oops"), "status"),
        (answer("429 Slow\r\nRetry-After: 3600"), "busy"),
        (answer("200 OK\r\nX: " + "a" * 20_000), "garbage"),
        (_streamed_raw(b"not http at all"), "garbage"),
    ],
)
def test_a_peer_that_misbehaves_costs_only_itself(handler: Handler, reason: str) -> None:
    async def main() -> None:
        async with agent() as good, peer(handler) as bad, hub(good.address, bad) as running:
            await running.until(lambda: running.fault(bad) == reason)
            await running.devices(good.address, 8)
            answered = await running.get(f"/v1/nodes/{bad}")
            assert answered["targets"][0]["fault"]["reason"] == reason
            assert answered["state"] == "never"

    asyncio.run(main())


def test_nobody_listening_is_reported() -> None:
    async def main() -> None:
        async with hub("127.0.0.1:1") as running:
            await running.until(lambda: running.fault("127.0.0.1:1") == "connect")

    asyncio.run(main())


def test_a_name_that_does_not_resolve_is_reported() -> None:
    async def main() -> None:
        async with hub("no-such-host.invalid:1") as running:
            name = "no-such-host.invalid"
            await running.until(lambda: running.fault(name) in ("dns", "timeout"))

    asyncio.run(main())


def test_a_redirect_is_never_followed() -> None:
    requested = []

    async def second(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requested.append(1)

    async def main() -> None:
        async with peer(second) as elsewhere:
            sending = answer(f"307 Go\r\nLocation: http://{elsewhere}/v1/stream")
            async with peer(sending) as bad, hub(bad) as running:
                await running.until(lambda: running.failures(bad) > 2)

    asyncio.run(main())
    assert not requested


def test_retry_after_is_kept() -> None:
    requested = []

    async def busy(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requested.append(1)
        writer.write(b"HTTP/1.1 429 Slow\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    async def main() -> None:
        async with peer(busy) as bad, hub(bad) as running:
            await running.until(lambda: running.fault(bad) == "busy")
            await asyncio.sleep(0.2)

    asyncio.run(main())
    assert len(requested) == 1


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("7", 7.0),
        ("999999999999", 3600.0),
        ("Fri, 15 Jan 2027 08:00:30 GMT", 30.0),
        ("soon", None),
        ("", None),
        (None, None),
        ("-4", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(header: str | None, wait: float | None) -> None:
    assert retry_after(header, 1_800_000_000.0) == wait


def test_gaps_and_restarts_of_a_sequence_are_counted() -> None:
    snapshot = machines.snapshot(machines.view(0))
    body = stream_bytes(*[snapshot] * 5, sequences=(1, 2, 5, 1, 2))

    async def main() -> None:
        async with peer(_streamed(body)) as one, hub(one) as running:
            await running.devices(one, 1)
            await running.until(lambda: running.source(one).restarts_total > 0)
            assert running.source(one).gaps_total == 2

    asyncio.run(main())


def _bodies(stream: bytes) -> list[bytes]:
    """The messages of a stream."""
    found = []
    while stream:
        size = 4 + int.from_bytes(stream[:4], "big")
        found.append(stream[4:size])
        stream = stream[size:]
    return found


def test_values_that_do_not_fit_their_layout_are_refused() -> None:
    snapshot = machines.snapshot(machines.view(0))
    *before, last = _bodies(stream_bytes(snapshot))
    tick = msgspec.msgpack.decode(last)
    tick["devices"][0][5] = [1.0]
    body = b"".join(map(_frame, (*before, msgspec.msgpack.encode(tick))))

    async def main() -> None:
        async with peer(_streamed(body)) as one, hub(one) as running:
            await running.until(lambda: running.fault(one) == "garbage")

    asyncio.run(main())


def test_numbers_that_are_none_are_no_values() -> None:
    snapshot = machines.snapshot(machines.view(0))
    whole = stream_bytes(snapshot)
    power = struct.pack(">d", 642.125)
    assert power in whole

    async def main() -> None:
        body = whole.replace(power, struct.pack(">d", float("nan")))
        async with peer(_streamed(body)) as one, hub(one) as running:
            await running.devices(one, 1)
            page = await running.get("/v1/devices")
            assert page["devices"][0]["values"]["power_watts"] is None
            node = await running.get(f"/v1/nodes/{one}")
            assert node["snapshot"]["devices"][0]["absent"]["power_watts"] == "error"

    asyncio.run(main())


def test_a_target_without_a_stream_is_polled() -> None:
    async def main() -> None:
        polling = msgspec.structs.replace(FAST, mode="poll")
        async with agent() as real, hub(real.address, scrape=polling) as one:
            await one.devices(real.address, 8)
            assert one.source(real.address).mode == "poll"

    asyncio.run(main())


def test_what_has_no_stream_is_polled_and_read_by_its_dialect() -> None:
    labels = 'gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H100",Hostname="x"'
    body = f"DCGM_FI_DEV_SM_CLOCK{{{labels}}} 1980\nDCGM_FI_DEV_GPU_TEMP{{{labels}}} 61\n"

    async def main() -> None:
        handler = answer("200 OK\r\nContent-Type: text/plain", body.encode())
        async with peer(handler) as one, hub(one) as running:
            await running.devices(one, 1)
            assert running.mode(one) == "poll"
            page = await running.get("/v1/devices?fields=temperature_celsius,clock_hertz.sm")
            (row,) = page["devices"]
            assert row["node"] == one
            assert row["values"] == {"temperature_celsius": 61, "clock_hertz.sm": 1_980_000_000}
            text = await running.get("/metrics")
            assert f'accel_fleet_target_info{{node="{one}",dialect="dcgm' in text

    asyncio.run(main())


def test_an_exporter_that_only_reports_its_failure_is_up_with_the_devices_of_before() -> None:
    """A time-out between the two pages must not cost what was known of the devices."""
    well = b'nvidia_smi_gpu_info{uuid="u1",name="NVIDIA H100",index="0"} 1\n'
    failed = b"nvidia_smi_last_collect_success 0\nnvidia_smi_nvml_return_code 15\n"
    pages = [answer("200 OK", well), answer("500 Internal Server Error"), answer("200 OK", failed)]
    stage = 0

    async def staged(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await pages[stage](reader, writer)

    async def main() -> None:
        nonlocal stage
        polling = msgspec.structs.replace(FAST, mode="poll")
        async with peer(staged) as one, hub(one, scrape=polling) as running:
            await running.devices(one, 1)
            stage = 1
            await running.until(lambda: running.fault(one) == "status")
            failures = running.failures(one)
            text = await running.get("/metrics")
            assert f'accel_fleet_target_failures_total{{node="{one}",target="{one}"}} ' in text
            stage = 2
            await running.until(lambda: running.source(one).connected)
            assert running.failures(one) >= failures
            (held,) = running.hub.fleet.nodes[one].devices.values()
            assert (held.state, held.health, held.device.uuid) == ("lost", "failed", "u1")

    asyncio.run(main())


def test_a_plain_node_exporter_is_a_host_without_devices() -> None:
    page = (FIXTURES / "fleet" / "dialects" / "node_exporter.prom").read_bytes()

    async def main() -> None:
        async with peer(answer("200 OK", page)) as one, hub(one, scrape=FAST) as running:
            nodes = running.hub.fleet.nodes
            await running.until(lambda: one in nodes and nodes[one].host is not None)
            assert running.fault(one) == ""
            assert running.source(one).dialect == "node_exporter"
            assert nodes[one].devices == {}

    asyncio.run(main())


def test_an_agent_without_room_for_a_stream_is_polled() -> None:
    async def main() -> None:
        async with agent() as one:
            one.server.set_limits(msgspec.structs.replace(one.server.limits, streams=0))
            async with hub(one.address) as running:
                await running.devices(one.address, 8)
                assert running.mode(one.address) == "poll"
                assert running.failures(one.address) == 0

    asyncio.run(main())


BOMB = gzip.compress(b"\n" * (64 << 20), 9)


@pytest.mark.parametrize(
    ("head", "body", "reason"),
    [
        ("200 OK\r\nContent-Encoding: gzip", BOMB, "too_large"),
        ("200 OK\r\nContent-Encoding: gzip", b"no gzip", "garbage"),
        ("200 OK\r\nContent-Encoding: gzip", gzip.compress(b"a 1\n", mtime=0)[:-9], "garbage"),
        ("200 OK\r\nContent-Encoding: br", b"x", "garbage"),
        ("200 OK", b"x" * (2 << 20), "too_large"),
        ("200 OK", b"hello\n", "garbage"),
    ],
)
def test_a_body_is_bounded(head: str, body: bytes, reason: str) -> None:
    scrape = msgspec.structs.replace(
        FAST, mode="poll", body_size_limit_bytes=1 << 20, timeout_s=5.0
    )

    async def main() -> None:
        async with peer(answer(head, body)) as one, hub(one, scrape=scrape) as running:
            await running.until(lambda: running.fault(one) == reason)

    asyncio.run(main())
