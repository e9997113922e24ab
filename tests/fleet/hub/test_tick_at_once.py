"""The hub's stream between two of its moments: a tick that somebody wants at once."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import msgspec
import pytest

from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.targets.settings import Targets
from accelwatch.web.http.stream import NDJSON
from support.fleet.hub_peers import Running, agent, served_hub
from support.machines import composed as machines


async def _ticks() -> list[dict[str, Any]]:
    """Of a stream that is opened before its only node answers; the hub's own next tick is far away."""
    seen: list[dict[str, Any]] = []
    async with agent(machines.snapshot(machines.view(0), machines.view(1))) as one:
        settings = HubSettings(targets=Targets(static=(one.address,)))
        async with served_hub(settings, interval_s=3600.0) as running:
            headers = {"Accept": NDJSON}
            async with running.session.get(f"{running.base}/v1/stream", headers=headers) as answer:
                async for line in answer.content:
                    message = msgspec.json.decode(line)
                    if message["type"] != "tick":
                        continue
                    seen.append(message)
                    if len(seen) == 3:
                        break
                    await running.until(partial(_has_answered, running))
                    running.server.tick_now()
    return seen


def _has_answered(running: Running) -> bool:
    return any(node.devices for node in running.hub.fleet.nodes.values())


def test_it_comes_at_once_as_often_as_it_is_wanted_and_with_what_is_known_then() -> None:
    ticks = asyncio.run(asyncio.wait_for(_ticks(), 60.0))
    assert [tick["sequence"] for tick in ticks] == [1, 2, 3]
    assert [tick["fleet"]["devices_total"] for tick in ticks[1:]] == [2, 2]
    assert [len(tick["devices"]) for tick in ticks[1:]] == [2, 2]


async def _decoded(query: str) -> list[int]:
    """What the node had reported, as a number, for each time it was decoded for a first tick."""
    notified: list[int] = []
    async with agent() as one:
        settings = HubSettings(targets=Targets(static=(one.address,)))
        async with served_hub(settings, interval_s=3600.0) as running:
            await running.devices(one.address, 8)
            planes, node = running.hub.fleet.table.planes, running.hub.fleet.nodes[one.address]
            put = planes.store

            def noted(rows: Sequence[int], block: Any) -> None:
                notified.append(node.version)
                put(rows, block)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(planes, "store", noted)
                headers = {"Accept": NDJSON}
                url = f"{running.base}/v1/stream{query}"
                async with running.session.get(url, headers=headers) as answer:
                    async for line in answer.content:
                        if msgspec.json.decode(line)["type"] == "tick":
                            break
    return notified


@pytest.mark.parametrize("query", ["", "?fields=power_limit_watts.enforced"])
def test_sums_and_first_tick_decode_what_was_reported_once(query: str) -> None:
    decoded = asyncio.run(asyncio.wait_for(_decoded(query), 60.0))
    assert decoded
    assert len(set(decoded)) == len(decoded)


class SlowClient:
    """Takes everything, and says for a while that it has not."""

    headers: Mapping[str, str] = MappingProxyType({})

    def __init__(self) -> None:
        self.left = 0
        self.ticks: list[int] = []
        self.notified = asyncio.Event()

    def backlog(self) -> int:
        return self.left

    async def write(self, data: bytes) -> None:
        for line in data.splitlines():
            message = msgspec.json.decode(line)
            if message["type"] == "tick":
                self.ticks.append(message["sequence"])
                self.notified.set()

    async def tick(self) -> None:
        await self.notified.wait()
        self.notified.clear()


async def _slow() -> list[int]:
    client = SlowClient()
    async with served_hub(HubSettings(targets=Targets()), interval_s=3600.0) as running:
        streams = running.server._streams
        sending = asyncio.create_task(streams.send(NDJSON, client, {}, 3600.0))
        await client.tick()
        client.left = 1
        for _ in range(3):
            running.server.tick_now()
            await asyncio.sleep(0.05)
        client.left = 0
        await client.tick()
        sending.cancel()
    return client.ticks


def test_who_was_slow_gets_the_newest_as_soon_as_he_has_read_what_was_before_it() -> None:
    first, second = asyncio.run(asyncio.wait_for(_slow(), 60.0))
    assert (first, second > 1) == (1, True)
