"""Receivers that fail, refuse or are slow; what is written to the bit; what is left out."""

import asyncio
import logging
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from accelwatch.alerting.delivery.transport.push_queue import Counts, Request
from accelwatch.base.clock import SystemClock
from accelwatch.base.errors import ConfigError
from accelwatch.fleet.scrape_settings import TlsConfig
from accelwatch.fleet.targets.settings import Targets
from accelwatch.fleet.tsdb.peer import Peer
from accelwatch.fleet.tsdb.remote_write.encoding import Encoder
from accelwatch.fleet.tsdb.remote_write.sending import shard
from accelwatch.fleet.tsdb.settings import RemoteWrite, Store, check_peers
from accelwatch.schema.snapshot import Owner
from support.fleet.hub_peers import agent
from support.machines import composed as machines
from support.servers.fake_prometheus import FakeStore, decoded, fake_store, soon
from support.servers.ports import free_port

STALE_BITS = 0x7FF0000000000002
HEADERS = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
    "X-Scope-OrgID": "ml",
}


def request(number: int) -> Request:
    return Request(body=bytes([number]) * 100, samples=10, newest=float(number))


async def queued(store: FakeStore, counts: Counts, *numbers: int, limit: int = 10_000) -> None:
    """Queue requests and wait until the queue is empty."""
    settings = RemoteWrite(url=f"{store.url}/write", timeout_s=1.0)
    peer = Peer(settings)
    line = shard(peer, counts, limit, 0.05)
    for number in numbers:
        line.enqueue(request(number))
    running = asyncio.create_task(line.run())
    try:
        await soon(lambda: line.empty)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        peer.close()


def failing(*codes: int, **headers: str) -> Any:
    """Answers with these codes first."""
    left = list(codes)

    def fail(_path: str, _form: dict[str, str]) -> web.Response | None:
        return web.Response(status=left.pop(0), text="no room", headers=headers) if left else None

    return fail


def test_a_request_is_sent_again_until_it_is_taken() -> None:
    async def main() -> None:
        counts = Counts()
        async with fake_store() as store:
            store.fail = failing(500, 503, 429)
            await queued(store, counts, 1, 2)
            assert [body[0] for _, body in store.written] == [1, 1, 1, 1, 2]
        assert (counts.sent, counts.failed, counts.retries) == (20, 0, 3)
        assert (counts.bytes, counts.newest) == (200, 2.0)

    asyncio.run(main())


def test_retry_after_is_kept() -> None:
    async def main() -> None:
        counts = Counts()
        async with fake_store() as store:
            store.fail = failing(429, **{"Retry-After": "1"})
            await queued(store, counts, 1)
            (first, _), (second, _) = store.written
            assert second - first >= 1.0

    asyncio.run(main())


def test_a_refused_request_is_counted_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        counts = Counts()
        async with fake_store() as store:
            store.fail = failing(400, 400)
            with caplog.at_level(logging.INFO):
                await queued(store, counts, 1, 2, 3)
        assert (counts.sent, counts.failed, counts.retries) == (10, 20, 0)
        messages = [record.getMessage() for record in caplog.records]
        assert [text for text in messages if "refused" in text] == [
            "remote write is refused code=400: answered 400: no room"
        ]

    asyncio.run(main())


def test_what_is_refused_is_reported_after_waiting_too(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with fake_store() as store:
            store.fail = failing(503, 400, 503, 400)
            await queued(store, Counts(), 1, 2, 3)

    with caplog.at_level(logging.INFO):
        asyncio.run(main())
    messages = [record.getMessage().partition("=")[0] for record in caplog.records]
    assert [text for text in messages if text.startswith("remote write")] == [
        "remote write waits reason",
        "remote write is refused code",
        "remote write goes well again",
    ]


def test_a_node_that_cannot_be_written_costs_no_other(
    start_hub: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    node = Encoder.node

    def odd(self: Encoder, sent: Any, found: Any, labels: Any, timestamp: int) -> list[bytes]:
        if labels["node"] == "n1":
            raise ValueError("odd")
        return node(self, sent, found, labels, timestamp)

    async def main() -> None:
        async with fake_store() as store, agent() as one, agent() as other:
            write = RemoteWrite(url=f"{store.url}/write", interval_s=0.05, fleet_metrics=False)
            file = [
                {"targets": [one.address], "labels": {"node": "n1"}},
                {"targets": [other.address], "labels": {"node": "n2"}},
            ]
            targets_file.write_bytes(msgspec.json.encode(file))
            targets = Targets(files=(str(targets_file),))
            async with start_hub(targets=targets, remote_write=write) as running:
                nodes = running.hub.fleet.nodes
                await soon(
                    lambda: [one for one in nodes.values() if one.devices] == [*nodes.values()]
                )
                await soon(lambda: bool(store.written))
                first = decoded(store.written[0][1])
                assert {labels["node"] for labels, _, _ in first} == {"n2"}

    monkeypatch.setattr(Encoder, "node", odd)
    targets_file = tmp_path / "targets.json"
    asyncio.run(main())
    assert caplog.text.count("a node cannot be written node=n1") == 1


def test_the_oldest_are_dropped_and_counted() -> None:
    async def main() -> None:
        counts = Counts()
        async with fake_store() as store:
            await queued(store, counts, 1, 2, 3, 4, limit=250)
            assert [body[0] for _, body in store.written] == [3, 4]
        assert (counts.sent, counts.dropped) == (20, 20)

    asyncio.run(main())


def test_nobody_listens() -> None:
    async def main() -> None:
        counts = Counts()
        peer = Peer(RemoteWrite(url=f"http://127.0.0.1:{free_port()}/write", timeout_s=1.0))
        line = shard(peer, counts, 1000, 0.05)
        line.enqueue(request(1))
        running = asyncio.create_task(line.run())
        await soon(lambda: counts.retries > 2)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        peer.close()
        assert line.pending == 10

    asyncio.run(main())


def test_what_is_written_is_what_the_agent_exposes(start_hub: Any) -> None:
    """Every sample has its labels in order, its value, and the time at which the node sent it."""

    async def main() -> None:
        owner = Owner(kind="job", scheduler="slurm", job_id="7", user="ada", queue="batch")
        shot = machines.snapshot(machines.view(0, owners=(owner,)))
        async with fake_store() as store, agent(shot) as one:
            labels = {"rack": "r7", "partition": "batch", "empty": "", "Zone": "a"}
            settings = {
                "targets": Targets(static=(one.address,), labels=labels),
                "remote_write": RemoteWrite(
                    url=f"{store.url}/write", interval_s=0.1, tenant="ml", fleet_metrics=False
                ),
            }
            async with start_hub(**settings):
                await soon(lambda: bool(store.written))
            headers = store.requests[0][2]
            assert {name: headers[name] for name in HEADERS} == HEADERS
            samples = decoded(store.written[0][1])
            _check_samples(samples, one.address)

    asyncio.run(main())


def _check_samples(samples: list[Any], node: str) -> None:
    by_name = {labels["__name__"]: (labels, bits, timestamp) for labels, bits, timestamp in samples}
    labels, bits, timestamp = by_name["accel_power_watts"]
    device = machines.device(0)
    assert labels == {
        "__name__": "accel_power_watts",
        "Zone": "a",
        "device": "nvidia0",
        "instance": node,
        "job": "accelwatch",
        "node": node,
        "partition": "batch",
        "rack": "r7",
        "uuid": device.uuid,
        "vendor": "nvidia",
    }
    assert bits == _bits(machines.values(0)[("power_watts",)])
    assert abs(timestamp / 1000 - SystemClock().wall()) < 60.0
    job, _, _ = by_name["accel_job_allocation_info"]
    assert (job["job_id"], job["queue"], "partition" in job) == ("7", "batch", True)
    counted = Counter(tuple(sorted(labels.items())) for labels, _, _ in samples)
    assert set(counted.values()) == {1}


def _bits(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def test_nothing_is_written_of_a_node_that_reports_nothing_new(start_hub: Any) -> None:
    async def main() -> None:
        async with fake_store() as store, agent() as one:
            write = RemoteWrite(url=f"{store.url}/write", interval_s=0.05, fleet_metrics=False)
            targets = Targets(static=(one.address,))
            async with start_hub(targets=targets, remote_write=write):
                await soon(lambda: bool(store.written))
                await asyncio.sleep(0.2)
                timestamps = {
                    timestamp for _, body in store.written for _, _, timestamp in decoded(body)
                }
                count = len(store.written)
                assert len(timestamps) == count

    asyncio.run(main())


def test_a_series_that_vanishes_ends(start_hub: Any) -> None:
    async def main() -> None:
        async with fake_store() as store, agent() as one:
            write = RemoteWrite(url=f"{store.url}/write", interval_s=0.05, fleet_metrics=False)
            targets = Targets(static=(one.address,))
            async with start_hub(targets=targets, remote_write=write):
                await soon(lambda: bool(store.written))
                lost = machines.lost_view(1)
                one.feed.put(machines.snapshot(machines.view(0), lost))
                await soon(lambda: _ends(store) >= {"accel_power_watts", "accel_utilization_ratio"})
                assert "accel_device_up" not in _ends(store)

    asyncio.run(main())


def _ends(store: FakeStore) -> set[str]:
    """Families of the second device that have come to an end."""
    return {
        labels["__name__"]
        for _, body in store.written
        for labels, bits, _ in decoded(body)
        if bits == STALE_BITS and labels.get("uuid") == machines.device(1).uuid
    }


def test_settings_that_do_not_fit_together() -> None:
    good = Store(url="http://a:9090/prometheus")
    bad_stores = (
        msgspec.structs.replace(good, url="ftp://a"),
        msgspec.structs.replace(good, url="http://ada:secret@a"),
        msgspec.structs.replace(good, url="http://:secret@a"),
        msgspec.structs.replace(good, url="http://[::1"),
        msgspec.structs.replace(good, url="http://a:99999"),
        msgspec.structs.replace(good, url="http://ü..x:9090"),
        msgspec.structs.replace(good, tls_config=TlsConfig(ca_file="ca.pem")),
        msgspec.structs.replace(good, matchers='job="a"} or {job=~".*"'),
        msgspec.structs.replace(good, node_labels=("instance",)),
        msgspec.structs.replace(good, headers={"Authorization": "x"}),
        msgspec.structs.replace(good, headers={"X-A": "b\nc"}),
        msgspec.structs.replace(good, tenant="a\nb"),
    )
    check_peers(good, RemoteWrite(url="http://b:8428/api/v1/write"))
    for store in bad_stores:
        with pytest.raises(ConfigError) as caught:
            check_peers(store, RemoteWrite())
        assert "secret" not in str(caught.value)
    with pytest.raises(ConfigError, match="reads from"):
        check_peers(good, RemoteWrite(url="http://a:9090/api/v1/write"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"headers": {"X-A": " b"}}, "headers.X-A: remove the blanks around the value"),
        ({"headers": {"X-A": "a", "X-B": "b "}}, "headers.X-B: remove the blanks"),
        ({"headers": {"X-A": "ä"}}, "headers.X-A: a value is one line of ASCII"),
        ({"tenant": "ml "}, "tenant: remove the blanks around the value"),
    ],
)
def test_a_value_that_no_request_can_carry_is_refused_with_its_key(
    given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=rf"^prometheus\.{message}"):
        check_peers(Store(url="http://a:9090", **given), RemoteWrite())


def test_a_value_may_hold_blanks_and_be_empty() -> None:
    headers = {"X-A": "a b", "X-B": ""}
    check_peers(Store(url="http://a:9090", headers=headers, tenant="m l"), RemoteWrite())
