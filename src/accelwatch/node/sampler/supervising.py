"""A supervisor on an event loop, which receives its child's reports as they come."""

import asyncio
import contextlib
from collections.abc import Callable

from accelwatch.base.clock import Clock
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.node.sampler.supervisor import STOP_S, Limits, Supervisor
from accelwatch.node.store.reports import Report

_POLL_S = 0.01


async def supervise(
    settings: CollectSettings,
    sink: Callable[[Report], None],
    *,
    clock: Clock | None = None,
    limits: Limits | None = None,
) -> None:
    """Run a supervisor on the present event loop until cancelled; the child is then ended."""
    loop = asyncio.get_running_loop()
    wake = asyncio.Event()

    def on_readable() -> None:
        supervisor.check()
        if supervisor.descriptor is None:
            wake.set()

    supervisor = Supervisor(
        settings,
        sink,
        clock=clock,
        limits=limits,
        watch=lambda descriptor: loop.add_reader(descriptor, on_readable),
        unwatch=loop.remove_reader,
    )
    try:
        while True:
            await check_and_wait(supervisor, wake)
    finally:
        await shut_down(supervisor)


async def check_and_wait(supervisor: Supervisor, wake: asyncio.Event) -> None:
    """Check, then wait until that is due again, or `wake`; for owners that check with each report."""
    supervisor.check()
    wake.clear()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(supervisor.patience_s):
            await wake.wait()


async def shut_down(supervisor: Supervisor) -> None:
    """Request the child to stop and wait for it, while the event loop goes on."""
    supervisor.request_stop()
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                while not supervisor.stopped:
                    await asyncio.sleep(_POLL_S)
                    supervisor.receive()
    finally:
        supervisor.stop()
