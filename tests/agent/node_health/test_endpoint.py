"""The health check as the configuration changes, and how often devices are looked at for it."""

import asyncio
from pathlib import Path

import pytest

from accelwatch.agent.node_health.endpoint import HealthEndpoint
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import AccelwatchError
from accelwatch.config.node_health import NodeHealth
from support.machines import composed as machines
from support.servers.fake_feed import FakeFeed
from support.servers.scripted_api import answered, scripted


def endpoint_of(feed: FakeFeed, clock: ManualClock) -> HealthEndpoint:
    return HealthEndpoint(feed.snapshot, tuple, clock)


def test_settings_that_cannot_be_used_leave_the_previous_ones(tmp_path: Path) -> None:
    feed = FakeFeed(machines.snapshot())

    async def script() -> None:
        endpoint = endpoint_of(feed, ManualClock(1000.0))
        await endpoint.change(NodeHealth(socket=str(tmp_path / "s")))
        with pytest.raises(AccelwatchError, match="cannot listen on"):
            await endpoint.change(NodeHealth(socket=str(tmp_path / "no" / "s")))
        assert (tmp_path / "s").is_socket()
        await endpoint.change(NodeHealth())
        assert not (tmp_path / "s").exists()

    asyncio.run(script())


def test_many_requests_are_one_look_at_the_devices(tmp_path: Path) -> None:
    feed, clock = FakeFeed(machines.snapshot()), ManualClock(1000.0)

    async def script() -> None:
        endpoint = endpoint_of(feed, clock)
        for _ in range(1000):
            assert await endpoint.failures() == ()
        assert feed.taken == 1
        feed.put(machines.snapshot(machines.lost_view(3)))
        clock.advance(0.6)
        assert await endpoint.failures() == ("nvidia3: GPU has fallen off the bus",)

    asyncio.run(script())


def test_what_the_hub_says_comes_besides(tmp_path: Path) -> None:
    feed = FakeFeed(machines.snapshot(machines.lost_view(3)))
    held = {"nodes": [{"node": "n01", "reasons": [{"text": "held for incident i7"}]}]}

    async def script() -> None:
        async with scripted(answered(200, held)) as hub:
            endpoint = endpoint_of(feed, ManualClock(1000.0))
            await endpoint.change(NodeHealth(socket=str(tmp_path / "s"), hub=hub.base))
            assert await endpoint.failures() == (
                "nvidia3: GPU has fallen off the bus",
                "held by the hub: held for incident i7",
            )
            await endpoint.change(NodeHealth(socket=str(tmp_path / "s")))
            assert await endpoint.failures() == ("nvidia3: GPU has fallen off the bus",)
            await endpoint.stop()

    asyncio.run(script())
