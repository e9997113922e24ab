"""`accelwatch bandwidth`: what two nodes move between each other, for a test of a pair."""

from typing import Annotated

import click
import msgspec

from accelwatch.base.durations import deadline
from accelwatch.base.errors import UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.options import command
from accelwatch.cli.output import write_stdout
from accelwatch.cli.parameters import option

_MOST_PORT = 65_535


class BandwidthOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which two nodes, and how it is measured."""

    server: Annotated[
        str,
        option(metavar="NODE", help="The node that serves; run the same command on both."),
    ] = ""
    port: Annotated[int, option(metavar="PORT", help="TCP port of the node that serves.")] = 29797
    duration: Annotated[
        str, option(metavar="DURATION", help="How long to send in each direction.")
    ] = "10s"
    streams: Annotated[int, option(metavar="N", help="Connections at once.")] = 8
    wait: Annotated[
        str, option(metavar="DURATION", help="How long to wait for the other node.")
    ] = "60s"
    key: Annotated[
        str,
        option(
            metavar="KEY",
            help="The same on both nodes, and another for each test; default: the Slurm job.",
        ),
    ] = ""


@command
def bandwidth_command(options: BandwidthOptions) -> None:
    """Measure TCP bandwidth between two nodes in both directions, and check every byte.

    Run it on both nodes with the same --server. The node that connects prints the smaller rate as JSON.
    """
    raise click.exceptions.Exit(run(options))


def run(options: BandwidthOptions) -> int:
    """Serve or measure. Raises AccelwatchError."""
    import os

    from accelwatch.system.pair_bandwidth import (
        MOST_SECONDS,
        MOST_STREAMS,
        measure_bandwidth,
        serve,
    )

    if not options.server:
        raise UsageError("--server is missing: the name of the node that serves, the same on both")
    if not 1 <= options.port <= _MOST_PORT:
        raise UsageError(f"--port is 1 to {_MOST_PORT}, not {options.port}")
    if not 1 <= options.streams <= MOST_STREAMS:
        raise UsageError(f"--streams is 1 to {MOST_STREAMS}, not {options.streams}")
    seconds, wait_s = deadline(options.duration), deadline(options.wait)
    if seconds > MOST_SECONDS:
        raise UsageError(f"--duration is {MOST_SECONDS:g}s at most, not {options.duration}")
    key = options.key or os.environ.get("SLURM_JOB_ID", "")
    if _short(options.server) == _own_name():
        serve(options.port, key, streams=options.streams, wait_s=wait_s + seconds)
        return OK
    rate = measure_bandwidth(
        options.server,
        options.port,
        key,
        streams=options.streams,
        seconds=seconds,
        wait_s=wait_s,
    )
    document = {
        "value": min(rate),
        "unit": "bytes_per_second",
        "sent": rate.sent,
        "received": rate.received,
    }
    write_stdout(msgspec.json.encode(document) + b"\n")
    return OK


def _own_name() -> str:
    """As the scheduler calls this node, else its host name."""
    import os
    import socket

    return _short(os.environ.get("SLURMD_NODENAME") or socket.gethostname())


def _short(name: str) -> str:
    return name.partition(".")[0].casefold()
