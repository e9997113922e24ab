"""A hub's source followed on the loop of a test, as the dashboard follows it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from accelwatch.base.clock import Clock
from accelwatch.fleet.hub_client.source import HubSource
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.picture.source import SnapshotSource
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
from support.processes.idle_loop import IdleClock


@contextlib.asynccontextmanager
async def running(source: HubSource | SnapshotSource) -> AsyncIterator[None]:
    """A source at work."""
    task = asyncio.ensure_future(source.run(lambda: None))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@contextlib.asynccontextmanager
async def follow(
    endpoint: HubEndpoint | str, condition: str = "", clock: Clock | None = None
) -> AsyncIterator[HubSource]:
    """A source that follows a hub."""
    where = HubEndpoint(name="hub", base=endpoint) if isinstance(endpoint, str) else endpoint
    source = HubSource(where, condition=condition, clock=clock or IdleClock())
    async with running(source):
        yield source


async def until(wanted: Callable[[], object]) -> None:
    """Wait for something to be so; the limit is only a guard."""
    async with asyncio.timeout(60):
        while not wanted():
            await asyncio.sleep(0.01)


def shown(source: HubSource) -> FleetView:
    """The picture that is there."""
    view = source.fleet()
    assert view is not None
    return view


def trouble(source: HubSource) -> str:
    """What is wrong; empty when nothing is."""
    problem = source.problem()
    return "" if problem is None else problem.text


async def ticked(source: HubSource, nodes: int = 1, devices: int = 8) -> FleetView:
    """The first picture with so many nodes and devices."""

    def there() -> bool:
        view = source.fleet()
        return view is not None and (len(view.nodes), len(view.devices)) == (nodes, devices)

    await until(there)
    return shown(source)
