"""A dashboard on a hub over hubs, without drawing: how late what it gets is, and what processes use."""

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from accelwatch.fleet.hub_client.connection.session import HubSession
from accelwatch.fleet.hub_client.source import HubSource
from accelwatch.fleet.picture.model import POWER, FleetView
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
from accelwatch.fleet.wire import DeviceSlot
from hub_load import ROUND_S
from hub_processes import Use, use

USE_EVERY_S = 10.0


class Marks:
    """How late ticks are at a client; nodes have the time of theirs, modulo ROUND_S, as their power."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self._nodes = frozenset(nodes)
        self._slots: Sequence[DeviceSlot | None] = ()
        # Slots of a device of each node, to the node.
        self._marked: dict[int, str] = {}
        self._newest: dict[str, float] = {}

    def lateness_s(self, view: FleetView, now: float) -> list[float]:
        """Of each tick that this view is the first to have; of all nodes, once all are in it."""
        if view.slots is not self._slots:
            self._slots = view.slots
            self._marked = {
                slot.slot: slot.node
                for slot in view.slots
                if slot is not None and slot.index == 0 and slot.node in self._nodes
            }
        found = []
        for device in view.devices:
            if (node := self._marked.get(device.slot)) is None:
                continue
            made_at = device.values[POWER]
            if made_at is not None and made_at != self._newest.get(node):
                found.append((now - made_at) % ROUND_S)
                self._newest[node] = made_at
        return found


class Measured(NamedTuple):
    # Of each process that was asked for, by name.
    uses: dict[str, list[Use]]
    loads: list[float]
    answers_s: list[float]
    lateness_s: list[float]
    # The greatest age of a node in each tick, and how many nodes were not up.
    oldest_s: list[float]
    not_up: list[int]


async def watch(
    base: str, seconds: float, pids: Mapping[str, int], marks: Marks, devices: int
) -> Measured:
    """Follow a hub for a time once it has all devices, and note what processes use."""
    source = HubSource(HubEndpoint(name="upper", base=base))
    complete = asyncio.Event()
    found = Measured({name: [] for name in pids}, [], [], [], [], [])

    def changed() -> None:
        view = source.fleet()
        if view is None or len(view.devices) < devices:
            return
        lateness = marks.lateness_s(view, time.time())
        if complete.is_set():
            found.lateness_s.extend(lateness)
            found.oldest_s.append(max(node.age_s or 0.0 for node in view.nodes))
            found.not_up.append(sum(node.state != "up" for node in view.nodes))
        complete.set()

    async def ask() -> None:
        """The numbers of the fleet, once a second."""
        session = HubSession(HubEndpoint(name="upper", base=base))
        while True:
            began = time.monotonic()
            await session.document("/v1/fleet")
            found.answers_s.append(time.monotonic() - began)
            await asyncio.sleep(1.0)

    def look() -> None:
        for name, pid in pids.items():
            found.uses[name].append(use(pid))
        found.loads.append(os.getloadavg()[0])

    task = asyncio.ensure_future(source.run(changed))
    await asyncio.wait_for(complete.wait(), 120 + devices / 100)
    request = asyncio.ensure_future(ask())
    look()
    for _ in range(max(round(seconds / USE_EVERY_S), 1)):
        await asyncio.sleep(USE_EVERY_S)
        look()
    task.cancel()
    request.cancel()
    await asyncio.gather(task, request, return_exceptions=True)
    return found
