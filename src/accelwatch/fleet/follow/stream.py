"""One stream of an agent, from request to end."""

import asyncio
from collections.abc import Callable

import aiohttp

from accelwatch.fleet.follow.faults import NotOurs, Reason, TargetFault
from accelwatch.fleet.follow.frames import FrameReader, RawTick, Received
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.target import Target
from accelwatch.web.stream import MSGPACK, PACKED, STREAM

_HEADERS = {"Accept": f"{PACKED}, {MSGPACK};q=0.9", "Accept-Encoding": "identity"}
"""Packed values, or from an agent that does not know them the same as arrays of MessagePack."""
_NO_STREAM = (404, 405, 406)


async def follow_stream(
    client: Client,
    target: Target,
    take: Callable[[Received, int], None],
    silence_s: Callable[[], float],
) -> None:
    """Hand every message over until the stream ends, which raises TargetFault; NotOurs without one.

    No tick may keep us waiting longer than `silence_s()`, however many bytes drip in meanwhile.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(client.scrape.timeout_s) as deadline:
            try:
                async with client.get(target, target.url(STREAM), _HEADERS) as response:
                    _check_type(response)
                    reader = FrameReader(client.scrape.body_size_limit_bytes)
                    async for chunk in response.content.iter_any():
                        for message, size in reader.feed(chunk):
                            take(message, size)
                            if isinstance(message, RawTick):
                                deadline.reschedule(loop.time() + silence_s())
            except TargetFault as fault:
                raise _named(fault) from fault
    except TimeoutError as error:
        raise TargetFault(Reason.TIMEOUT, "no tick in time") from error
    raise TargetFault(Reason.CLOSED, "the target ended the stream")


def _check_type(response: aiohttp.ClientResponse) -> None:
    if response.content_type not in (MSGPACK, PACKED):
        raise NotOurs(Reason.STATUS, "answers, but with no stream")
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise TargetFault(Reason.GARBAGE, "the stream is compressed, which was not asked for")


def _named(fault: TargetFault) -> TargetFault:
    """A fault that says "no such page" means another exporter."""
    if fault.reason is Reason.STATUS and fault.code in _NO_STREAM:
        return NotOurs(fault.reason, str(fault))
    return fault
