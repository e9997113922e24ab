"""Servers for a test, simulated exporters, hubs."""

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.base.clock import SystemClock
from accelwatch.cli.trial.sim import SimPlan, build_fleet, own_exposition
from accelwatch.config.model import Web
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch_lab.simulator.fleet import Fleet
from accelwatch_lab.simulator.serving.server import SimulatorServer
from accelwatch_lab.simulator.serving.targets import open_sockets, targets
from support.fleet.hub_peers import Running, served_hub
from support.servers.prometheus_servers import Stores


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    return Stores(tmp_path)


class Exporters:
    """Simulated exporters, one port a node."""

    def __init__(self, fleet: Fleet, groups: list[dict[str, Any]]) -> None:
        self.fleet = fleet
        # Targets with their labels, as `static_configs` takes them.
        self.groups = groups

    def job(self, name: str = "accelerators", **more: Any) -> dict[str, Any]:
        """A scrape job over all of them."""
        return {"job_name": name, "static_configs": self.groups, **more}


@contextlib.asynccontextmanager
async def exporters(**plan: Any) -> AsyncIterator[Exporters]:
    usual = SimPlan(nodes=3, devices=4, vendor="nvidia", listen="127.0.0.1:0", interval="500ms")
    chosen = msgspec.structs.replace(usual, **plan)
    clock = SystemClock()
    fleet = build_fleet(chosen, clock)
    server = SimulatorServer(fleet, clock, own_exposition())
    sockets = open_sockets(chosen.listen, fleet, many=True)
    await server.listen(sockets)
    server.start()
    try:
        yield Exporters(fleet, targets(fleet, sockets))
    finally:
        await server.stop()


@contextlib.asynccontextmanager
async def hub_of(**sections: Any) -> AsyncIterator[Running]:
    """A running hub with these sections of its settings, and its server."""
    usual = {
        "scrape": Scrape(timeout_s=0.5, max_backoff_s=0.1, interval_s=0.3),
        "web": Web(listen_address=("127.0.0.1:0",)),
    }
    settings = HubSettings(**{**usual, **sections})
    async with served_hub(settings, interval_s=0.2, clock=SystemClock()) as running:
        yield running


@pytest.fixture
def start_exporters() -> Callable[..., contextlib.AbstractAsyncContextManager[Exporters]]:
    return exporters


@pytest.fixture
def start_hub() -> Callable[..., contextlib.AbstractAsyncContextManager[Running]]:
    return hub_of
