"""Nodes that give every shipped panel a figure and make every shipped alert true."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading, complete, wholly_absent
from accelwatch.schema.snapshot import BackendState, DeviceView, EventCount, Owner, Snapshot
from support.fleet.hub_peers import Agent, agent
from support.machines import composed as machines

_TICK_S = 0.2
POD = Owner(
    kind="kubernetes",
    namespace="ml",
    pod="notebook-0",
    pod_uid="u1",
    container="main",
    resource="gpu",
)
JOB = Owner(kind="job", scheduler="slurm", job_id="4711", user="ada", account="ml", queue="batch")
# What is wrong with each device of the sick node.
LOST, STALE, EVENT, ECC, REPAIR, RESET, NARROW, HOT = range(8)
# The device of the sick node for which an alert must fire.
AFFECTED = {
    "AcceleratorLost": "nvidia0",
    "AcceleratorReadStale": "nvidia1",
    "AcceleratorErrorEventCritical": "nvidia2",
    "AcceleratorUncorrectedEcc": "nvidia3",
    "AcceleratorMemoryRepairFailed": "nvidia4",
    "AcceleratorResetRequired": "nvidia5",
    "AcceleratorFabricFault": "nvidia6",
    "AcceleratorPcieDegraded": "nvidia6",
    "AcceleratorLinkDown": "nvidia6",
    "AcceleratorHot": "nvidia7",
    "AcceleratorThermalThrottling": "nvidia7",
    "AcceleratorAllocatedButIdle": "nvidia5",
}


def _values(index: int, elapsed_s: float, busy: float) -> dict[Series, Number]:
    found = machines.values(index)
    found["busy_seconds_total",] = 1000.0 + busy * elapsed_s
    found["energy_joules_total", "hardware"] = 1e6 + 600.0 * elapsed_s
    found["window_temperature_max_celsius", "gpu"] = 63.0
    found["temperature_headroom_celsius",] = 26.0
    found["memory_retired_pages", "corrected"] = 0
    return found


def _healthy(index: int, now: float, values: dict[Series, Number]) -> DeviceView:
    reading = Reading(device_id=machines.device(index).id, values=values, processes=())
    return machines.view(
        index,
        reading=complete(reading, frozenset()),
        sample_time=now - 0.2,
        state_since=now - 60.0,
        owners=(POD, JOB),
    )


def _sick(index: int, now: float, elapsed_s: float) -> DeviceView:
    values = _values(index, elapsed_s, busy=0.0 if index == RESET else 0.9)
    if index == ECC:
        values["ecc_errors_total", "uncorrected"] = int(elapsed_s * 4)
    elif index == REPAIR:
        values["memory_repair_failed",] = 1
    elif index == RESET:
        values["reset_required",] = 1
    elif index == NARROW:
        values["pcie_link_width_lanes", "current"] = 8
        values["fabric_state_info", "failed"] = 1
        values["interconnect_links", "nvlink", "down"] = 2
    elif index == HOT:
        values["window_temperature_max_celsius", "gpu"] = 88.0
        values["throttle_seconds_total", "thermal_hardware"] = 0.5 * elapsed_s
    view = _healthy(index, now, values)
    if index == LOST:
        return msgspec.structs.replace(
            view,
            state=DeviceState.LOST,
            reading=wholly_absent(view.device.id, Absence.LOST),
            sample_time=now - 30.0,
            health=Health.FAILED,
        )
    if index == STALE:
        return msgspec.structs.replace(view, sample_time=now - 300.0)
    if index == EVENT:
        fatal = EventCount(code="xid_48", category="memory_fatal", total=1, last_time=now - 20.0)
        return msgspec.structs.replace(view, event_counts=(fatal,))
    return view


def _on(host: str, view: DeviceView) -> DeviceView:
    """The device as one of this node: uuids differ between nodes."""
    uuid = f"{view.device.uuid}-{host}"
    device = msgspec.structs.replace(view.device, id=f"nvidia:{uuid}", uuid=uuid)
    reading = msgspec.structs.replace(view.reading, device_id=device.id)
    return msgspec.structs.replace(view, device=device, reading=reading)


class Node:
    """An agent over a node that stays healthy, or that falls sick when the test says so."""

    def __init__(self, host: str, served: Agent, devices: int) -> None:
        self.address = served.address
        self.sick = False
        # Of which node the uuids of its devices are.
        self.uuids_of = host
        self._host = host
        self._devices = devices
        self._served = served
        self._started = time.time()

    def publish(self) -> None:
        """Put the snapshot of now."""
        self._served.feed.put(self.snapshot())

    def snapshot(self) -> Snapshot:
        """The node now; its counters go on with the time."""
        now = time.time()
        elapsed_s = now - self._started
        views = [
            _sick(index, now, elapsed_s)
            if self.sick
            else _healthy(index, now, _values(index, elapsed_s, busy=0.9))
            for index in range(self._devices)
        ]
        works = BackendState.FAILED if self.sick else BackendState.OK
        owned = [_on(self.uuids_of, view) for view in views]
        whole = machines.snapshot(*owned, time=now, host=self._host, events=(), errors=())
        (backend,) = whole.backends
        return msgspec.structs.replace(
            whole,
            devices=tuple(owned),
            backends=(msgspec.structs.replace(backend, state=works),),
            own={
                ("collector_up", "nvidia"): int(not self.sick),
                ("exporter_series_dropped_total", "device_cap"): int(self.sick) * int(elapsed_s),
            },
        )


@contextlib.asynccontextmanager
async def nodes(*hosts: str, devices: int = 8) -> AsyncIterator[tuple[Node, ...]]:
    """Agents of nodes that report their state again and again."""
    async with contextlib.AsyncExitStack() as stack:
        found = []
        for host in hosts:
            served = await stack.enter_async_context(agent())
            found.append(Node(host, served, devices))
        telling = asyncio.create_task(_keep_telling(found))
        try:
            yield tuple(found)
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)


async def _keep_telling(found: list[Node]) -> None:
    while True:
        for node in found:
            node.publish()
        await asyncio.sleep(_TICK_S)
