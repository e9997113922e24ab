"""A hub with the nodes of a Backend.AI manager: both pages of a node are one, sessions are jobs."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from accelwatch.fleet.hub.model import effective
from accelwatch.fleet.hub.reloading import read_again
from accelwatch.schema.snapshot import Owner, Snapshot
from support.fleet.hub_peers import Running, agent, hub
from support.machines import composed as machines

SESSION = "5a0e0000-0000-4000-8000-000000000007"
PROJECT = "5a0e0000-0000-4000-8000-00000000000a"


def in_session() -> Snapshot:
    """A node all of whose devices a session has."""
    owner = Owner(
        kind="job",
        scheduler="backendai",
        job_id=SESSION,
        user="ada",
        account=PROJECT,
        job_name="llama",
    )
    views = [msgspec.structs.replace(machines.view(index), owners=(owner,)) for index in range(8)]
    return machines.snapshot(*views)


def page(agent_id: str, devices: int) -> str:
    """What Backend.AI's agent with the open CUDA plug-in shows."""
    return "".join(
        f'backendai_device_utilization{{agent_id="{agent_id}",device_id="{at}",'
        f'device_metric_name="cuda_{metric}",value_type="{value}"}} {number}\n'
        for at in range(devices)
        for metric, value, number in (
            ("mem", "current", "8.0038330767e+010"),
            ("mem", "capacity", "8.589934592e+010"),
            ("util", "current", "12.0"),
        )
    )


@contextlib.asynccontextmanager
async def cluster(pages: Mapping[str, str]) -> AsyncIterator[str]:
    """A manager's page for each agent's name, and the pages of the agents themselves."""

    async def handle(request: web.Request) -> web.Response:
        name = request.path.rpartition("/")[2]
        if request.path.startswith("/agents/"):
            return web.Response(text=pages[name])
        labels = {"service_group": "agent", "version": "26.9.6", "display_name": f"agent-{name}"}
        path = {"__metrics_path__": f"/agents/{name}"}
        return web.json_response([{"targets": [request.host], "labels": labels | path}])

    application = web.Application()
    application.router.add_get("/{path:.*}", handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def follow(running: Running, file: Path, sections: list[dict[str, Any]]) -> None:
    """Follow what these sections discover."""
    usual = {"refresh_interval": "1s"}
    settings = {"targets": {"backendai": [usual | section for section in sections]}}
    file.write_bytes(msgspec.yaml.encode(settings))
    await read_again(running.server, lambda: effective(file))


async def both(running: Running, node: str) -> None:
    """Wait until both pages of a node were read."""
    sources = running.hub.fleet.nodes[node].sources
    expected = {"accelwatch", "backendai-nvidia+backendai"}
    await running.until(lambda: {source.dialect for source in sources.values()} == expected)


def test_both_pages_of_a_node_are_one_and_a_session_is_one_job(tmp_path: Path) -> None:
    names = ("i-gpu1", "i-gpu2")

    async def main() -> None:
        async with (
            agent(in_session()) as first,
            agent(in_session()) as second,
            cluster({name: page(name, 8) for name in names}) as url,
            hub() as running,
        ):
            sections = [
                {"url": f"{url}/targets/{name}", "agent_port": one.port}
                for name, one in zip(names, (first, second), strict=True)
            ]
            await follow(running, tmp_path / "hub.yaml", sections)
            for name in names:
                await running.devices(name, 8)
                node = running.hub.fleet.nodes[name]
                await both(running, name)
                await running.devices(name, 8)
                assert not list(node.missing())
            found = await running.get(f'/v1/devices?filter=job=="{SESSION}"')
            assert {device["node"] for device in found["devices"]} == set(names)
            assert len(found["devices"]) == 16
            assert {device["user"] for device in found["devices"]} == {"ada"}
            assert {device["account"] for device in found["devices"]} == {PROJECT}
            named = await running.get('/v1/devices?filter=job_name=="llama"')
            assert [device["job_name"] for device in named["devices"]] == ["llama"] * 16
            (group,) = (await running.get("/v1/groups?by=job"))["groups"]
            assert (group["group"], group["nodes"]) == (SESSION, {"up": 2})

    asyncio.run(main())


def test_a_node_without_our_agent_has_what_the_platform_reports(tmp_path: Path) -> None:
    async def main() -> None:
        async with cluster({"i-gpu1": page("i-gpu1", 2)}) as url, hub() as running:
            section = {"url": f"{url}/targets/i-gpu1", "agent_port": None}
            await follow(running, tmp_path / "hub.yaml", [section])
            await running.devices("i-gpu1", 2)
            found = list(running.hub.fleet.nodes["i-gpu1"].devices.values())
            assert [view.device.name for view in found] == ["nvidia0", "nvidia1"]
            assert [view.number(("memory_used_bytes",)) for view in found] == [80038330767] * 2

    asyncio.run(main())


def test_a_device_stays_when_our_agent_comes_to_the_node(tmp_path: Path) -> None:
    """By its number alone at first, then by its uuid: no device is missing, none is there twice."""

    async def main() -> None:
        async with (
            agent() as one,
            cluster({"i-gpu1": page("i-gpu1", 8)}) as url,
            hub() as running,
        ):
            section = {"url": f"{url}/targets/i-gpu1", "agent_port": None}
            await follow(running, tmp_path / "hub.yaml", [section])
            await running.devices("i-gpu1", 8)
            node = running.hub.fleet.nodes["i-gpu1"]
            assert {view.device.uuid for view in node.devices.values()} == {None}
            await follow(running, tmp_path / "hub.yaml", [section | {"agent_port": one.port}])
            await running.until(lambda: all(view.device.uuid for view in node.devices.values()))
            assert len(node.devices) == 8
            assert not list(node.missing())

    asyncio.run(main())


def test_agents_of_one_address_are_a_problem_of_the_hub(tmp_path: Path) -> None:
    async def handle(_: web.BaseRequest) -> web.StreamResponse:
        labels = {"service_group": "agent", "version": "26.1.0"}
        groups = [
            {"targets": ["127.0.0.1:1"], "labels": labels | {"display_name": f"agent-i-gpu{at}"}}
            for at in (1, 2)
        ]
        return web.json_response(groups)

    async def main() -> None:
        runner = web.ServerRunner(web.Server(handle), shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(runner.cleanup)
            running = await stack.enter_async_context(hub())
            url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            await follow(running, tmp_path / "hub.yaml", [{"url": url, "agent_port": None}])
            await running.until(
                lambda: any("i-gpu2" in text for text in running.hub.fleet.lacking())
            )
            assert running.hub.fleet.nodes == {}
            text = await running.get("/metrics")
            assert 'accel_fleet_discovery_up{discovery="backendai"} 1' in text

    asyncio.run(main())
