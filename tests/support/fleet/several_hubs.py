"""Two real hubs followed as one fleet on the loop of a test."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec

from accelwatch.base.clock import Clock
from accelwatch.fleet.hub_client.several.source import SeveralHubs
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
from accelwatch.schema.snapshot import Snapshot
from support.fleet.hub_peers import Running, hub
from support.machines import composed as machines
from support.processes.idle_loop import IdleClock


def other_machine(count: int = 2) -> Snapshot:
    """A node whose devices are none of those of `machines.snapshot`."""
    views = []
    for index in range(count):
        view = machines.view(index)
        device = machines.device(index, id=f"nvidia:GPU-b{index}", uuid=f"GPU-b{index}")
        reading = msgspec.structs.replace(view.reading, device_id=device.id)
        views.append(msgspec.structs.replace(view, device=device, reading=reading))
    return machines.snapshot(*views)


@contextlib.asynccontextmanager
async def hub_of(
    folder: Path, nodes: dict[str, str], labels: dict[str, str] | None = None, **options: object
) -> AsyncIterator[Running]:
    """A hub that follows nodes: name to address; `labels` are of all of them."""
    folder.mkdir(exist_ok=True)
    file = folder / "targets.json"
    groups = [
        {"targets": [address], "labels": {**(labels or {}), "node": node}}
        for node, address in nodes.items()
    ]
    file.write_bytes(msgspec.json.encode(groups))
    async with hub(files=(str(file),), **options) as running:  # type: ignore[arg-type]
        yield running


@contextlib.asynccontextmanager
async def following(
    *bases: str, condition: str = "", clock: Clock | None = None
) -> AsyncIterator[SeveralHubs]:
    """A source that follows the hubs `pod-1`, `pod-2` ... at these places."""
    endpoints = [
        HubEndpoint(name=f"pod-{number}", base=base) for number, base in enumerate(bases, 1)
    ]
    source = SeveralHubs(endpoints, condition=condition, clock=clock or IdleClock())
    task = asyncio.ensure_future(source.run(lambda: None))
    try:
        yield source
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def until(source: SeveralHubs, wanted: Callable[[FleetView], object]) -> FleetView:
    """The first picture that is as wanted; the limit is only a guard."""
    async with asyncio.timeout(60):
        while (view := source.fleet()) is None or not wanted(view):
            await asyncio.sleep(0.01)
    return view
