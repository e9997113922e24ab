"""One node of a hub on the Local screen: as its agent reports it, silent, forgotten, unreachable."""

import asyncio
from pathlib import Path

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.fleet.hub.model import State
from accelwatch.fleet.picture.source import SnapshotSource
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import BackendState, Snapshot
from support.fleet.hub_peers import agent, hub
from support.fleet.hub_sources import follow, running, until
from support.machines import composed as machines


def seen(source: SnapshotSource) -> Snapshot:
    shot = source.snapshot()
    assert shot is not None
    return shot


def stale(shot: Snapshot) -> bool:
    return all(
        view.state is DeviceState.UNRESPONSIVE
        and view.health is Health.UNKNOWN
        and view.reading.absent == {("*",): Absence.STALE}
        for view in shot.devices
    )


def test_a_node_is_shown_as_its_agent_reports() -> None:
    async def main() -> None:
        async with (
            agent() as one,
            hub(one.address) as fleet_hub,
            follow(fleet_hub.base) as source,
        ):
            await fleet_hub.devices(one.address, 8)
            node = source.open_node(one.address)
            assert (node.local, node.recorded, node.snapshot()) == (False, False, None)
            async with running(node):
                await until(node.snapshot)
                shot = seen(node)
        assert shot.host == one.address
        assert [view.device for view in shot.devices] == [machines.device(i) for i in range(8)]
        assert shot.devices[2].reading.values == machines.values(2)
        assert shot.devices[2].state is DeviceState.OK
        assert shot.devices[2].sample_age_s is not None

    asyncio.run(main())


def test_a_silent_node_has_stale_devices_that_grow_older_and_says_why() -> None:
    async def main() -> None:
        state = State(slow_s=1.0, stale_s=1.001, down_s=1.002)
        async with (
            agent() as one,
            hub(one.address, state=state) as fleet_hub,
            follow(fleet_hub.base) as source,
        ):
            await fleet_hub.devices(one.address, 8)
            await one.server.stop(0.1)
            node = source.open_node(one.address)
            async with running(node):
                node.set_interval(0.5)
                await until(lambda: node.snapshot() and stale(seen(node)))
                shot = seen(node)
                (reason,) = shot.devices[0].health_reasons
                assert reason.startswith(f"{one.address} is ")
                assert shot.devices[0].device == machines.device(0)
                backend = shot.backends[-1]
                assert (backend.name, backend.state) == ("hub", BackendState.UNAVAILABLE)
                age = shot.devices[0].sample_age_s
                assert age is not None
                await until(lambda: (seen(node).devices[0].sample_age_s or 0) > age)

    asyncio.run(main())


def test_a_node_that_the_hub_forgets_stays_and_says_so(tmp_path: Path) -> None:
    targets = tmp_path / "targets.json"

    async def main() -> None:
        async with agent() as one:
            targets.write_bytes(msgspec.json.encode([{"targets": [one.address]}]))
            async with hub(files=(str(targets),)) as fleet_hub, follow(fleet_hub.base) as source:
                await fleet_hub.devices(one.address, 8)
                node = source.open_node(one.address)
                async with running(node):
                    await until(node.snapshot)
                    targets.write_text("[]")
                    await until(lambda: fleet_hub.hub.fleet.nodes[one.address].unlisted)
                    await source.acknowledge(one.address, None)
                    reason = f"the hub does not know {one.address} any more"
                    await until(lambda: seen(node).devices[0].health_reasons == (reason,))
                    assert stale(seen(node))
                    assert seen(node).errors[-1].message == reason

    asyncio.run(main())


def test_without_the_hub_ages_grow_and_then_all_is_stale() -> None:
    async def main() -> None:
        clock = ManualClock()
        async with agent() as one, hub(one.address) as fleet_hub:
            await fleet_hub.devices(one.address, 8)
            async with follow(fleet_hub.base, clock=clock) as source:
                node = source.open_node(one.address)
                async with running(node):
                    await until(node.snapshot)
                    fresh = seen(node).devices[0]
                    await fleet_hub.server.http.stop(0.1)
                    clock.advance(2.0)
                    await until(lambda: (seen(node).devices[0].sample_age_s or 0) > 2.0)
                    assert seen(node).devices[0].reading == fresh.reading
                    clock.advance(2.0)
                    await until(lambda: stale(seen(node)))
                    assert "cannot connect" in seen(node).backends[-1].message

    asyncio.run(main())


def test_a_node_that_nobody_knows_is_an_empty_picture_with_the_reason() -> None:
    async def main() -> None:
        async with hub() as fleet_hub, follow(fleet_hub.base) as source:
            node = source.open_node("n/1?")
            async with running(node):
                await until(node.snapshot)
                shot = seen(node)
        assert (shot.host, shot.devices) == ("n/1?", ())
        assert shot.backends[0].message == "the hub does not know n/1? any more"

    asyncio.run(main())
