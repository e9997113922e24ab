"""`accelwatch stream`: the agent's stream on standard output, without a server, for `fleet --ssh`."""

from typing import Annotated

import click
import msgspec

from accelwatch.base.durations import reading_interval
from accelwatch.base.errors import UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.collect_flags import MachineOptions
from accelwatch.cli.options import command
from accelwatch.cli.output import opened_stdout
from accelwatch.cli.parameters import option


class StreamOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the stream is written, and of what."""

    format: Annotated[
        str, option("--format", metavar="FORMAT", help="json (one line each) or packed.")
    ] = "json"
    interval: Annotated[
        str, option(metavar="DURATION", help="How often to read; at least 250ms.")
    ] = "1s"
    machine: MachineOptions = MachineOptions()


@command
def stream_command(options: StreamOptions) -> None:
    """Write the agent's stream to standard output until standard input ends."""
    raise click.exceptions.Exit(run(options))


def run(options: StreamOptions) -> int:
    """Stream until standard input or output is closed. Raises AccelwatchError."""
    import asyncio

    from accelwatch.web.http.stream import NDJSON, PACKED

    media = {"json": NDJSON, "packed": PACKED}.get(options.format)
    if media is None:
        raise UsageError(f"--format is json or packed, not {options.format!r}")
    interval_s = reading_interval(options.interval)
    asyncio.run(_stream(options.machine, media, interval_s, opened_stdout().fileno()))
    return OK


async def _stream(machine: MachineOptions, media: str, interval_s: float, stdout: int) -> None:
    import asyncio
    import contextlib
    import sys

    from accelwatch.agent.collection import Collection
    from accelwatch.agent.piped import PipeOutlet, pipe_stream, when_closed
    from accelwatch.base.clock import SystemClock
    from accelwatch.node.sampler.protocol.settings import CollectSettings
    from accelwatch.node.workloads import Workloads, WorkloadSettings

    clock, loop = SystemClock(), asyncio.get_running_loop()
    settings = machine.over(CollectSettings(interval_s=interval_s, timeout_s=2.0))
    workloads = Workloads(WorkloadSettings(), clock=clock)
    collection = Collection(settings, clock, workloads.annotate)
    outlet = PipeOutlet(stdout)
    streaming = asyncio.ensure_future(pipe_stream(collection, interval_s, media, clock, outlet))

    def closed() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended before
            loop.call_soon_threadsafe(streaming.cancel)

    if sys.stdin is not None:  # one that was closed at the start ends nothing
        when_closed(sys.stdin.fileno(), closed)
    collection.failed.add_done_callback(lambda _: streaming.cancel())
    workloads.start()
    try:
        with contextlib.suppress(asyncio.CancelledError):
            await streaming
    finally:
        await asyncio.to_thread(workloads.stop)
    if not collection.failed.cancelled() and collection.failed.done():
        collection.failed.result()
