"""A supervisor on an event loop: its child's reports are taken in as they come."""

import asyncio
import contextlib
from collections.abc import Callable

from accelwatch.base.clock import Clock
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.node.sampler.supervisor import STOP_S, Limits, Supervisor
from accelwatch.node.store.reports import Report

_GLANCE_S = 0.01


async def supervise(
    settings: CollectSettings,
    sink: Callable[[Report], None],
    *,
    clock: Clock | None = None,
    limits: Limits | None = None,
) -> None:
    """Run a supervisor on the present event loop until cancelled; the child is then ended."""
    loop = asyncio.get_running_loop()
    wanted = asyncio.Event()

    def come() -> None:
        supervisor.check()
        if supervisor.descriptor is None:
            wanted.set()

    supervisor = Supervisor(
        settings,
        sink,
        clock=clock,
        limits=limits,
        watch=lambda descriptor: loop.add_reader(descriptor, come),
        unwatch=loop.remove_reader,
    )
    try:
        while True:
            await look_after(supervisor, wanted)
    finally:
        await end(supervisor)


async def look_after(supervisor: Supervisor, wanted: asyncio.Event) -> None:
    """Check, then wait until that is due again, or `wanted`; for owners that check with each report."""
    supervisor.check()
    wanted.clear()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(supervisor.patience_s):
            await wanted.wait()


async def end(supervisor: Supervisor) -> None:
    """Ask the child to end and give it its time, while the event loop goes on."""
    supervisor.ask_to_stop()
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                while not supervisor.stopped:
                    await asyncio.sleep(_GLANCE_S)
                    supervisor.receive()
    finally:
        supervisor.stop()
