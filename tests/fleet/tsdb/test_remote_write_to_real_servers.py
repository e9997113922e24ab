"""The hub writing to a real VictoriaMetrics and a real Prometheus, and what these then answer."""

import asyncio
import re
from typing import Any

import pytest

from accelwatch.fleet.hub.model import State
from accelwatch.fleet.targets.settings import HttpSd, Targets
from accelwatch.fleet.tsdb.settings import RemoteWrite
from accelwatch.schema.reading import Reading, complete
from support.fleet.hub_peers import Agent, agent
from support.machines import composed as machines

UUID = machines.device(1).uuid


def writing(url: str, **more: Any) -> RemoteWrite:
    return RemoteWrite(url=url, interval_s=0.3, timeout_s=60.0, max_backoff_s=0.5, **more)


async def keep_telling(one: Agent) -> None:
    """Agents report again and again, else nothing new is written."""
    while True:
        one.feed.put(one.feed.snapshot())
        await asyncio.sleep(0.1)


@pytest.mark.parametrize("kind", ["prometheus", "victoria"])
def test_a_server_has_every_value_and_its_end(stores: Any, start_hub: Any, kind: str) -> None:
    asyncio.run(_written(getattr(stores, kind)(), start_hub, kind))


async def _written(server: Any, start_hub: Any, kind: str) -> None:
    async with server as store, agent() as one:
        telling = asyncio.create_task(keep_telling(one))
        settings = {
            "targets": Targets(static=(one.address,), labels={"rack": "r7", "sensor": "hidden"}),
            "remote_write": writing(store.url + "/api/v1/write", labels={"hub": "pod-1"}),
            "state": State(slow_s=0.6, stale_s=1.0, down_s=1.5),
        }
        async with start_hub(**settings) as running:
            if kind == "victoria":
                await store.settled(8 * 80)
            await _values(store, one)
            await _metrics_of_the_fleet(store)
            await _a_series_ends(store, one)
            await _a_device_goes(store, one)
            telling.cancel()
            await one.server.stop(0.0)
            await store.until('accel_utilization_ratio{hub="pod-1"}', lambda found: not found)
            assert running.hub.peers.writer is not None
            counts = running.hub.peers.writer.counts
            assert counts.sent > 0
            assert (counts.failed, counts.dropped) == (0, 0)


async def _values(store: Any, one: Agent) -> None:
    await store.until("accel_device_up", lambda found: len(found) == 8)
    # A store finds the series of one write one after another.
    power = f'accel_power_watts{{uuid="{UUID}"}}'
    (found,) = await store.until(power, lambda found: len(found) == 1)
    assert float(found["value"][1]) == machines.values(1)[("power_watts",)]
    labels = {name: found["metric"][name] for name in ("node", "rack", "hub", "device", "sensor")}
    assert labels == {
        "node": one.address,
        "rack": "r7",
        "hub": "pod-1",
        "device": "nvidia1",
        "sensor": "hidden",
    }
    by_sensor = f'accel_temperature_celsius{{uuid="{UUID}"}}'
    temperatures = await store.until(by_sensor, lambda found: len(found) == 2)
    assert {found["metric"]["sensor"] for found in temperatures} == {"gpu", "memory"}
    health = f'accel_health{{uuid="{UUID}",state="ok"}} == 1'
    await store.until(health, lambda found: len(found) == 1)
    await store.until("count(accel_memory_size_bytes) == 8", lambda found: len(found) == 1)
    reported = {f"accel_{key}" for (key, *_) in machines.values(1)}
    await store.until(
        'count by (__name__) ({__name__=~"accel_.+"})',
        lambda found: reported <= {row["metric"]["__name__"] for row in found},
    )


async def _metrics_of_the_fleet(store: Any) -> None:
    up = 'accel_fleet_nodes{state="up",hub="pod-1"}'
    await store.until(up, lambda found: [row["value"][1] for row in found] == ["1"])
    sent = "accel_fleet_remote_write_samples_total > 0"
    await store.until(sent, lambda found: len(found) == 1)


async def _a_series_ends(store: Any, one: Agent) -> None:
    """A quantity that a device does not give any more is gone at once, not after five minutes."""
    views = [machines.view(index) for index in range(8)]
    values = {key: value for key, value in machines.values(1).items() if key != ("power_watts",)}
    reading = Reading(device_id=machines.device(1).id, values=values)
    views[1] = machines.view(1, reading=complete(reading, frozenset()))
    one.feed.put(machines.snapshot(*views))
    await store.until(f'accel_power_watts{{uuid="{UUID}"}}', lambda found: not found)
    assert await store.number(f'accel_device_up{{uuid="{UUID}"}}') == 1.0


async def _a_device_goes(store: Any, one: Agent) -> None:
    """A device that its node does not list any more stays as one that is not up."""
    one.feed.put(machines.snapshot(*(machines.view(index) for index in (0, 2, 3))))
    up = f'accel_device_up{{uuid="{UUID}"}}'
    await store.until(up, lambda found: [row["value"][1] for row in found] == ["0"])
    gone = f'accel_utilization_ratio{{uuid="{UUID}"}}'
    await store.until(gone, lambda found: not found)
    await store.until("count(accel_utilization_ratio) == 3", lambda found: len(found) == 1)


@pytest.mark.parametrize("kind", ["prometheus", "victoria"])
def test_a_hub_that_stops_ends_all_that_it_wrote(stores: Any, start_hub: Any, kind: str) -> None:
    asyncio.run(_stopped(getattr(stores, kind)(), start_hub, kind))


async def _stopped(server: Any, start_hub: Any, kind: str) -> None:
    everything = '{__name__=~"accel_.+|up",hub="pod-1"}'
    async with server as store, agent() as one:
        telling = asyncio.create_task(keep_telling(one))
        settings = {
            "targets": Targets(static=(one.address,)),
            "remote_write": writing(store.url + "/api/v1/write", labels={"hub": "pod-1"}),
        }
        async with start_hub(**settings):
            if kind == "victoria":
                await store.settled(8 * 80)
            await store.until("accel_device_up", lambda found: len(found) == 8)
            await store.until("accel_fleet_inventory_kept", lambda found: len(found) == 1)
        await store.until(everything, lambda found: not found)
        assert len(await store.query("last_over_time(accel_device_up[10m])")) == 8
        gone = "last_over_time(accel_fleet_inventory_kept[1h]) unless accel_fleet_inventory_kept"
        assert len(await store.query(gone)) == 1
        telling.cancel()


def test_the_hubs_own_series_are_written_as_well(stores: Any, start_hub: Any) -> None:
    """All families of /metrics but histograms: an alert must fire wherever the series went."""

    async def main() -> None:
        async with stores.prometheus() as store, agent() as one:
            settings = {
                "targets": Targets(
                    static=(one.address,), http=(HttpSd(url="http://127.0.0.1:1/"),)
                ),
                "remote_write": writing(store.url + "/api/v1/write"),
            }
            async with start_hub(**settings) as running:
                await store.until("accel_fleet_discovery_up == 0", lambda found: len(found) == 1)
                page = await running.get("/metrics")
                kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", page, re.MULTILINE))
                reported = {
                    name
                    for name in re.findall(r"^([a-z_]+)[{ ]", page, re.MULTILINE)
                    if kinds.get(name) not in (None, "histogram")
                }
                query = 'count by (__name__) ({__name__=~"accel_.+",job="accelwatch-hub"})'
                await store.until(
                    query,
                    lambda found: reported <= {series["metric"]["__name__"] for series in found},
                )
                assert "accel_fleet_discovery_targets" in reported

    asyncio.run(main())
