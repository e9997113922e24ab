"""Hubs one after the other: written by one, read by another; federated; their history."""

import asyncio
import math
import zlib
from typing import Any

import aiohttp
import pytest

from accelwatch.fleet.targets.settings import Targets
from accelwatch.fleet.tsdb.settings import Federation, RemoteWrite, Store
from support.fleet.hub_peers import Agent, Running, agent
from support.machines import composed as machines

NODES = ("n001", "n002")


def reading(url: str, **more: Any) -> Store:
    return Store(url=url, interval_s=0.3, timeout_s=10.0, max_backoff_s=0.5, **more)


async def keep_telling(*agents: Agent) -> None:
    """Agents report again and again, else nothing new is written."""
    while True:
        for one in agents:
            one.feed.put(one.feed.snapshot())
        await asyncio.sleep(0.1)


def at_second_node() -> Any:
    """Other devices than those of the first node."""
    views = []
    for index in range(3):
        device = machines.device(index, uuid=f"GPU-2222222{index}", id=f"nvidia:GPU-2222222{index}")
        views.append(machines.view(index, device=device))
    return machines.snapshot(*views)


def power(running: Running) -> dict[str, dict[str, Any]]:
    nodes = running.hub.fleet.nodes
    return {
        name: {key: held.number(("power_watts",)) for key, held in nodes[name].devices.items()}
        for name in sorted(nodes)
    }


async def alike(one: Running, other: Running) -> None:
    def same() -> bool:
        found = power(one)
        return found == power(other) and sum(map(len, found.values())) == 11

    await one.until(same)


@pytest.mark.parametrize("kind", ["prometheus", "victoria"])
def test_what_one_hub_writes_another_reads(stores: Any, start_hub: Any, kind: str) -> None:
    async def main() -> None:
        # Without the flag this version leaves the newest 30 s out of a history.
        flags = {"flags": ["-search.latencyOffset=1ms"]} if kind == "victoria" else {}
        store_ = getattr(stores, kind)(**flags)
        async with store_ as store, agent() as one, agent(at_second_node()) as two:
            telling = asyncio.create_task(keep_telling(one, two))
            write = RemoteWrite(url=f"{store.url}/api/v1/write", interval_s=0.3)
            targets = Targets(static=(one.address, two.address), labels={"rack": "r7"})
            async with (
                start_hub(targets=targets, remote_write=write) as first,
                start_hub(prometheus=reading(store.url)) as second,
            ):
                await alike(first, second)
                node = await _up(second, one.address)
                assert node["labels"]["rack"] == "r7"
                await _has_history(second, one.address)
                telling.cancel()
                await one.server.stop(0.0)
                await second.until(lambda: _age(second, one.address) > 3.0)
                assert len(second.hub.fleet.nodes[one.address].devices) == 8

    asyncio.run(main())


async def _up(running: Running, node: str) -> Any:
    """The node once it is up: a store may be late for a moment."""
    async with asyncio.timeout(60.0):
        while (found := await running.get(f"/v1/nodes/{node}"))["state"] != "up":
            await asyncio.sleep(0.1)
    return found


def _age(running: Running, node: str) -> float:
    held = running.hub.fleet.nodes[node]
    return held.age_s(running.hub.fleet.clock.monotonic()) or 0.0


async def _has_history(running: Running, node: str) -> None:
    device = machines.device(1).id
    path = f"/v1/nodes/{node}/history?device={device}&range=30s&step=1s"
    values: list[float] = []
    async with asyncio.timeout(60.0):
        while not values:
            found = await running.get(path)
            assert (found["step_s"], len(found["values"]["power_watts"])) == (1, 30)
            values = [value for value in found["values"]["power_watts"] if value is not None]
            await asyncio.sleep(0.1)
    assert set(values) == {machines.values(1)[("power_watts",)]}
    refused = await running.get(f"/v1/nodes/{node}/history?device={device}&range=9999d", 400)
    assert "range" in refused


def test_prometheus_stores_the_whole_federation(stores: Any, start_hub: Any) -> None:
    async def main() -> None:
        async with agent() as one, agent(at_second_node()) as two:
            targets = Targets(static=(one.address, two.address), labels={"rack": "r7"})
            async with start_hub(targets=targets, federation=Federation(enabled=True)) as first:
                address = first.base.removeprefix("http://")
                await first.devices(one.address, 8)
                await first.devices(two.address, 3)
                jobs = [
                    {
                        "job_name": path.strip("/"),
                        "metrics_path": path,
                        "honor_labels": True,
                        "static_configs": [{"targets": [address]}],
                    }
                    for path in ("/metrics", "/federate")
                ]
                async with stores.prometheus(*jobs) as store:
                    scraped = 'up{job=~"metrics|federate"} == 1'
                    await store.until(scraped, lambda found: len(found) == 2)
                    await _every_sample(store, first)
                    async with start_hub(prometheus=reading(store.url)) as second:
                        await alike(first, second)

    asyncio.run(main())


async def _every_sample(store: Any, first: Running) -> None:
    """Each line of both pages is stored, with its labels and value."""
    stored = {
        "metrics": 'count({job="metrics",__name__=~"accel_.+"})',
        "federate": 'count({job="accelwatch",__name__=~"accel_.+|up"})',
    }
    for job, count in stored.items():
        queries = (
            f'scrape_samples_scraped{{job="{job}"}}',
            f'scrape_samples_post_metric_relabeling{{job="{job}"}}',
            count,
        )
        counted: list[float | None] = []
        # A series that came after the last scrape is in the next.
        async with asyncio.timeout(60.0):
            while len({*counted}) != 1:
                await asyncio.sleep(0.1)
                lines = (await first.get(f"/{job}")).splitlines()
                counted = [await store.number(query) for query in queries]
                counted.append(sum(line[:1] != "#" for line in lines))
    (found,) = await store.query(f'accel_power_watts{{uuid="{machines.device(1).uuid}"}}')
    assert float(found["value"][1]) == machines.values(1)[("power_watts",)]
    assert found["metric"]["rack"] == "r7"
    log = store.log.read_text()
    assert "duplicate" not in log
    assert "Error on ingesting" not in log


async def _is_one_gzip_stream(running: Running, text: str) -> None:
    """Clients that know of no more than one stream see the whole text."""
    packed = {"Accept-Encoding": "gzip"}
    async with (
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.get(f"{running.base}/federate", headers=packed) as answer,
    ):
        body = await answer.read()
    one = zlib.decompressobj(16 + zlib.MAX_WBITS)
    found = one.decompress(body).decode()
    assert (one.eof, one.unused_data) == (True, b"")
    assert found.count("\n") == text.count("\n")


def test_federation_is_off_unless_it_is_wanted(start_hub: Any) -> None:
    async def main() -> None:
        async with agent() as one:
            targets = Targets(static=(one.address,))
            async with start_hub(targets=targets) as running:
                text = await running.get("/federate", 404)
                assert "federation.enabled" in text
            on = Federation(enabled=True, profile="minimal")
            async with start_hub(targets=targets, federation=on) as running:
                await running.devices(one.address, 8)
                few = await running.get("/federate")
                whole = await running.get("/federate?profile=default")
                assert few.count("\n") < whole.count("\n")
                plain = {"Accept-Encoding": "identity"}
                assert await running.get("/federate", headers=plain) == few
                await _is_one_gzip_stream(running, few)
                strict = await running.get(
                    "/federate", headers={"Accept": "application/openmetrics-text"}
                )
                assert strict.endswith("# EOF\n")
                await running.get("/federate?profile=all", 400)
                families = [line.split()[2] for line in few.splitlines() if line[:6] == "# TYPE"]
                assert len(families) == len(set(families))
                names = [line.partition("{")[0] for line in few.splitlines() if line[:1] != "#"]
                assert list(dict.fromkeys(names)) == families
                values = [
                    float(line.rpartition(" ")[2]) for line in few.splitlines() if line[0] != "#"
                ]
                assert not any(map(math.isnan, values))

    asyncio.run(main())
