"""The simulator over real sockets, in a time of our own."""

import asyncio
import gzip
from collections.abc import Callable
from typing import Any

import aiohttp
import msgspec
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as strict
from prometheus_client.parser import text_string_to_metric_families

from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.device import DeviceState
from accelwatch.schema.json import wire
from accelwatch.schema.metrics import Kind
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.stream.compact import CompactEncoder
from accelwatch.schema.stream.packed import FORM
from accelwatch.web.http.stream import PACKED
from support.fleet.stream_reader import StreamFollower

Start = Callable[..., Any]
MSGPACK, NDJSON = {"Accept": "application/msgpack"}, {"Accept": "application/x-ndjson"}
AS_BYTES = {"Accept": f"{PACKED}, application/msgpack;q=0.9"}


def compacted(snapshot: Any) -> tuple[DeviceView, ...]:
    """What the agent's own encoder makes of a snapshot."""
    decoder, found = StreamFollower(), None
    for message in CompactEncoder().messages(snapshot):
        found = decoder.feed(message)
    assert found is not None
    return found


def comparable(views: tuple[DeviceView, ...]) -> list[object]:
    """Without the standing absences: they depend on what a layout was first made from."""
    return [
        (
            view.device,
            view.state,
            view.state_since,
            view.health,
            view.health_reasons,
            view.owners,
            [(one.pid, one.user, one.job) for one in view.reading.processes or ()],
            view.event_counts,
            view.sample_time,
            view.reading.values,
            view.reading.absent.get(("*",)),
        )
        for view in views
    ]


@pytest.mark.parametrize("accept", [MSGPACK, NDJSON, AS_BYTES])
def test_a_stream_says_what_the_snapshot_says(
    start_bench: Start, follower: Any, accept: dict[str, str]
) -> None:
    async def run() -> None:
        async with start_bench() as bench:
            for name in ("n001", "n003", "n008", "n013"):
                node = bench.node(name)
                async with bench.http.get(bench.url(name, "/v1/stream"), headers=accept) as answer:
                    follow = follower(answer)
                    await follow.views()
                    for _ in range(3):
                        bench.clock.advance(50)
                        bench.server.tick()
                        seen = await follow.views()
                        expected = compacted(bench.fleet.snapshot(node, bench.server.now()))
                        assert comparable(seen) == comparable(expected)
                    assert follow.decoder.gaps == 0
                    assert follow.decoder.hello.host == name

    asyncio.run(run())


def test_who_asks_for_it_gets_values_as_bytes_and_a_header_says_so(
    start_bench: Start, follower: Any
) -> None:
    async def run() -> None:
        async with start_bench() as bench:
            url = bench.url("n001", "/v1/stream")
            async with (
                bench.http.get(url, headers=AS_BYTES) as packed,
                bench.http.get(url, headers=MSGPACK) as plain,
            ):
                assert (packed.content_type, plain.content_type) == (PACKED, "application/msgpack")
                one, two = follower(packed), follower(plain)
                await one.views(), await two.views()
                for _ in range(3):
                    bench.clock.advance(50)
                    bench.server.tick()
                    assert await one.views() == await two.views()
                assert one.decoder.hello.values == FORM
                assert two.decoder.hello.values is msgspec.UNSET

    asyncio.run(run())


def test_absences_of_a_healthy_device_are_those_of_the_agent(
    start_bench: Start, follower: Any
) -> None:
    async def run() -> None:
        async with start_bench(vendor="amd") as bench:
            url = bench.url("n008", "/v1/stream")
            async with bench.http.get(url, headers=MSGPACK) as answer:
                seen = await follower(answer).views()
            expected = bench.fleet.snapshot(bench.node("n008"), bench.server.now())
            for one, two in zip(seen, (*expected.devices, expected.node), strict=True):
                assert one.reading.absent == two.reading.absent

    asyncio.run(run())


def test_several_followers_of_a_node_count_for_themselves(
    start_bench: Start, follower: Any
) -> None:
    async def run() -> None:
        async with start_bench() as bench:
            url = bench.url("n001", "/v1/stream")
            async with bench.http.get(url, headers=MSGPACK) as first:
                one = follower(first)
                await one.views()
                bench.server.tick()
                await one.views()
                async with bench.http.get(url, headers=MSGPACK) as second:
                    two = follower(second)
                    assert comparable(await two.views())
                    bench.server.tick()
                    assert await one.views() == await two.views()
                    assert bench.server.streams == 2
                    assert one.decoder.gaps == two.decoder.gaps == 0

    asyncio.run(run())


def test_metrics_follow_the_catalogue(start_bench: Start) -> None:
    async def run() -> None:
        async with start_bench() as bench:
            bench.clock.advance(130)
            for name in ("n001", "n008", "n014"):
                families = list(text_string_to_metric_families(await bench.text(name)))
                assert len(families) > 50
                for family in families:
                    key = family.name.removeprefix("accel_")
                    row = by_key()[f"{key}_total" if family.type == "counter" else key]
                    assert (row.kind is Kind.COUNTER) == (family.type == "counter")

    asyncio.run(run())


def test_a_node_of_eight_has_as_many_series_as_an_agent_of_eight(start_bench: Start) -> None:
    async def run() -> None:
        async with start_bench() as bench:
            text = await bench.text("n014")
            first = [line for line in text.splitlines() if 'device="nvidia0"' in line]
            assert len(first) == 86

    asyncio.run(run())


def test_the_quick_exposition_is_the_exporters(start_bench: Start) -> None:
    async def run() -> None:
        from accelwatch.cli.trial.sim import own_exposition

        async with start_bench(vendor="mixed") as bench:
            render = own_exposition()
            for seconds in (0, 90, 61):
                bench.clock.advance(seconds)
                for node in bench.fleet.nodes[:8]:
                    now = bench.server.now()
                    for wanted, accept in ((False, "text/plain"), (True, OPENMETRICS)):
                        seen = await bench.text(node.name, Accept=accept)
                        assert seen == render(bench.fleet.snapshot(node, now), wanted)

    asyncio.run(run())


OPENMETRICS = "application/openmetrics-text"


def test_openmetrics_parses(start_bench: Start) -> None:
    async def run() -> None:
        async with start_bench() as bench:
            text = await bench.text("n008", Accept=OPENMETRICS)
            assert any(family.name == "accel_power_watts" for family in strict(text))

    asyncio.run(run())


def test_metrics_are_compressed_for_who_takes_it(start_bench: Start) -> None:
    async def run() -> None:
        async with start_bench() as bench:
            url = bench.url("n008", "/metrics")
            plain = await bench.text("n008", **{"Accept-Encoding": "identity"})
            headers = {"Accept-Encoding": "gzip"}
            async with (
                aiohttp.ClientSession(auto_decompress=False) as session,
                session.get(url, headers=headers) as answer,
            ):
                assert answer.headers["Content-Encoding"] == "gzip"
                assert gzip.decompress(await answer.read()).decode() == plain

    asyncio.run(run())


def test_the_snapshot_decodes(start_bench: Start) -> None:
    async def run() -> None:
        async with start_bench() as bench:
            bench.clock.advance(130)
            found = wire.decode((await bench.text("n001", "/v1/snapshot")).encode())
            assert found.host == "n001"
            assert found.devices[3].state is DeviceState.LOST
            assert found.devices[0].owners[0].user == "trainer"

    asyncio.run(run())


def test_a_node_that_is_down_cuts_every_connection(start_bench: Start, follower: Any) -> None:
    async def run() -> None:
        async with start_bench() as bench:
            url = bench.url("n009", "/v1/stream")
            async with bench.http.get(url, headers=MSGPACK) as answer:
                follow = follower(answer)
                await follow.views()
                bench.clock.advance(130)
                bench.server.tick()
                with pytest.raises((aiohttp.ClientError, asyncio.IncompleteReadError, OSError)):
                    await follow.message()
            with pytest.raises((aiohttp.ClientError, OSError)):
                await bench.text("n009")
            bench.clock.advance(120)
            assert await bench.text("n009")

    asyncio.run(run())


def test_a_node_that_hangs_says_nothing(start_bench: Start, follower: Any) -> None:
    async def run() -> None:
        async with start_bench() as bench:
            url = bench.url("n010", "/v1/stream")
            async with bench.http.get(url, headers=MSGPACK) as answer:
                follow = follower(answer)
                await follow.views()
                bench.clock.advance(130)
                bench.server.tick()
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(bench.text("n010"), 0.1)
                bench.clock.advance(120)
                bench.server.tick()
                assert await follow.views()
                assert follow.decoder.gaps == 0

    asyncio.run(run())


def test_a_slow_node_drips_and_a_mad_one_reports_nonsense(start_bench: Start) -> None:
    async def run() -> None:
        async with start_bench() as bench:
            bench.clock.advance(130)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(bench.text("n011"), 0.1)
            async with bench.http.get(bench.url("n012", "/metrics")) as answer:
                first = await answer.read()
                assert answer.status == 200
            with pytest.raises(ValueError):  # noqa: PT011 - whichever way the parser stumbles
                list(text_string_to_metric_families(first.decode("latin-1")))
            async with bench.http.get(bench.url("n012", "/metrics")) as answer:
                assert await answer.read() == first

    asyncio.run(run())


def test_a_stream_that_drips_is_never_torn(start_bench: Start, follower: Any) -> None:
    async def run() -> None:
        async with start_bench() as bench:
            url = bench.url("n011", "/v1/stream")
            async with bench.http.get(url, headers=MSGPACK) as answer:
                follow = follower(answer)
                await follow.views()
                bench.clock.advance(130)
                bench.server.tick()
                bench.clock.advance(120)
                bench.server.tick()
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(follow.message(), 0.1)
            async with bench.http.get(url, headers=MSGPACK) as again:
                assert await follower(again).views()

    asyncio.run(run())


def test_thousands_of_paths_are_served_by_one_port(start_bench: Start) -> None:
    async def run() -> None:
        async with start_bench(nodes=3000, devices=2, scenario=None) as bench:
            async with bench.http.get(f"http://{bench.address}/") as answer:
                index = await answer.text()
            paths = index.split()
            assert len(paths) == 3000
            for path in paths[::300]:
                async with bench.http.get(f"http://{bench.address}{path}") as answer:
                    text = await answer.text()
                name = path.split("/")[2]
                node = bench.node(name)
                assert text.count("accel_device_up{") == 2
                assert str(node.units[1].device.uuid) in text

    asyncio.run(run())


def test_the_simulator_reports_where_the_jobs_are(start_bench: Start) -> None:
    async def run() -> None:
        async with start_bench() as bench:
            bench.clock.advance(200)
            async with bench.http.get(f"http://{bench.address}/sim/jobs") as answer:
                first = (await answer.json())["jobs"][0]
            assert (first["name"], first["phase"], first["checkpoint"]) == (
                "pretraining",
                "stall",
                0,
            )

    asyncio.run(run())


@pytest.mark.parametrize(
    ("request_line", "code"),
    [
        (b"GET /nowhere HTTP/1.1", b"404"),
        (b"GET /node/n999/metrics HTTP/1.1", b"404"),
        (b"GET /node HTTP/1.1", b"404"),
        (b"POST /node/n001/metrics HTTP/1.1", b"405"),
        (b"GET /node/n001/metrics HTTP/1.1\r\nContent-Encoding: gzip", b"415"),
        (b"GET /node/n001/metrics HTTP/1.1\r\nTransfer-Encoding: chunked", b"413"),
        (b"hello", b"400"),
        (b"GET " + b"x" * 20_000, b"400"),
    ],
)
def test_what_makes_no_sense_is_refused(
    start_bench: Start, request_line: bytes, code: bytes
) -> None:
    async def run() -> None:
        async with start_bench() as bench:
            host, _, port = bench.address.rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(request_line + b"\r\n\r\n")
            assert (await reader.readline()).split()[1] == code
            writer.close()

    asyncio.run(run())
