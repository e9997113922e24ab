"""An agent and a hub that push; what is loaded by those who do not."""

import asyncio
import subprocess
import sys

from accelwatch.agent.metrics.own_metrics import OwnMetrics
from accelwatch.agent.metrics.pushing import Pushing
from accelwatch.base.clock import SystemClock
from accelwatch.config.model import Web
from accelwatch.config.otlp import Otlp
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.targets.settings import Targets
from otlp.receiver_servers import otlp_server
from support.fleet.hub_peers import agent, served_hub
from support.machines import composed as machines
from support.servers.fake_feed import FakeFeed
from support.servers.fake_prometheus import soon


def test_an_agent_pushes_its_devices_and_what_it_says_of_pushing() -> None:
    async def main() -> None:
        feed, own = FakeFeed(machines.snapshot(machines.view(0))), OwnMetrics()
        pushing = Pushing(feed, SystemClock(), own)
        async with otlp_server() as server:
            await pushing.change(Otlp())
            assert (pushing.alive, dict(own.of_pushing())) == (True, {})
            settings = Otlp(
                endpoint=server.url,
                interval_s=0.05,
                timeout_s=60.0,
                resource_attributes={"k8s.cluster.name": "a", "service.name": "mine"},
            )
            await pushing.change(settings)
            await soon(lambda: bool(server.named("accel_otlp_points_total")))
            resource = server.named("hw.power")[0].resource
            assert resource["host.name"] == resource["service.instance.id"] == feed.snapshot().host
            assert resource["k8s.cluster.name"] == "a"
            assert resource["service.name"] == "mine"
            await soon(lambda: server.named("accel_otlp_points_total")[-1].value > 0)
            assert own.series()["otlp_points_total",] > 0
            await pushing.change(settings)
            assert pushing.alive
            await pushing.change(Otlp())
            assert dict(own.of_pushing()) == {}

    asyncio.run(main())


def test_an_odd_reading_does_not_end_pushing() -> None:
    async def main() -> None:
        feed = FakeFeed(machines.snapshot(machines.view(0)))
        pushing = Pushing(feed, SystemClock(), OwnMetrics())
        async with otlp_server() as server:
            feed.fault = ValueError("odd")
            await pushing.change(Otlp(endpoint=server.url, interval_s=0.01, timeout_s=60.0))
            await soon(lambda: feed.taken > 2)
            assert pushing.alive
            feed.fault = None
            await soon(lambda: bool(server.named("hw.power")))
            await pushing.stop()

    asyncio.run(main())


def test_a_hub_pushes_each_node_as_a_resource() -> None:
    async def main() -> None:
        async with otlp_server() as server, agent() as one:
            settings = HubSettings(
                web=Web(listen_address=("127.0.0.1:0",)),
                targets=Targets(static=(one.address,), labels={"rack": "r7"}),
                otlp=Otlp(endpoint=server.url, interval_s=0.1, timeout_s=60.0),
            )
            async with served_hub(settings, interval_s=0.2):
                await soon(lambda: bool(server.named("hw.power")))
                await soon(lambda: bool(server.named("accel_fleet_nodes")))
                resource = server.named("hw.power")[0].resource
                assert (resource["service.name"], resource["rack"]) == ("accelwatch", "r7")
                hub = server.named("accel_fleet_nodes")[0].resource
                assert hub["service.name"] == "accelwatch-hub"
                # A node that tells nothing new is not sent again.
                times = [point.time for point in server.named("hw.power")]
                assert len(set(times)) * len(machines.snapshot().devices) == len(times)

    asyncio.run(main())


def test_whoever_does_not_push_loads_nothing_of_it() -> None:
    code = (
        "import sys, accelwatch.agent.runtime, accelwatch.fleet.hub.serve\n"
        "from accelwatch.config.otlp import installed\n"
        "installed()\n"
        "ours = [name for name in sys.modules if name.startswith(('google', 'accelwatch.otlp'))]\n"
        "print(ours, [name for name in sys.modules if name.endswith('_pb2')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.strip() == "[] []"
