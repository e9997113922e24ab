"""A hub that follows hubs, on the loop of a test."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import aiohttp

from accelwatch.base.clock import Clock
from accelwatch.config.model import Web
from accelwatch.fleet.global_hub.server import GlobalHubServer
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
from accelwatch.fleet.wire import FleetDocument
from accelwatch.web.protection.web_config import Protection
from accelwatch.web.sockets.listeners import open_tcp
from support.fleet.hub_peers import Running
from support.processes.idle_loop import IdleClock
from support.servers.ports import free_port


class LaterClock(IdleClock):
    """The clock of now, put forward by a test."""

    def __init__(self) -> None:
        super().__init__()
        self.later_s = 0.0

    def wall(self) -> float:
        return super().wall() + self.later_s

    def monotonic(self) -> float:
        return super().monotonic() + self.later_s


def endpoints_of(*bases: str) -> list[HubEndpoint]:
    """Hubs `pod-1`, `pod-2` ... at these places."""
    return [HubEndpoint(name=f"pod-{number}", base=base) for number, base in enumerate(bases, 1)]


@contextlib.asynccontextmanager
async def following_hubs(
    endpoints: Sequence[HubEndpoint],
    *,
    clock: Clock | None = None,
    protection: Protection | None = None,
    port: int = 0,
) -> AsyncIterator[Running]:
    """A hub that follows these hubs, and its server."""
    settings = HubSettings(web=Web(listen_address=("127.0.0.1:0",)), stream_interval_s=0.05)
    sockets = open_tcp(f"127.0.0.1:{port or free_port()}")
    server = GlobalHubServer(endpoints, clock or IdleClock(), protection or Protection(), settings)
    server.followed.start()
    server.http.start(sockets)
    session = aiohttp.ClientSession()
    base = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
    hub: Any = server.followed
    try:
        yield Running(hub, server, base, session)  # type: ignore[arg-type]  # it is asked alike
    finally:
        await session.close()
        await server.http.stop(0.1)
        await server.followed.stop()


async def until_fleet(running: Running, wanted: Callable[[FleetDocument], object]) -> FleetDocument:
    """The first `/v1/fleet` that is as wanted; the limit is only a guard."""
    followed: Any = running.hub
    async with asyncio.timeout(60):
        while not wanted(document := followed.document()):
            await asyncio.sleep(0.02)
    found: FleetDocument = document
    return found
