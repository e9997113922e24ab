"""One poll of an exposition: asked for, read within bounds, turned into devices."""

import asyncio
from collections.abc import Callable

import msgspec

from accelwatch.fleet.client.body import read_body
from accelwatch.fleet.client.faults import Reason, TargetFault
from accelwatch.fleet.client.session import Client
from accelwatch.fleet.targets.target import Target
from accelwatch.schema.snapshot import DeviceView

_ACCEPT = "text/plain;version=0.0.4;q=1,*/*;q=0.1"
_SMALL_BYTES = 1 << 20


class Exposed(msgspec.Struct, frozen=True, kw_only=True):
    """What an exposition told."""

    dialect: str
    version: str = ""
    devices: tuple[DeviceView, ...]
    time: float | None = None
    """The node's own time, Unix seconds, if the exposition has it."""
    rejected: dict[str, int] = {}
    """Series not taken, by reason."""


ReadExposition = Callable[[bytes], Exposed]
"""Reads the expositions of one target, one after the other. Raises TargetFault."""


async def poll(client: Client, target: Target, read: ReadExposition) -> tuple[Exposed, float]:
    """The devices of a target and how long it took. Raises TargetFault."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    headers = {
        "Accept": _ACCEPT,
        "Accept-Encoding": "gzip",
        "X-Prometheus-Scrape-Timeout-Seconds": f"{client.scrape.timeout_s:g}",
    }
    limit = client.scrape.body_size_limit_bytes
    try:
        async with asyncio.timeout(client.scrape.timeout_s):
            async with client.get(target, target.metrics_url, headers) as answer:
                body = await read_body(answer, limit)
    except TimeoutError as error:
        raise TargetFault(Reason.TIMEOUT, "no whole answer in time") from error
    # A large body takes long to read: the other targets must not wait for it.
    small = len(body) <= _SMALL_BYTES
    exposed = read(body) if small else await asyncio.to_thread(read, body)
    return exposed, loop.time() - began
