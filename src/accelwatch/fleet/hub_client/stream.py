"""One connection to a hub's stream, from request to end."""

import asyncio
from collections.abc import Callable

import aiohttp

from accelwatch.fleet.follow.faults import Reason, TargetFault
from accelwatch.fleet.hub_client.messages import Received, message
from accelwatch.fleet.hub_client.session import HubSession
from accelwatch.fleet.picture.model import FIELDS
from accelwatch.fleet.wire import FleetHello
from accelwatch.schema.frames import PREFIX_BYTES, FrameSizeError, body_size
from accelwatch.web.stream import INCIDENTS, MSGPACK, STREAM

_MAX_FRAME = 256 << 20
NO_HUB = "it answers, but not as a hub does; agents are followed with --targets"
_NO_STREAM = (404, 405, 406)
_REFUSED = 400
_WITH_INCIDENTS = f"{INCIDENTS}, {MSGPACK};q=0.9"
"""An older hub knows no incidents in its stream and sends it without."""


async def follow(
    session: HubSession,
    condition: str,
    receive: Callable[[Received], None],
    wants: Callable[[bytes], bool],
    *,
    incidents: bool = False,
) -> None:
    """Hand every message over until the stream ends, which raises TargetFault.

    Incidents are told only if they are asked for, by a hub that knows them. A frame for which `wants` is
    false is left out undecoded. No message may keep us waiting for longer than the session's timeout, or
    three intervals of the hub.
    """
    loop = asyncio.get_running_loop()
    query = {"fields": ",".join(FIELDS)} | ({"filter": condition} if condition else {})
    silence_s = session.timeout_s
    accept = _WITH_INCIDENTS if incidents else MSGPACK
    headers = {"Accept": accept, "Accept-Encoding": "identity"}
    try:
        async with asyncio.timeout(session.timeout_s) as deadline:
            async with session.open("GET", STREAM, query, headers) as response:
                if response.content_type not in (MSGPACK, INCIDENTS):
                    raise TargetFault(Reason.GARBAGE, NO_HUB)
                while True:
                    body = await _frame(response.content)
                    deadline.reschedule(loop.time() + silence_s)
                    if not wants(body):
                        continue
                    received = message(body)
                    if isinstance(received, FleetHello):
                        silence_s = max(session.timeout_s, 3 * min(received.interval_s, 600.0))
                    if received is not None:
                        receive(received)
    except TimeoutError as error:
        raise TargetFault(Reason.TIMEOUT, "it is silent") from error
    except TargetFault as fault:
        if fault.code in _NO_STREAM or (fault.code == _REFUSED and not condition):
            raise TargetFault(Reason.GARBAGE, NO_HUB) from fault
        raise


async def _frame(content: aiohttp.StreamReader) -> bytes:
    try:
        size = body_size(await content.readexactly(PREFIX_BYTES), _MAX_FRAME)
        return await content.readexactly(size)
    except FrameSizeError as error:
        raise TargetFault(Reason.TOO_LARGE, str(error)) from error
    except asyncio.IncompleteReadError as error:
        raise TargetFault(Reason.CLOSED, "it ended the stream") from error
