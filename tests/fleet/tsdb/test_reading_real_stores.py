"""The hub reading a real Prometheus or VictoriaMetrics that scrapes simulated exporters."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from accelwatch.fleet.hub.model import State
from accelwatch.fleet.targets.settings import Targets
from accelwatch.fleet.tsdb.settings import Store
from accelwatch.schema.metrics import Series
from support.fleet.hub_peers import Running

STATIC: tuple[Series, ...] = (
    ("memory_size_bytes",),
    ("power_limit_watts", "enforced"),
    ("ecc_errors_total", "uncorrected"),
)


def fast(url: str, **more: Any) -> Store:
    return Store(url=url, interval_s=0.3, timeout_s=10.0, max_backoff_s=0.5, **more)


def seen(running: Running) -> dict[str, dict[str, dict[object, object]]]:
    """Every device of every node with what does not move."""
    return {
        name: {
            held.device.uuid or held.device.id: {
                "state": held.state,
                "model": held.device.model,
                "index": held.device.index,
                **{series: held.number(series) for series in STATIC},
            }
            for held in sorted(node.devices.values(), key=lambda one: one.device.index)
        }
        for name, node in running.hub.fleet.nodes.items()
    }


async def whole(running: Running, nodes: int, devices: int) -> None:
    def there() -> bool:
        held = running.hub.fleet.nodes.values()
        return len(held) == nodes and all(len(node.devices) == devices for node in held)

    await running.until(there)


@pytest.mark.parametrize("kind", ["prometheus", "victoria"])
def test_a_store_reports_what_its_targets_report(
    stores: Any, start_exporters: Any, start_hub: Any, kind: str
) -> None:
    async def main() -> None:
        async with start_exporters(dialect="mixed", nodes=8) as exporters:
            static = tuple(group["targets"][0] for group in exporters.groups)
            down = {"targets": ["127.0.0.1:1"], "labels": {"node": "n999", "rack": "r09"}}
            job = exporters.job(static_configs=[*exporters.groups, down])
            async with (
                getattr(stores, kind)(job) as store,
                _both(start_hub, store, kind, static) as (
                    stored,
                    scraping,
                ),
            ):
                await running_alike(stored, scraping)
                document = await stored.get("/v1/nodes/n001")
                assert (document["targets"][0]["mode"], document["labels"]["rack"]) == (
                    "prometheus",
                    "r01",
                )
                await stored.until(lambda: stored.fault("n999") == "connect")
                document = await stored.get("/v1/nodes/n999")
                assert (document["state"], document["labels"]["rack"]) == ("never", "r09")
                assert "up is 0" in document["targets"][0]["fault"]["message"]

    asyncio.run(main())


@contextlib.asynccontextmanager
async def _both(
    start_hub: Any, store: Any, kind: str, static: tuple[str, ...]
) -> AsyncIterator[tuple[Running, Running]]:
    """A hub that reads the store and one that asks the exporters themselves."""
    if kind == "victoria":
        await store.settled(1000)
    async with (
        start_hub(prometheus=fast(store.url)) as stored,
        start_hub(targets=Targets(static=static)) as scraping,
    ):
        yield stored, scraping


async def running_alike(stored: Running, scraping: Running) -> None:
    """Nodes, devices, values and states through the store become those of the exporters themselves.

    A store finds the series of one scrape one after another, so what it has not yet found is waited for.
    """

    def known(running: Running, nodes: int) -> bool:
        held = [len(node.devices) for node in running.hub.fleet.nodes.values()]
        return held.count(4) == nodes

    def unlike() -> dict[str, object]:
        """What the store reports otherwise than the exporters, by node."""
        of_store = seen(stored)
        by_first = {next(iter(devices)): devices for devices in seen(scraping).values()}
        return {
            name: of_store[name]
            for name in sorted(names)
            if of_store[name] != by_first[next(iter(of_store[name]))]
        }

    names = {f"n{number:03d}" for number in range(1, 9)}
    await scraping.until(lambda: known(scraping, 8))
    await stored.until(lambda: known(stored, 8))
    assert names <= set(seen(stored)) <= names | {"n999"}
    with contextlib.suppress(TimeoutError):
        await stored.until(lambda: not unlike())
    assert not unlike()
    dialects = {stored.source(name).dialect for name in names}
    assert dialects == {scraping.source(name).dialect for name in scraping.hub.fleet.nodes}
    assert len(dialects) == 4


def test_a_target_that_goes_down_keeps_its_devices_with_their_age(
    stores: Any, start_exporters: Any, start_hub: Any
) -> None:
    async def main() -> None:
        gone = start_exporters(nodes=1, dialect="own")
        state = State(slow_s=1.0, stale_s=2.0, down_s=3.0)
        async with start_exporters(nodes=2, dialect="own", seed=5) as staying:
            leaving = await gone.__aenter__()
            leaving.groups[0]["labels"]["node"] = "leaving"
            job = staying.job()
            job["static_configs"] = [*job["static_configs"], *leaving.groups]
            async with (
                stores.prometheus(job, interval="300ms") as store,
                start_hub(prometheus=fast(store.url), state=state) as running,
            ):
                await whole(running, 3, 4)
                await gone.__aexit__(None, None, None)
                await running.until(lambda: running.fault("leaving") == "connect")
                node = running.hub.fleet.nodes["leaving"]
                await running.until(lambda: running.hub.fleet.state_of(node) == "down")
                assert len(node.devices) == 4
                page = await running.get("/v1/devices?filter=node=='leaving'")
                assert {row["state"] for row in page["devices"]} == {"unreachable"}
                assert all(row["sample_age_s"] > 1.0 for row in page["devices"])
                fresh = running.hub.fleet.nodes["n001"]
                # The store may be late for a moment.
                await running.until(lambda: running.hub.fleet.state_of(fresh) == "up")

    asyncio.run(main())
