"""The controllers of a server: a round of each after every change, and now and then for deadlines."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from enum import StrEnum
from typing import Protocol

from accelwatch_lab.cluster.kubernetes.api_server.cluster import Cluster
from accelwatch_lab.cluster.kubernetes.api_server.controllers.budgets import BudgetController
from accelwatch_lab.cluster.kubernetes.api_server.controllers.collection import (
    GarbageCollector,
    PodCollector,
)
from accelwatch_lab.cluster.kubernetes.api_server.controllers.device_taints import (
    DeviceTaintEviction,
)
from accelwatch_lab.cluster.kubernetes.api_server.controllers.jobs import JobController
from accelwatch_lab.cluster.kubernetes.api_server.controllers.lifecycle import NodeLifecycle
from accelwatch_lab.cluster.kubernetes.api_server.controllers.taint_eviction import TaintEviction

# How often deadlines are checked; they are of seconds and minutes.
_ROUND_S = 0.1
# Rest between rounds, in durations of the last: requests keep most of the server's time when there
# are thousands of nodes, and with a few a round follows its change at once.
_PAUSE_RATIO = 3.0


class ControllerName(StrEnum):
    """Which there are, named as kube-controller-manager names them."""

    DISRUPTION = "disruption-controller"
    NODE_LIFECYCLE = "node-lifecycle-controller"
    TAINT_EVICTION = "taint-eviction-controller"
    DEVICE_TAINT_EVICTION = "device-taint-eviction-controller"
    JOB = "job-controller"
    GARBAGE_COLLECTOR = "garbage-collector-controller"
    POD_COLLECTOR = "pod-garbage-collector-controller"


class Controller(Protocol):
    """One of them."""

    def round(self) -> None:
        """Compare what is with what should be, and write what follows."""


_MAKERS: dict[ControllerName, Callable[[Cluster], Controller]] = {
    ControllerName.DISRUPTION: BudgetController,
    ControllerName.NODE_LIFECYCLE: NodeLifecycle,
    ControllerName.TAINT_EVICTION: TaintEviction,
    ControllerName.DEVICE_TAINT_EVICTION: DeviceTaintEviction,
    ControllerName.JOB: JobController,
    ControllerName.GARBAGE_COLLECTOR: GarbageCollector,
    ControllerName.POD_COLLECTOR: PodCollector,
}


def controllers_of(cluster: Cluster, names: Sequence[ControllerName]) -> list[Controller]:
    """Controllers for one server."""
    return [_MAKERS[name](cluster) for name in names]


@contextlib.asynccontextmanager
async def running(cluster: Cluster, controllers: Sequence[Controller]) -> AsyncIterator[None]:
    """Let them work on the running loop."""
    # One of before belongs to another loop, where the server was started again.
    cluster.store.changed = asyncio.Event()
    task = asyncio.create_task(_run(cluster, controllers))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _run(cluster: Cluster, controllers: Sequence[Controller]) -> None:
    loop = asyncio.get_running_loop()
    while controllers:
        started = loop.time()
        # A round may itself change something: then there is another.
        cluster.store.changed.clear()
        for controller in controllers:
            controller.round()
            # Requests come in between.
            await asyncio.sleep(0)
        await asyncio.sleep(_PAUSE_RATIO * (loop.time() - started))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ROUND_S):
                await cluster.store.changed.wait()
